/* SPDX-License-Identifier: MIT */
/*
 * A tree to Markdown: one walk over it, without recursion, that enters and leaves each
 * node.
 */
#include "webpage/block.h"

#include <stdlib.h>

enum {
    RAISED_MAX = 16, /* bytes of an exponent or an index */
    RAISED_LOOK = 8, /* nodes that one may have */
};

static const struct json *item_of(const struct md *m, const struct html_node *n)
{
    return n->bid ? m->items[n->bid] : NULL;
}

static void put_image(struct md *m, const struct html_node *n)
{
    struct buf alt = BUF_INIT(WEBPAGE_NAME_MAX + 8);
    webpage_text_of(n, &alt, WEBPAGE_NAME_MAX);
    if (alt.n) {
        m->space = m->pending.n == 0;
        md_put(m, STR("!["));
        md_put_words(m, buf_str(&alt));
        md_add(m, STR("]"));
        m->space = true;
    }
    buf_release(&alt);
}

static void put_item(struct md *m, const struct json *item)
{
    struct buf text = BUF_INIT(64 << 10);
    if (item && webpage_field_text(item, &text) == 0) {
        m->space = true;
        md_put(m, buf_str(&text));
        m->space = true;
    }
    buf_release(&text);
}

/* Appends a link without text: its name, else its target. */
static void put_bare_link(struct md *m, const struct json *item)
{
    struct str name = json_str(item, "name", ""), bid = json_str(item, "bid", "");
    md_put(m, STR("["));
    md_put_words(m, name.n ? name : json_str(item, "role", "link"));
    m->space = false;
    md_add(m, STR("]["));
    md_add(m, bid);
    md_add(m, STR("]"));
}

static void end_link(struct md *m, const struct html_node *n)
{
    const struct json *item = item_of(m, n);
    if (!item || m->pre)
        return;
    bool space = m->space;
    if (md_close_mark(m, "[", "][")) {
        md_add(m, json_str(item, "bid", ""));
        md_add(m, STR("]"));
    } else if (json_str(item, "name", "").n) {
        put_bare_link(m, item);
    }
    m->space = space;
}

static void begin_pre(struct md *m)
{
    md_want_lines(m, 2);
    if (m->pre++ || m->table)
        return;
    buf_reset(&m->pending);
    md_put(m, STR("```"));
    m->newline = 1;
}

static void end_pre(struct md *m)
{
    if (--m->pre == 0 && !m->table) {
        m->newline = 1;
        md_put(m, STR("```"));
    }
    md_want_lines(m, 2);
}

static void begin_heading(struct md *m, const struct html_node *n)
{
    static const char marks[] = "###### ";
    md_want_lines(m, 2);
    if (!m->table && !m->pre) {
        buf_reset(&m->block);
        buf_addz(&m->block, marks + (6 - (n->tag - HTML_h1 + 1)));
    }
}

/*
 * Whether raised or lowered text gets a mark: 10<sup>3</sup> is not 103. The letters of
 * "1st" and links, which lead to notes, get none.
 */
static bool is_raised(struct md *m, const struct html_node *n)
{
    struct buf b = BUF_INIT(RAISED_MAX + 4);
    bool digits = false, plain = true;
    int left = RAISED_LOOK;
    const struct html_node *in = n->first;
    while (in && in->tag != HTML_a && --left > 0)
        in = html_after(in, n);
    if (in)
        return false;
    webpage_text_of(n, &b, RAISED_MAX);
    for (size_t i = 0; i < b.n; i++) {
        digits = digits || (b.p[i] >= '0' && b.p[i] <= '9');
        plain = plain && !strchr(" []()*", b.p[i]);
    }
    bool marked = plain && b.n > 0 && (n->tag == HTML_sub || digits || b.n == 1);
    buf_release(&b);
    return marked && m->begun && !m->space && !m->newline && !m->pre && !m->code &&
           m->pending.n == 0;
}

static int lines_around(const struct html_node *n)
{
    switch (n->tag) {
    case HTML_p:
    case HTML_dl:
    case HTML_figure:
    case HTML_fieldset:
    case HTML_details:
    case HTML_form:
        return 2;
    case HTML_dt:
    case HTML_tr:
    case HTML_option:
    case HTML_legend:
    case HTML_caption:
    case HTML_body:
    case HTML_address:
    case HTML_article:
    case HTML_aside:
    case HTML_center:
    case HTML_dialog:
    case HTML_dir:
    case HTML_div:
    case HTML_figcaption:
    case HTML_footer:
    case HTML_header:
    case HTML_hgroup:
    case HTML_main:
    case HTML_nav:
    case HTML_search:
    case HTML_section:
    case HTML_summary:
        return 1;
    default:
        return 0;
    }
}

static void want_lines_around(struct md *m, const struct html_node *n)
{
    int lines = lines_around(n);
    if (lines)
        md_want_lines(m, lines);
}

static void put_rule(struct md *m)
{
    md_want_lines(m, 2);
    if (!m->table)
        md_put(m, STR("---"));
    md_want_lines(m, 2);
}

/* Enters a node. Returns false if its content is skipped. */
static bool enter(struct md *m, const struct html_node *n)
{
    if (n->tag == HTML_TEXT) {
        md_put_text(m, n->name);
        return false;
    }
    if (webpage_is_hidden(n) || n == m->skip)
        return false;
    if (n->foreign)
        return n->tag != HTML_style;
    switch (n->tag) {
    case HTML_br:
        if (m->pre)
            md_put_pre(m, STR("\n"));
        else
            md_want_lines(m, 1);
        return false;
    case HTML_hr:
        put_rule(m);
        return false;
    case HTML_img:
        put_image(m, n);
        return false;
    case HTML_a:
        if (item_of(m, n))
            md_open_mark(m, "[");
        return true;
    case HTML_area:
    case HTML_iframe:
    case HTML_frame:
        if (item_of(m, n)) {
            put_bare_link(m, item_of(m, n));
            m->space = true;
        }
        return false;
    case HTML_input:
    case HTML_select:
    case HTML_textarea:
    case HTML_button:
        put_item(m, item_of(m, n));
        return false;
    case HTML_ul:
    case HTML_ol:
    case HTML_menu:
    case HTML_dir:
        md_begin_list(m, n);
        return true;
    case HTML_li:
        md_begin_item(m);
        return true;
    case HTML_dd:
        md_want_lines(m, 1);
        md_add_indent(m, "    ");
        return true;
    case HTML_blockquote:
        md_want_lines(m, 2);
        md_add_indent(m, "> ");
        return true;
    case HTML_pre:
    case HTML_listing:
    case HTML_xmp:
    case HTML_plaintext:
        begin_pre(m);
        return true;
    case HTML_h1:
    case HTML_h2:
    case HTML_h3:
    case HTML_h4:
    case HTML_h5:
    case HTML_h6:
        begin_heading(m, n);
        return true;
    case HTML_b:
    case HTML_strong:
        md_open_mark(m, "**");
        return true;
    case HTML_i:
    case HTML_em:
        md_open_mark(m, "_");
        return true;
    case HTML_code:
    case HTML_tt:
    case HTML_kbd:
    case HTML_samp:
        if (m->code++ == 0)
            md_open_mark(m, "`");
        return true;
    case HTML_sup:
    case HTML_sub:
        if (is_raised(m, n))
            md_put(m, n->tag == HTML_sup ? STR("^") : STR("_"));
        return true;
    case HTML_table:
        md_begin_table(m, n);
        return true;
    case HTML_td:
    case HTML_th:
        md_begin_cell(m);
        return true;
    case HTML_tr:
        if (!m->table)
            md_want_lines(m, 1);
        return true;
    default:
        want_lines_around(m, n);
        return true;
    }
}

static void leave(struct md *m, const struct html_node *n)
{
    if (n->foreign)
        return;
    switch (n->tag) {
    case HTML_a:
        end_link(m, n);
        break;
    case HTML_ul:
    case HTML_ol:
    case HTML_menu:
    case HTML_dir:
        md_end_list(m);
        break;
    case HTML_li:
        md_end_item(m);
        break;
    case HTML_dd:
        md_cut_indent(m, "    ");
        md_want_lines(m, 1);
        break;
    case HTML_blockquote:
        md_cut_indent(m, "> ");
        md_want_lines(m, 2);
        break;
    case HTML_pre:
    case HTML_listing:
    case HTML_xmp:
    case HTML_plaintext:
        end_pre(m);
        break;
    case HTML_h1:
    case HTML_h2:
    case HTML_h3:
    case HTML_h4:
    case HTML_h5:
    case HTML_h6:
        buf_reset(&m->block);
        md_want_lines(m, 2);
        break;
    case HTML_b:
    case HTML_strong:
        md_close_mark(m, "**", "**");
        break;
    case HTML_i:
    case HTML_em:
        md_close_mark(m, "_", "_");
        break;
    case HTML_code:
    case HTML_tt:
    case HTML_kbd:
    case HTML_samp:
        if (--m->code == 0)
            md_close_mark(m, "`", "`");
        break;
    case HTML_table:
        md_end_table(m, n);
        break;
    case HTML_caption:
        md_end_caption(m);
        break;
    case HTML_td:
    case HTML_th:
        md_end_cell(m, n);
        break;
    case HTML_tr:
        if (m->table)
            md_end_row(m);
        else
            md_want_lines(m, 1);
        break;
    default:
        want_lines_around(m, n);
        break;
    }
}

static void walk(struct md *m, const struct html_node *top)
{
    const struct html_node *n = top;
    while (!m->full) {
        bool entered = enter(m, n);
        if (entered && n->first) {
            n = n->first;
            continue;
        }
        if (entered)
            leave(m, n);
        for (; n != top && !n->next; leave(m, n))
            n = n->parent;
        if (n == top)
            return;
        n = n->next;
    }
}

/* ---- the page ---- */

static const struct json **index_items(const struct reading *r)
{
    const struct json **items = calloc(r->bids + 1, sizeof(*items));
    unsigned at = 0;
    for (const struct json *j = json_first(r->page->items); items && j;
         j = json_next(j)) {
        if (json_has(j, "bid") && at < r->bids)
            items[++at] = j;
    }
    return items;
}

/* Writes the main part, then a rule and the rest, if there is any. */
static void write_parts(struct md *m, const struct html_node *part,
                        const struct html_node *body)
{
    walk(m, part);
    buf_reset(&m->prefix);
    buf_reset(&m->pending);
    m->skip = part;
    m->nlists = m->pre = m->code = 0;
    m->newline = 0;
    size_t before = m->out->n;
    put_rule(m);
    size_t ruled = m->out->n;
    walk(m, body);
    if (m->out->n == ruled)
        buf_truncate(m->out, before);
}

int webpage_write(struct reading *r, const struct html_node *part,
                  const struct html_node *body)
{
    struct md m = {.out = &r->page->text, .items = index_items(r)};
    buf_init(&m.prefix, MD_PREFIX_MAX);
    buf_init(&m.block, 64);
    buf_init(&m.pending, 4096);
    if (!m.items)
        m.full = true;
    if (part)
        write_parts(&m, part, body);
    else
        walk(&m, body);
    if (m.out->n && !m.full)
        md_add(&m, STR("\n"));
    free(m.items);
    buf_release(&m.prefix);
    buf_release(&m.block);
    buf_release(&m.pending);
    return m.full ? -1 : 0;
}
