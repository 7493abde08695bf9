/* SPDX-License-Identifier: MIT */
/* Pages as Markdown, and the list of what can be acted on. */
#include "http/url_join.h"
#include "webpage/webpage.h"

#include "t.h"

static struct webpage page;

static void read_page(struct str html)
{
    struct err e = ERR_INIT;
    webpage_release(&page);
    webpage_init(&page);
    if (webpage_html(&page, html, STR("http://h/d/p?q=1"), &e) < 0)
        T_FAIL("%s", e.text);
}

static void shows(const char *html, const char *want)
{
    read_page(str_of(html));
    CHECK_STR(buf_z(&page.text), want);
}

TEST(blocks_and_blanks)
{
    shows("", "");
    shows("  a\n\t b <!-- --> c ", "a b c\n");
    shows("<p>a<p>b<div>c</div><div>d</div>e", "a\n\nb\n\nc\nd\ne\n");
    shows("a<br>b<br/><br>c", "a\nb\nc\n");
    shows("<h1>One</h1><h2> Two </h2><h3></h3>x", "# One\n\n## Two\n\nx\n");
    shows("a<hr>b", "a\n\n---\n\nb\n");
    shows("<p>x&nbsp;y &lt;z&gt;", "x\xC2\xA0y <z>\n");
}

TEST(emphasis_and_code)
{
    shows("<b>a</b> <i>b</i> <code>c</code>d", "**a** _b_ `c`d\n");
    shows("a<b></b><i> </i>b", "a b\n");
    shows("x <b> a </b> y", "x **a** y\n");
    shows("<pre>\n a\n  b <b>c</b>\n\n\nd\n\n</pre>e",
          "```\n a\n  b c\n\n\nd\n```\n\ne\n");
}

TEST(lists_and_quotes)
{
    shows("<ul><li>a<li>b<ul><li>c</ul></ul>d", "- a\n- b\n  - c\n\nd\n");
    shows("<ol start=9><li>a<li><p>b<p>c</ol>", "9. a\n10. b\n\n   c\n");
    shows("a<blockquote><p>b<p>c</blockquote>d", "a\n\n> b\n>\n> c\n\nd\n");
    shows("<dl><dt>t<dd>d<dt>u</dl>", "t\n    d\nu\n");
    shows("<ul><li><pre>a\nb</pre></ul>", "- ```\n  a\n  b\n  ```\n");
}

TEST(empty_items_are_left_out)
{
    shows("<ul><li><img src=a><li>b<li> </ul>c", "- b\n\nc\n");
    shows("<ol><li>a<li><ul><li></li></ul></li><li>b<ul><li></li><li>c</ul></ol>",
          "1. a\n3. b\n   - c\n");
    shows("a<ul><li></ul>b", "a\n\nb\n");
    shows("<ul><li><p></p><li><hr></ul>", "- ---\n");
    shows("<li>a</li><li>b</li>c", "- a\n- b\nc\n");
}

TEST(tables)
{
    shows("<table><tr><th>A<th>B<tr><td>1|2<td><p>x<p>y</table>z",
          "| A | B |\n| --- | --- |\n| 1\\|2 | x y |\n\nz\n");
    shows("<table><caption>C</caption><tr><td colspan=2>a<tr><td>b<td></table>",
          "C\n\n| a |  |\n| --- | --- |\n| b |  |\n");
    shows("<table><tr><td>a<td>b</table>", "a b\n");
    shows("<table><tr><td><table><tr><td>1<td>2<tr><td>3<td>4</table><tr><td>x<td>y"
          "</table>",
          "| 1 | 2 |\n| --- | --- |\n| 3 | 4 |\n\nx y\n");
}

TEST(hidden_parts_are_left_out)
{
    shows("a<script>b</script><style>c</style><template>d</template>"
          "<p hidden>f</p><p aria-hidden=true>g</p>"
          "<p style='display:none'>h</p><svg><title>i</title><style>j</style></svg>k",
          "aik\n");
}

TEST(what_stands_there_for_scripts_is_shown)
{
    shows("<head><noscript><style>a</style></noscript></head>"
          "<noscript><p>b <a href=c>d</a><img src=e></noscript><p>f",
          "b [d][1]\n\nf\n");
}

TEST(raised_and_lowered)
{
    shows("10<sup>-3</sup> x<sub>i</sub> y<sub>max</sub>, 2<sup>n</sup>",
          "10^-3 x_i y_max, 2^n\n");
    shows("1<sup>st</sup> a<sup>*</sup> b<sup>[1]</sup> c<sup><a href=x>2</a></sup> "
          "d <sup>3</sup> <code>e<sup>4</sup></code> f<sub> </sub>g<sup></sup>",
          "1st a* b[1] c[2][1] d 3 `e4` f g\n");
    shows("<sup>1</sup>a<pre>b<sup>2</sup></pre>", "1a\n\n```\nb2\n```\n");
    shows("x<sup>a long remark, 1, which is none</sup>",
          "xa long remark, 1, which is none\n");
}

TEST(links_are_numbered)
{
    shows("<a href=a>x</a> <a name=n>y</a> <a href='/b#c'><b>z</b></a><a href=d></a>"
          "<a href=e><img alt=pic></a>"
          "<a href='javascript:f()'>j</a>",
          "[x][1] y [**z**][2][![pic]][4] j\n");
    struct buf links = BUF_INIT(4096);
    CHECK_INT(webpage_links(page.items, &links), 0);
    CHECK_STR(buf_z(&links), "[1]: http://h/d/a\n[2]: http://h/b#c\n[3]: http://h/d/d\n"
                             "[4]: http://h/d/e\n");
    shows("<base href='/root/'><a href=a aria-label=Close></a>", "[Close][1]\n");
    CHECK_STR(json_str(json_first(page.items), "url", "").p, "http://h/root/a");
    shows("<iframe src=f title=Frame></iframe>", "[Frame][1]\n");
    shows("<iframe src=f title=Frame><p>old</iframe>", "[Frame][1]\n");
    buf_release(&links);
}

TEST(fields_are_numbered)
{
    shows("<label>Size <select><option>S<option>L</select></label><label>Note<textarea>old"
          "</textarea></label>",
          "Size [1: combobox 'Size' value='S' of 'S', 'L'] Note [2: textbox 'Note' "
          "value='old']\n");
    shows("<form action=go method=post><label for=n>Your name</label> "
          "<input id=n name=q value=\"it's\"><input type=hidden name=h value=1>"
          "<input type=password name=p value=secret>"
          "<label><input type=checkbox name=c checked>Yes</label>"
          "<select name=s><option>Red<option value=g selected>Green</select>"
          "<textarea name=t>\na\nb</textarea><button disabled>Send</button>"
          "<input type=submit></form>",
          "Your name [1: textbox 'Your name' value=\"it's\"] "
          "[2: textbox 'p' value='****'] [3: checkbox 'Yes' checked] Yes "
          "[4: combobox 's' value='Green' of 'Red', 'Green'] "
          "[5: textbox 't' value='a\\nb'] [6: button 'Send' disabled] "
          "[7: button 'Submit']\n");
    const struct json *form = json_first(page.forms), *item = json_first(page.items);
    CHECK_STR(json_str(form, "action", "").p, "http://h/d/go");
    CHECK_STR(json_str(form, "method", "").p, "POST");
    item = json_next(item);
    CHECK_STR(json_str(item, "bid", "none").p, "none");
    CHECK_STR(json_str(item, "value", "").p, "1");
    CHECK_INT(json_int(item, "form", -1), 0);
}

TEST(the_main_part_is_first)
{
    shows("<nav>n</nav><main>a long text of it</main><footer>f</footer>",
          "a long text of it\n\n---\n\nn\nf\n");
    shows("<nav>all the text there is</nav><main>m</main>", "all the text there is\nm\n");
    shows("<main>only</main>", "only\n");
}

TEST(what_the_head_says)
{
    read_page(STR("<title> A\n title </title><meta http-equiv=Refresh "
                  "content=\"0; URL='next?x'\">"));
    CHECK_STR(buf_z(&page.title), "A title");
    CHECK_STR(buf_z(&page.refresh), "http://h/d/next?x");
    read_page(STR("<meta http-equiv=refresh content='600; url=next'>"));
    CHECK_STR(buf_z(&page.refresh), "");
}

TEST(pages_that_scripts_make_are_recognised)
{
    read_page(STR("<title>App</title><div id=root></div><script src=app.js></script>"));
    CHECK(page.needs_browser);
    struct buf b = BUF_INIT(4096);
    buf_addz(&b, "<body><noscript>");
    for (int i = 0; i < 40; i++)
        buf_addz(&b, "Scripts are off. ");
    buf_addz(&b, "</noscript><div id=root></div>");
    read_page(buf_str(&b));
    CHECK(!page.needs_browser);
    buf_addz(&b, "<script src=app.js></script>");
    read_page(buf_str(&b));
    CHECK(page.needs_browser);
    buf_release(&b);
    read_page(STR("<p>short, and no script"));
    CHECK(!page.needs_browser);
    read_page(STR("<script></script><a href=a>1</a><a href=b>2</a><a href=c>3</a>"));
    CHECK(!page.needs_browser);
}

TEST(hostile_pages_are_bounded)
{
    struct buf b = BUF_INIT(64 << 20);
    for (int i = 0; i < 30000; i++)
        buf_addz(&b, "<blockquote><ul><li><table><tr><td>");
    read_page(buf_str(&b));
    buf_reset(&b);
    for (int i = 0; i < WEBPAGE_ITEMS_MAX + 5; i++)
        buf_addf(&b, "<a href=%d>x</a>", i);
    read_page(buf_str(&b));
    CHECK_INT(page.more, 5);
    CHECK_INT(json_count(page.items), WEBPAGE_ITEMS_MAX);
    buf_release(&b);
}

static void joins(const char *ref, const char *want)
{
    struct buf out = BUF_INIT(4096);
    CHECK_INT(url_join(&out, STR("http://a/b/c/d;p?q"), str_of(ref)), 0);
    CHECK_STR(buf_z(&out), want);
    buf_release(&out);
}

/* The examples of RFC 3986 5.4, and what pages have. */
TEST(references_are_made_whole)
{
    joins("g:h", "g:h");
    joins("g", "http://a/b/c/g");
    joins("./g", "http://a/b/c/g");
    joins("g/", "http://a/b/c/g/");
    joins("/g", "http://a/g");
    joins("//g", "http://g/");
    joins("?y", "http://a/b/c/d;p?y");
    joins("g?y", "http://a/b/c/g?y");
    joins("#s", "http://a/b/c/d;p?q#s");
    joins("", "http://a/b/c/d;p?q");
    joins(".", "http://a/b/c/");
    joins("..", "http://a/b/");
    joins("../g", "http://a/b/g");
    joins("../..", "http://a/");
    joins("../../../g", "http://a/g");
    joins("/./g", "http://a/g");
    joins("g;x=1/../y", "http://a/b/c/y");
    joins("g?y/../x", "http://a/b/c/g?y/../x");
    joins(" a b\n", "http://a/b/c/a%20b");
    joins("\\x\\y", "http://a/x/y");
    joins("http:\\\\z\\y", "http://z/y");
    joins("ä", "http://a/b/c/%C3%A4");
    joins("mailto:a@b", "mailto:a@b");
}

T_MAIN
