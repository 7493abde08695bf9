/* SPDX-License-Identifier: MIT */
#include "webpage/block.h"

#include <stdio.h>

enum {
    SPAN_MAX = 50,      /* columns that one cell may take */
    TABLE_LOOK = 50000, /* nodes of a table that are examined to learn its kind */
};

/* ---- writing ---- */

void md_add(struct md *m, struct str s)
{
    if (buf_adds(m->out, s) < 0)
        m->full = true;
}

void md_want_lines(struct md *m, int n)
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

/* Appends the prefix; before an empty line without the blanks at its end. */
static void add_prefix(struct md *m, bool empty)
{
    struct str s = str_sub(buf_str(&m->prefix), 0, empty ? m->gap : m->prefix.n);
    while (empty && s.n && s.p[s.n - 1] == ' ')
        s.n--;
    md_add(m, s);
}

static void end_lines(struct md *m)
{
    for (; m->newline; m->newline--) {
        if (m->begun)
            md_add(m, STR("\n"));
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
        md_add(m, STR(" "));
    }
    m->newline = 0;
    m->space = false;
    m->tight = false;
    if (m->block.n) {
        md_add(m, buf_str(&m->block));
        buf_reset(&m->block);
    }
    if (m->pending.n) {
        md_add(m, buf_str(&m->pending));
        buf_reset(&m->pending);
    }
}

void md_put(struct md *m, struct str s)
{
    begin_text(m);
    md_add(m, s);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

void md_put_pre(struct md *m, struct str s)
{
    while (s.n && !m->full) {
        bool more = str_chr(s, '\n') >= 0;
        struct str line = str_cut(&s, '\n');
        if (line.n)
            md_put(m, line);
        m->newline += more;
    }
}

void md_put_words(struct md *m, struct str s)
{
    size_t at = 0;
    while (at < s.n && !m->full) {
        size_t from = at;
        while (at < s.n && !is_blank(s.p[at]) && !(m->table && s.p[at] == '|'))
            at++;
        if (at > from)
            md_put(m, str_sub(s, from, at - from));
        if (at < s.n && s.p[at] == '|')
            md_put(m, STR("\\|"));
        else if (at < s.n)
            m->space = true;
        at++;
    }
}

void md_put_text(struct md *m, struct str s)
{
    if (m->pre && !m->table)
        md_put_pre(m, s);
    else
        md_put_words(m, s);
}

void md_open_mark(struct md *m, const char *mark)
{
    if (m->pre == 0)
        buf_addz(&m->pending, mark);
}

bool md_close_mark(struct md *m, const char *open, const char *close)
{
    struct str mark = str_of(open);
    if (m->pre)
        return false;
    if (str_ends(buf_str(&m->pending), mark)) {
        buf_truncate(&m->pending, m->pending.n - mark.n);
        return false;
    }
    md_add(m, str_of(close));
    return true;
}

/* ---- lists, quotes ---- */

void md_add_indent(struct md *m, const char *text)
{
    if (m->prefix.n + strlen(text) <= MD_PREFIX_MAX)
        buf_addz(&m->prefix, text);
}

void md_cut_indent(struct md *m, const char *text)
{
    if (str_ends(buf_str(&m->prefix), str_of(text)))
        buf_truncate(&m->prefix, m->prefix.n - strlen(text));
}

void md_begin_list(struct md *m, const struct html_node *n)
{
    md_want_lines(m, m->nlists ? 1 : 2);
    struct md_list l = {.ordered = n->tag == HTML_ol, .next = 1};
    uint64_t start;
    if (str_to_u64(html_get(n, "start"), &start) == 0 && start < 1000000)
        l.next = (int)start;
    if (m->nlists < MD_LISTS_MAX)
        m->lists[m->nlists] = l;
    m->nlists++;
}

void md_end_list(struct md *m)
{
    m->nlists--;
    md_want_lines(m, m->nlists ? 1 : 2);
}

void md_begin_item(struct md *m)
{
    char mark[24] = "- ";
    struct md_list none = {0};
    struct md_list *l = m->nlists && m->nlists <= MD_LISTS_MAX ? &m->lists[m->nlists - 1]
                                                               : &none;
    l->prefix = m->prefix.n;
    l->out = m->out->n;
    l->gap = m->gap;
    l->newline = m->newline;
    l->space = m->space;
    l->begun = m->begun;
    l->tight = m->tight;
    m->tight = false;
    md_want_lines(m, 1);
    if (l->ordered)
        snprintf(mark, sizeof(mark), "%d. ", l->next++);
    if (m->table)
        return;
    begin_text(m);
    md_add(m, str_of(mark));
    m->tight = true;
    md_add_indent(m, l->ordered ? "   " : "  ");
}

/* Removes an item with nothing after its mark. */
static void drop_item(struct md *m, const struct md_list *l)
{
    buf_truncate(m->out, l->out);
    m->gap = l->gap;
    m->newline = l->newline;
    m->space = l->space;
    m->begun = l->begun;
    m->tight = l->tight;
}

void md_end_item(struct md *m)
{
    bool listed = m->nlists && m->nlists <= MD_LISTS_MAX && !m->table;
    const struct md_list *l = &m->lists[listed ? m->nlists - 1 : 0];
    if (!listed && !m->table)
        md_cut_indent(m, "  ");
    else if (listed && m->prefix.n > l->prefix)
        buf_truncate(&m->prefix, l->prefix);
    if (listed && m->tight) {
        drop_item(m, l);
        return;
    }
    m->tight = false;
    md_want_lines(m, 1);
}

/* ---- tables ---- */

/* Whether a table has rows of cells with words, and is not for layout only. */
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

void md_end_row(struct md *m)
{
    if (m->cells == 0)
        return;
    md_add(m, STR("\n"));
    add_prefix(m, false);
    if (m->rows++ == 0) {
        for (int i = 0; i < m->cells; i++)
            md_add(m, STR("| --- "));
        md_add(m, STR("|\n"));
        add_prefix(m, false);
    }
    m->cells = 0;
    m->space = false;
}

void md_begin_table(struct md *m, const struct html_node *n)
{
    md_want_lines(m, 2);
    if (m->table || m->pre || !is_data(n))
        return;
    m->tight = false;
    begin_text(m);
    m->table = n;
    m->rows = m->cells = 0;
}

void md_end_table(struct md *m, const struct html_node *n)
{
    if (m->table == n) {
        md_end_row(m);
        m->table = NULL;
        /* Every row but the last has ended its line. */
        while (m->out->n && m->out->p[m->out->n - 1] != '\n')
            buf_truncate(m->out, m->out->n - 1);
        if (m->out->n)
            buf_truncate(m->out, m->out->n - 1);
    }
    md_want_lines(m, 2);
}

void md_end_caption(struct md *m)
{
    if (m->table && m->rows + m->cells == 0) {
        md_add(m, STR("\n\n"));
        add_prefix(m, false);
    }
    md_want_lines(m, 1);
}

void md_begin_cell(struct md *m)
{
    if (!m->table) {
        m->space = true;
        return;
    }
    m->space = false;
    md_add(m, m->cells++ ? STR(" ") : STR("| "));
}

void md_end_cell(struct md *m, const struct html_node *n)
{
    uint64_t span = 1;
    if (!m->table)
        return;
    buf_reset(&m->pending);
    buf_reset(&m->block);
    m->space = false;
    md_add(m, STR(" |"));
    if (str_to_u64(html_get(n, "colspan"), &span) == 0) {
        for (uint64_t i = 1; i < span && i < SPAN_MAX; i++) {
            md_add(m, STR("  |"));
            m->cells++;
        }
    }
}
