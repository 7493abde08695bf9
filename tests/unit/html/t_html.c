/* SPDX-License-Identifier: MIT */
/*
 * HTML to a tree: what is implied, misnested and out of place, as the standard has it.
 * Trees are written as name(children), text in quotes.
 */
#include "html/html.h"

#include "t.h"

static struct arena arena;
static struct buf seen = BUF_INIT(1 << 20);

static void write_node(const struct html_node *n)
{
    if (n->tag == HTML_TEXT) {
        buf_addf(&seen, "'%.*s'", STR_ARG(n->name));
        return;
    }
    buf_adds(&seen, n->name);
    if (!n->first)
        return;
    buf_addc(&seen, '(');
    for (const struct html_node *c = n->first; c; c = c->next) {
        write_node(c);
        if (c->next)
            buf_addc(&seen, ' ');
    }
    buf_addc(&seen, ')');
}

static struct html_node *parse(struct str text)
{
    struct err e = ERR_INIT;
    arena_release(&arena);
    arena_init(&arena, 64 << 20);
    struct html_node *html = html_parse(&arena, text, &e);
    if (!html)
        T_FAIL("%s", e.text);
    return html;
}

/* The whole tree. */
static void whole(const char *text, const char *want)
{
    buf_reset(&seen);
    write_node(parse(str_of(text)));
    CHECK_STR(buf_z(&seen), want);
}

/* What is in the body. */
static void body(const char *text, const char *want)
{
    char page[4096];
    snprintf(page, sizeof(page), "<!doctype html><body>%s", text);
    struct html_node *html = parse(str_of(page));
    buf_reset(&seen);
    for (const struct html_node *c = html->last->first; c; c = c->next)
        write_node(c);
    CHECK_STR(buf_z(&seen), want);
}

TEST(head_and_body_are_implied)
{
    whole("", "html(head body)");
    whole("x", "html(head body('x'))");
    whole("<title>T</title><p>x", "html(head(title('T')) body(p('x')))");
    whole("<HTML><Body><P>x</HTML>", "html(head body(p('x')))");
    whole("<head></head><title>T</title>x", "html(head(title('T')) body('x'))");
    whole("<noscript><p>x</noscript>", "html(head(noscript) body(p('x')))");
}

TEST(templates_have_a_mode_of_their_own)
{
    body("<template><tr><td>a</template>b", "template(tr(td('a')))'b'");
    body("<template><col><col></template>", "template(col col)");
    body("<table><template><td>a</template><tr><td>b",
         "table(template(td('a')) tbody(tr(td('b'))))");
    whole("<template><p>x", "html(head(template(p('x'))) body)");
}

TEST(framesets_replace_an_empty_body)
{
    whole("<p></p><frameset><frame></frameset> <noframes>a</noframes>",
          "html(head frameset(frame) ' ' noframes('a'))");
    whole("a<frameset>", "html(head body('a'))");
    whole("<frameset>a b", "html(head frameset(' '))");
}

TEST(zero_bytes)
{
    struct str text = STR("<p title='a\0b'>c\0d<svg>e\0f</svg><title>g\0h");
    buf_reset(&seen);
    const struct html_node *html = parse(text), *p = html->last->first;
    write_node(html);
    CHECK_STR(buf_z(&seen), "html(head body(p('cd' svg('e\xEF\xBF\xBD"
                            "f') title('g\xEF\xBF\xBDh'))))");
    CHECK(str_eq(html_get(p, "title"), STR("a\xEF\xBF\xBD"
                                           "b")));
}

TEST(selects_have_what_lies_in_them)
{
    body("<select><div>a<option>b<option>c</select>d",
         "select(div('a' option('b') option('c')))'d'");
    body("<select><option>a<hr><input>b", "select(option('a') hr)input'b'");
    body("<select><option>a<select>b", "select(option('a'))'b'");
}

TEST(quirks_let_a_table_stay_in_a_paragraph)
{
    whole("<!doctype html><p><table>", "html(head body(p table))");
    whole("<p><table>", "html(head body(p(table)))");
    whole("<!doctype html public \"-//W3C//DTD HTML 3.2//EN\"><p><table>",
          "html(head body(p(table)))");
    whole("<!doctype html public \"-//W3C//DTD HTML 4.01//EN\"><p><table>",
          "html(head body(p table))");
}

TEST(foreign_names_have_their_capitals)
{
    struct html_node *html = parse(STR("<svg viewbox=1><LINEARGRADIENT/><math/></svg>"
                                       "<math definitionurl=2><mi><p>"));
    const struct html_node *svg = html->last->first, *math = svg->next;
    CHECK(html_get(svg, "viewBox").p && str_eq(svg->first->name, STR("linearGradient")));
    CHECK(html_get(math, "definitionURL").p && math->math && !svg->math);
    CHECK(math->first->first->tag == HTML_p && !math->first->first->foreign);
}

/* What a reader never sees: comments and doctypes are asked for. */
TEST(notes_are_asked_for)
{
    struct err e = ERR_INIT;
    struct str text = STR("<!--a--><!doctype html><p><!--b--></p></html><!--c-->");
    buf_reset(&seen);
    write_node(parse(text));
    CHECK_STR(buf_z(&seen), "html(head body(p))");
    struct html_opts o = {.notes = true};
    struct html_node *d = html_parse_as(&arena, text, &o, &e), *n = d->first;
    CHECK(n->tag == HTML_NOTE && !n->doctype && str_eq(n->name, STR("a")));
    n = n->next;
    CHECK(n->tag == HTML_NOTE && n->doctype && str_eq(n->name, STR("html")));
    CHECK(n->next->tag == HTML_html && str_eq(n->next->next->name, STR("c")));
}

TEST(fragments_are_what_their_element_makes_of_them)
{
    struct err e = ERR_INIT;
    arena_release(&arena);
    arena_init(&arena, 1 << 20);
    struct html_opts o = {.context = STR("tr")};
    buf_reset(&seen);
    write_node(html_parse_as(&arena, STR("<td>a<td>b"), &o, &e));
    CHECK_STR(buf_z(&seen), "html(td('a') td('b'))");
    o = (struct html_opts){.context = STR("noscript"), .scripting = true};
    buf_reset(&seen);
    write_node(html_parse_as(&arena, STR("<p>a"), &o, &e));
    CHECK_STR(buf_z(&seen), "html('<p>a')");
}

TEST(text_elements_written_as_in_xml)
{
    whole("<title/><p>x", "html(head(title) body(p('x')))");
    body("<iframe src='a'/>b<iframe/>c", "iframe'b'iframe'c'");
    body("<iframe/>b</iframe>c<textarea/>d", "iframe('b')'c'textarea'd'");
    body("<iframe>b", "iframe('b')");
}

TEST(end_tags_are_implied)
{
    body("<p>a<p>b<div>c</div>d", "p('a')p('b')div('c')'d'");
    body("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>",
         "ul(li('a') li('b' ul(li('c'))) li('d'))");
    body("<dl><dt>a<dd>b<dt>c</dl>", "dl(dt('a') dd('b') dt('c'))");
    body("<select><option>a<option>b</select>x", "select(option('a') option('b'))'x'");
    body("<p><button><p>a</button>b", "p(button(p('a')) 'b')");
    body("</p>", "p");
    body("a</br>b", "'a'br'b'");
    body("<h1>a<h2>b</h3>c", "h1('a')h2('b')'c'");
    body("<a>x<a>y", "a('x')a('y')");
}

TEST(misnested_formatting_is_mended)
{
    body("<b>1<i>2</b>3</i>4", "b('1' i('2'))i('3')'4'");
    body("<p><b>1<p>2", "p(b('1'))p(b('2'))");
    body("<b>1<p>2</b>3</p>", "b('1')p(b('2') '3')");
    body("<a>1<div>2<div>3</a>4</div>5</div>", "a('1')div(a('2') div(a('3') '4') '5')");
    body("<b><b><b><b><p>x", "b(b(b(b(p('x')))))");
}

TEST(tables_are_made_whole)
{
    body("<table><tr><td>1<td>2<tr><th>3</table>",
         "table(tbody(tr(td('1') td('2')) tr(th('3'))))");
    body("<table><td>1", "table(tbody(tr(td('1'))))");
    body("<table>x<tr>y<td>z</table>", "'x''y'table(tbody(tr(td('z'))))");
    body("<table><tr><td><table><tr><td>1</table>2</table>",
         "table(tbody(tr(td(table(tbody(tr(td('1')))) '2'))))");
    body("<table><caption>c<tr><td>1", "table(caption('c') tbody(tr(td('1'))))");
    body("<table><col><tbody><tr><td>1</tbody><tfoot><tr><td>2",
         "table(colgroup(col) tbody(tr(td('1'))) tfoot(tr(td('2'))))");
    body("<table><div>a</div><tr><td>b</table>c", "div('a')table(tbody(tr(td('b'))))'c'");
    body("<p>a<table><tr><td>b", "p('a')table(tbody(tr(td('b'))))");
    body("<td>a</td>b", "'a''b'");
}

TEST(content_that_is_text)
{
    body("<script>if (a<b) '</p>'</script>x", "script('if (a<b) '</p>'')'x'");
    body("<script><!--<script></script>--></script>x",
         "script('<!--<script></script>-->')'x'");
    body("<textarea>\n<b>&amp;</textarea>", "textarea('<b>&')");
    body("<div><style>a{}</STYLE >x", "div(style('a{}') 'x')");
    body("<xmp><b></xmp>", "xmp('<b>')");
    body("<plaintext><b></plaintext>", "plaintext('<b></plaintext>')");
    whole("<title>a<b>&lt;</title>", "html(head(title('a<b><')) body)");
    body("<pre>\n\na</pre>", "pre('\na')");
}

TEST(comments_and_declarations_are_left_out)
{
    body("a<!-- <b> -->b<!-->c<!--->d<!-- x --!>e", "'a''b''c''d''e'");
    body("a<!x>b<?php y ?>c</ z>d", "'a''b''c''d'");
    body("a<!-- never ended", "'a'");
    body("a < b <3 c<", "'a < b <3 c<'");
}

TEST(svg_and_mathml)
{
    body("<svg><title>t</title><path/><![CDATA[<x>]]></svg>y",
         "svg(title('t') path '<x>')'y'");
    body("<svg><foreignObject><p>a</p></foreignObject></svg>b",
         "svg(foreignObject(p('a')))'b'");
    body("<svg><g><p>a", "svg(g)p('a')");
    body("<math><mi>x</mi></math>", "math(mi('x'))");
}

static const char *entity(const char *text, bool attr)
{
    static struct buf out = BUF_INIT(64);
    buf_reset(&out);
    size_t n = html_entity(str_of(text), attr, &out);
    buf_addf(&out, "|%s", text + n);
    return buf_z(&out);
}

TEST(character_references)
{
    CHECK_STR(entity("&amp;x", false), "&|x");
    CHECK_STR(entity("&eacute", false), "é|");
    CHECK_STR(entity("&notit;", false), "¬|it;");
    CHECK_STR(entity("&notin;", false), "∉|");
    CHECK_STR(entity("&hellip", false), "|&hellip");
    CHECK_STR(entity("&CounterClockwiseContourIntegral;", false), "∳|");
    CHECK_STR(entity("&zwnj;", false), "\xE2\x80\x8C|");
    CHECK_STR(entity("&copy=1", true), "|&copy=1");
    CHECK_STR(entity("&copy;=1", true), "©|=1");
    CHECK_STR(entity("&copy 1", true), "©| 1");
    CHECK_STR(entity("&#65;&#x42", false), "A|&#x42");
    CHECK_STR(entity("&#x80;", false), "€|");
    CHECK_STR(entity("&#0;", false), "\xEF\xBF\xBD|");
    CHECK_STR(entity("&#xD800;", false), "\xEF\xBF\xBD|");
    CHECK_STR(entity("&#99999999999;", false), "\xEF\xBF\xBD|");
    CHECK_STR(entity("&#x;", false), "|&#x;");
    CHECK_STR(entity("&nope;", false), "|&nope;");
}

TEST(attributes)
{
    const struct html_node *n =
        parse(STR("<p A=1 b='2 &lt; 3' c=\"x\ny\" d e = f/g a=9 =h>"))->last->first;
    CHECK_MEM(html_get(n, "a").p, html_get(n, "a").n, "1");
    CHECK_MEM(html_get(n, "b").p, html_get(n, "b").n, "2 < 3");
    CHECK_MEM(html_get(n, "c").p, html_get(n, "c").n, "x\ny");
    CHECK(html_get(n, "d").p && html_get(n, "d").n == 0);
    CHECK_MEM(html_get(n, "e").p, html_get(n, "e").n, "f/g");
    CHECK(html_get(n, "=h").p);
    CHECK(!html_get(n, "z").p);
    whole("x<p a=", "html(head body('x'))");
}

TEST(depth_is_bounded)
{
    struct buf b = BUF_INIT(8 << 20);
    for (int i = 0; i < 100000; i++)
        buf_addz(&b, i % 2 ? "<div>" : "<font>");
    buf_addz(&b, "end");
    int deepest = 0;
    const struct html_node *html = parse(buf_str(&b));
    for (const struct html_node *n = html; n; n = html_after(n, html)) {
        int depth = 0;
        for (const struct html_node *p = n; p; p = p->parent)
            depth++;
        deepest = depth > deepest ? depth : deepest;
    }
    CHECK(deepest > 100 && deepest <= HTML_DEPTH_MAX + 2);
    buf_release(&b);
}

TEST(memory_is_bounded)
{
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT(8 << 20);
    for (int i = 0; i < 1000; i++)
        buf_addf(&b, "<b id=%d><p>", i);
    arena_init(&arena, 256 << 10);
    CHECK(!html_parse(&arena, buf_str(&b), &e));
    CHECK_INT(e.code, ERR_LIMIT);
    buf_release(&b);
}

T_MAIN
