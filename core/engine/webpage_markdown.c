/* SPDX-License-Identifier: MIT */
/*
 * A tree to Markdown. One walk over it, without recursion: enter and leave each node,
 * with what is open kept as counters, prefixes of lines, and marks that wait for the
 * next character, so that nothing empty is marked.
 */
#include "engine/webpage_own.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PREFIX_MAX = 160,   /* bytes before a line: quotes and lists; deeper ones add none */
    LISTS_MAX = 40,     /* lists in lists that are counted */
    SPAN_MAX = 50,      /* columns that one cell may take */
    RAISED_MAX = 16,    /* bytes of an exponent or an index */
    RAISED_LOOK = 8,    /* nodes that one may have */
    TABLE_LOOK = 50000, /* nodes to look at for what a table is */
};

struct md_list {
    bool ordered;
    int next;
    /* Before an item's mark was put, to which it goes back if nothing follows. */
    size_t prefix, out, gap;
    int newline;
    bool space, begun, tight;
};

struct md {
    const struct reading *r;
    const struct json **items; /* by bid */
    struct buf *out;
    struct buf prefix;  /* of each line */
    struct buf block;   /* waits for the next character, at the line's beginning */
    struct buf pending; /* the same, behind that: "[", "**" */
    int newline;        /* line ends that are due */
    size_t gap;         /* bytes of the prefix that empty lines have */
    bool space, begun;
    bool tight; /* right behind the mark of an item: no line ends */
    int pre, code;
    struct md_list lists[LISTS_MAX];
    int nlists;
    const struct html_node *table; /* of data, which we are in */
    int rows, cells;
    const struct html_node *skip; /* was written before */
    bool full;
};

/* ---- writing ---- */

static void add(struct md *m, struct str s)
{
    if (buf_adds(m->out, s) < 0)
        m->full = true;
}

static void want_lines(struct md *m, int n)
{
    m->space = false;
    if (m->table) {
        m->space = true;
        return;
    }
    if (m->tight)
        return;
    if (m->newline == 0 || m->prefix.n < m->gap)
        m->gap = m->prefix.n;
    m->newline = m->newline > n ? m->newline : n;
}

/* Without the blanks at its end. */
static void add_prefix(struct md *m, bool empty)
{
    struct str s = str_sub(buf_str(&m->prefix), 0, empty ? m->gap : m->prefix.n);
    while (empty && s.n && s.p[s.n - 1] == ' ')
        s.n--;
    add(m, s);
}

static void end_lines(struct md *m)
{
    for (; m->newline; m->newline--) {
        if (m->begun)
            add(m, STR("\n"));
        if (m->newline > 1 && m->begun)
            add_prefix(m, true);
    }
    add_prefix(m, false);
}

static void begin_text(struct md *m)
{
    bool first = !m->begun;
    if (m->newline || first) {
        end_lines(m);
        m->begun = true;
    } else if (m->space && m->out->n && m->out->p[m->out->n - 1] != '\n' &&
               m->out->p[m->out->n - 1] != ' ') {
        add(m, STR(" "));
    }
    m->newline = 0;
    m->space = false;
    m->tight = false;
    if (m->block.n) {
        add(m, buf_str(&m->block));
        buf_reset(&m->block);
    }
    if (m->pending.n) {
        add(m, buf_str(&m->pending));
        buf_reset(&m->pending);
    }
}

static void put(struct md *m, struct str s)
{
    begin_text(m);
    add(m, s);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static void put_pre(struct md *m, struct str s)
{
    while (s.n && !m->full) {
        bool more = str_chr(s, '\n') >= 0;
        struct str line = str_cut(&s, '\n');
        if (line.n)
            put(m, line);
        m->newline += more;
    }
}

static void put_words(struct md *m, struct str s)
{
    size_t at = 0;
    while (at < s.n && !m->full) {
        size_t from = at;
        while (at < s.n && !is_blank(s.p[at]) && !(m->table && s.p[at] == '|'))
            at++;
        if (at > from)
            put(m, str_sub(s, from, at - from));
        if (at < s.n && s.p[at] == '|')
            put(m, STR("\\|"));
        else if (at < s.n)
            m->space = true;
        at++;
    }
}

static void put_text(struct md *m, struct str s)
{
    if (m->pre && !m->table)
        put_pre(m, s);
    else
        put_words(m, s);
}

/* A mark before what comes next, and one behind it if anything came. */
static void open_mark(struct md *m, const char *mark)
{
    if (m->pre == 0)
        buf_addz(&m->pending, mark);
}

static bool close_mark(struct md *m, const char *open, const char *close)
{
    struct str mark = str_of(open);
    if (m->pre)
        return false;
    if (str_ends(buf_str(&m->pending), mark)) {
        buf_truncate(&m->pending, m->pending.n - mark.n);
        return false;
    }
    add(m, str_of(close));
    return true;
}

/* ---- lists, quotes ---- */

static void add_indent(struct md *m, const char *text)
{
    if (m->prefix.n + strlen(text) <= PREFIX_MAX)
        buf_addz(&m->prefix, text);
}

static void cut_indent(struct md *m, const char *text)
{
    if (str_ends(buf_str(&m->prefix), str_of(text)))
        buf_truncate(&m->prefix, m->prefix.n - strlen(text));
}

static void begin_list(struct md *m, const struct html_node *n)
{
    want_lines(m, m->nlists ? 1 : 2);
    struct md_list l = {.ordered = n->tag == HTML_ol, .next = 1};
    uint64_t start;
    if (str_to_u64(html_get(n, "start"), &start) == 0 && start < 1000000)
        l.next = (int)start;
    if (m->nlists < LISTS_MAX)
        m->lists[m->nlists] = l;
    m->nlists++;
}

static void end_list(struct md *m)
{
    m->nlists--;
    want_lines(m, m->nlists ? 1 : 2);
}

static void begin_item(struct md *m)
{
    char mark[24] = "- ";
    struct md_list none = {0};
    struct md_list *l = m->nlists && m->nlists <= LISTS_MAX ? &m->lists[m->nlists - 1]
                                                            : &none;
    l->prefix = m->prefix.n;
    l->out = m->out->n;
    l->gap = m->gap;
    l->newline = m->newline;
    l->space = m->space;
    l->begun = m->begun;
    l->tight = m->tight;
    m->tight = false;
    want_lines(m, 1);
    if (l->ordered)
        snprintf(mark, sizeof(mark), "%d. ", l->next++);
    if (m->table)
        return;
    begin_text(m);
    add(m, str_of(mark));
    m->tight = true;
    add_indent(m, l->ordered ? "   " : "  ");
}

/* Nothing came behind its mark. */
static void drop_item(struct md *m, const struct md_list *l)
{
    buf_truncate(m->out, l->out);
    m->gap = l->gap;
    m->newline = l->newline;
    m->space = l->space;
    m->begun = l->begun;
    m->tight = l->tight;
}

static void end_item(struct md *m)
{
    bool listed = m->nlists && m->nlists <= LISTS_MAX && !m->table;
    const struct md_list *l = &m->lists[listed ? m->nlists - 1 : 0];
    if (!listed && !m->table)
        cut_indent(m, "  ");
    else if (listed && m->prefix.n > l->prefix)
        buf_truncate(&m->prefix, l->prefix);
    if (listed && m->tight) {
        drop_item(m, l);
        return;
    }
    m->tight = false;
    want_lines(m, 1);
}

/* ---- tables ---- */

/* Rows of cells with words in them; others only say where things stand. */
static bool is_data(const struct html_node *table)
{
    int rows = 0, cells = 0, most = 0, looked = 0;
    for (const struct html_node *n = table->first; n; n = html_after(n, table)) {
        if (++looked > TABLE_LOOK)
            return false;
        switch (n->tag) {
        case HTML_table:
        case HTML_ul:
        case HTML_ol:
        case HTML_dl:
        case HTML_pre:
        case HTML_form:
        case HTML_blockquote:
        case HTML_h1:
        case HTML_h2:
        case HTML_h3:
            return false;
        case HTML_tr:
            rows++;
            cells = 0;
            break;
        case HTML_td:
        case HTML_th:
            most = ++cells > most ? cells : most;
            break;
        default:
            break;
        }
    }
    return rows > 1 && most > 1;
}

static void end_row(struct md *m)
{
    if (m->cells == 0)
        return;
    add(m, STR("\n"));
    add_prefix(m, false);
    if (m->rows++ == 0) {
        for (int i = 0; i < m->cells; i++)
            add(m, STR("| --- "));
        add(m, STR("|\n"));
        add_prefix(m, false);
    }
    m->cells = 0;
    m->space = false;
}

static void begin_table(struct md *m, const struct html_node *n)
{
    want_lines(m, 2);
    if (m->table || m->pre || !is_data(n))
        return;
    m->tight = false;
    begin_text(m);
    m->table = n;
    m->rows = m->cells = 0;
}

static void end_table(struct md *m, const struct html_node *n)
{
    if (m->table == n) {
        end_row(m);
        m->table = NULL;
        /* The last row has ended its line. */
        while (m->out->n && m->out->p[m->out->n - 1] != '\n')
            buf_truncate(m->out, m->out->n - 1);
        if (m->out->n)
            buf_truncate(m->out, m->out->n - 1);
    }
    want_lines(m, 2);
}

static void end_caption(struct md *m)
{
    if (m->table && m->rows + m->cells == 0) {
        add(m, STR("\n\n"));
        add_prefix(m, false);
    }
    want_lines(m, 1);
}

static void begin_cell(struct md *m)
{
    if (!m->table) {
        m->space = true;
        return;
    }
    m->space = false;
    add(m, m->cells++ ? STR(" ") : STR("| "));
}

static void end_cell(struct md *m, const struct html_node *n)
{
    uint64_t span = 1;
    if (!m->table)
        return;
    buf_reset(&m->pending);
    buf_reset(&m->block);
    m->space = false;
    add(m, STR(" |"));
    if (str_to_u64(html_get(n, "colspan"), &span) == 0) {
        for (uint64_t i = 1; i < span && i < SPAN_MAX; i++) {
            add(m, STR("  |"));
            m->cells++;
        }
    }
}

/* ---- elements ---- */

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
        put(m, STR("!["));
        put_words(m, buf_str(&alt));
        add(m, STR("]"));
        m->space = true;
    }
    buf_release(&alt);
}

static void put_item(struct md *m, const struct json *item)
{
    struct buf text = BUF_INIT(64 << 10);
    if (item && webpage_field_text(item, &text) == 0) {
        m->space = true;
        put(m, buf_str(&text));
        m->space = true;
    }
    buf_release(&text);
}

/* A link without a word in it: what it is called, else where it leads. */
static void put_bare_link(struct md *m, const struct json *item)
{
    struct str name = json_str(item, "name", ""), bid = json_str(item, "bid", "");
    put(m, STR("["));
    put_words(m, name.n ? name : json_str(item, "role", "link"));
    m->space = false;
    add(m, STR("]["));
    add(m, bid);
    add(m, STR("]"));
}

static void end_link(struct md *m, const struct html_node *n)
{
    const struct json *item = item_of(m, n);
    if (!item || m->pre)
        return;
    bool space = m->space;
    if (close_mark(m, "[", "][")) {
        add(m, json_str(item, "bid", ""));
        add(m, STR("]"));
    } else if (json_str(item, "name", "").n) {
        put_bare_link(m, item);
    }
    m->space = space;
}

static void begin_pre(struct md *m)
{
    want_lines(m, 2);
    if (m->pre++ || m->table)
        return;
    buf_reset(&m->pending);
    put(m, STR("```"));
    m->newline = 1;
}

static void end_pre(struct md *m)
{
    if (--m->pre == 0 && !m->table) {
        m->newline = 1;
        put(m, STR("```"));
    }
    want_lines(m, 2);
}

static void begin_heading(struct md *m, const struct html_node *n)
{
    static const char marks[] = "###### ";
    want_lines(m, 2);
    if (!m->table && !m->pre) {
        buf_reset(&m->block);
        buf_addz(&m->block, marks + (6 - (n->tag - HTML_h1 + 1)));
    }
}

/*
 * 10<sup>3</sup> is not 103: what is raised or lowered has a mark, but for the letters of
 * "1st" and for links, which lead to notes.
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
        want_lines(m, lines);
}

static void put_rule(struct md *m)
{
    want_lines(m, 2);
    if (!m->table)
        put(m, STR("---"));
    want_lines(m, 2);
}

/* False: what is in it is not to be entered. */
static bool enter(struct md *m, const struct html_node *n)
{
    if (n->tag == HTML_TEXT) {
        put_text(m, n->name);
        return false;
    }
    if (webpage_is_hidden(n) || n == m->skip)
        return false;
    if (n->foreign)
        return n->tag != HTML_style;
    switch (n->tag) {
    case HTML_br:
        if (m->pre)
            put_pre(m, STR("\n"));
        else
            want_lines(m, 1);
        return false;
    case HTML_hr:
        put_rule(m);
        return false;
    case HTML_img:
        put_image(m, n);
        return false;
    case HTML_a:
        if (item_of(m, n))
            open_mark(m, "[");
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
        begin_list(m, n);
        return true;
    case HTML_li:
        begin_item(m);
        return true;
    case HTML_dd:
        want_lines(m, 1);
        add_indent(m, "    ");
        return true;
    case HTML_blockquote:
        want_lines(m, 2);
        add_indent(m, "> ");
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
        open_mark(m, "**");
        return true;
    case HTML_i:
    case HTML_em:
        open_mark(m, "_");
        return true;
    case HTML_code:
    case HTML_tt:
    case HTML_kbd:
    case HTML_samp:
        if (m->code++ == 0)
            open_mark(m, "`");
        return true;
    case HTML_sup:
    case HTML_sub:
        if (is_raised(m, n))
            put(m, n->tag == HTML_sup ? STR("^") : STR("_"));
        return true;
    case HTML_table:
        begin_table(m, n);
        return true;
    case HTML_td:
    case HTML_th:
        begin_cell(m);
        return true;
    case HTML_tr:
        if (!m->table)
            want_lines(m, 1);
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
        end_list(m);
        break;
    case HTML_li:
        end_item(m);
        break;
    case HTML_dd:
        cut_indent(m, "    ");
        want_lines(m, 1);
        break;
    case HTML_blockquote:
        cut_indent(m, "> ");
        want_lines(m, 2);
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
        want_lines(m, 2);
        break;
    case HTML_b:
    case HTML_strong:
        close_mark(m, "**", "**");
        break;
    case HTML_i:
    case HTML_em:
        close_mark(m, "_", "_");
        break;
    case HTML_code:
    case HTML_tt:
    case HTML_kbd:
    case HTML_samp:
        if (--m->code == 0)
            close_mark(m, "`", "`");
        break;
    case HTML_table:
        end_table(m, n);
        break;
    case HTML_caption:
        end_caption(m);
        break;
    case HTML_td:
    case HTML_th:
        end_cell(m, n);
        break;
    case HTML_tr:
        if (m->table)
            end_row(m);
        else
            want_lines(m, 1);
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
    for (const struct json *j = json_first(r->page->items); items && j;
         j = json_next(j)) {
        uint64_t bid;
        if (str_to_u64(json_str(j, "bid", ""), &bid) == 0 && bid <= r->bids)
            items[bid] = j;
    }
    return items;
}

/* The main part, and behind a rule, if there is any, the rest. */
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
    struct md m = {.r = r, .out = &r->page->text, .items = index_items(r)};
    buf_init(&m.prefix, PREFIX_MAX);
    buf_init(&m.block, 64);
    buf_init(&m.pending, 4096);
    if (!m.items)
        m.full = true;
    if (part)
        write_parts(&m, part, body);
    else
        walk(&m, body);
    if (m.out->n && !m.full)
        add(&m, STR("\n"));
    free(m.items);
    buf_release(&m.prefix);
    buf_release(&m.block);
    buf_release(&m.pending);
    return m.full ? -1 : 0;
}
