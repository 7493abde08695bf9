/* SPDX-License-Identifier: MIT */
/*
 * The line model: see line.h.
 *
 * In the canvas state the unfinished piece of the text is empty: its bytes are
 * in the rows. Rows beyond m->n are spare ones, kept for their memory.
 */
#include "term/line.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdlib.h>

#define CELLS_KEPT (16u << 10) /* more are given back when a canvas ends */

static size_t clamp(long n, long standard, long max)
{
    return (size_t)(n <= 0 ? standard : n > max ? max : n);
}

void line_init(struct line_model *m, const struct term_opts *o)
{
    *m = (struct line_model){
        .rows = clamp(o->rows, 24, TERM_BACK + 1),
        .cols = clamp(o->cols, 80, TERM_LINE_MAX),
        .keep_tabs = o->keep_tabs,
        .same = true,
    };
    text_init(&m->text, o);
    buf_init(&m->blanks, SIZE_MAX);
}

static void free_rows(struct line_model *m)
{
    for (size_t i = 0; i < m->cap; i++)
        free(m->row[i].cell);
    free(m->row);
    m->row = NULL;
    m->n = m->cap = m->cells = 0;
}

void line_release(struct line_model *m)
{
    free_rows(m);
    buf_release(&m->blanks);
    text_release(&m->text);
}

/* ---- from plain to canvas and back ---- */

/* Inserts an empty row at i, which reuses the memory of a spare row if there is one. */
static struct row *insert_row(struct line_model *m, size_t i)
{
    if (m->n == m->cap) {
        size_t cap = m->cap ? m->cap * 2 : 8;
        m->row = xrealloc(m->row, cap, sizeof(*m->row));
        memset(m->row + m->cap, 0, (cap - m->cap) * sizeof(*m->row));
        m->cap = cap;
    }
    struct row spare = m->row[m->n];
    memmove(m->row + i + 1, m->row + i, (m->n - i) * sizeof(*m->row));
    m->n++;
    spare.n = 0;
    spare.joined = false;
    spare.from = spare.to = m->start;
    m->row[i] = spare;
    return &m->row[i];
}

static void to_canvas(struct line_model *m)
{
    if (m->n)
        return;
    struct row *r = insert_row(m, 0);
    r->from = m->from;
    r->to = m->start;
    /* Cannot fail: a line that is plain is shorter than TERM_LINE_MAX. */
    row_load(r, text_cur(&m->text), &m->cells);
    text_cur_truncate(&m->text, 0);
    m->y = 0;
    m->x = m->home ? 0 : r->n;
    m->home = false;
}

static void begin_plain(struct line_model *m, uint64_t at)
{
    m->from = at;
    m->same = true;
    m->home = false;
    m->seen = m->seen_columns = 0;
}

static void to_plain(struct line_model *m)
{
    if (m->cells > CELLS_KEPT)
        free_rows(m);
    m->n = m->x = m->y = m->taken = 0;
    begin_plain(m, m->at);
}

/* Moves the screen down if the last line is below it. */
static void new_line(struct line_model *m)
{
    uint64_t lines = m->text.line + (m->n ? m->n : 1);
    if (lines > m->rows && m->top < lines - m->rows)
        m->top = lines - m->rows;
}

static void finish_row(struct line_model *m, const struct row *r, bool newline)
{
    row_bytes(r, newline ? 0 : r->n, &m->text.win);
    text_end(&m->text, r->from, r->to, false, newline);
}

/* Finishes all rows, of which the last one may go on in the text. */
static void finish_rows(struct line_model *m, bool newline)
{
    for (size_t i = 0; i < m->n; i++)
        finish_row(m, &m->row[i], newline || i + 1 < m->n);
    to_plain(m);
}

static void finish_first_row(struct line_model *m)
{
    struct row r = m->row[0];
    finish_row(m, &r, true);
    memmove(m->row, m->row + 1, (m->n - 1) * sizeof(*m->row));
    m->row[--m->n] = r; /* spare now */
}

/* Adds an empty row below all others; the first row may leave the screen. */
static void add_row(struct line_model *m)
{
    insert_row(m, m->n);
    if (m->n > m->rows) {
        finish_first_row(m);
        m->y -= m->y > 0;
    }
    new_line(m);
}

/* Takes lines back until the first row is line `first`, or no line can be taken back. */
static void take_back(struct line_model *m, uint64_t first)
{
    while (m->text.line > first) {
        struct text_piece p;
        if (m->cells > CELLS_MAX / 2 || !text_take_back(&m->text, &p)) {
            m->top = m->text.line;
            return;
        }
        struct row *r = insert_row(m, 0);
        r->from = p.from;
        r->to = p.to;
        m->y++;
        m->taken++;
        row_load(r, text_cur(&m->text), &m->cells);
        text_cur_truncate(&m->text, 0);
    }
}

/* ---- writing ---- */

static void plain_add(struct line_model *m, const char *p, size_t n)
{
    size_t have = text_cur(&m->text).n;
    if (m->from + have != m->start)
        m->same = false;
    text_add(&m->text, p, n);
}

/* Continues a line that got too long in a new piece, without its beginning. */
static void plain_break(struct line_model *m, uint64_t at)
{
    text_end(&m->text, m->from, at, m->same, false);
    begin_plain(m, at);
}

/*
 * Returns the row, with blanks up to the cursor and room for n more cells there; no
 * half of a wide character is left next to them. Returns NULL if this line, or all
 * lines together, became too long; the last line then goes on as a plain one.
 */
static struct row *canvas_room(struct line_model *m, size_t n)
{
    struct row *r = &m->row[m->y];
    if (row_extend(r, m->x, &m->cells) && row_reserve(r, m->x + n, &m->cells)) {
        row_split(r, m->x, m->x + n);
        return r;
    }
    if (m->y + 1 == m->n) {
        finish_rows(m, false);
        m->from = m->start;
    }
    return NULL;
}

static void canvas_print_ascii(struct line_model *m, const char *p, size_t n)
{
    size_t most = TERM_LINE_MAX - m->x;
    if (m->x < TERM_LINE_MAX && n > most) {
        /* In two parts, split at the same place as a plain line. */
        canvas_print_ascii(m, p, most);
        line_print_ascii(m, p + most, n - most);
        return;
    }
    struct row *r = canvas_room(m, n);
    if (!r) {
        if (m->n)
            m->start += n;
        else
            line_print_ascii(m, p, n);
        return;
    }
    struct term_cell *c = r->cell + m->x;
    for (size_t i = 0; i < n; i++)
        cell_set(&c[i], (unsigned char)p[i]);
    m->start += n;
    r->to = m->start;
    m->x += n;
    if (r->n < m->x)
        r->n = m->x;
}

void line_print_ascii(struct line_model *m, const char *p, size_t n)
{
    if (m->home && text_cur(&m->text).n)
        to_canvas(m);
    if (m->n) {
        canvas_print_ascii(m, p, n);
        return;
    }
    m->home = false;
    while (n > 0) {
        size_t have = text_cur(&m->text).n;
        if (have >= TERM_LINE_MAX) {
            plain_break(m, m->start);
            have = 0;
        }
        size_t k = n < TERM_LINE_MAX - have ? n : TERM_LINE_MAX - have;
        plain_add(m, p, k);
        m->start += k;
        p += k;
        n -= k;
    }
}

static void canvas_print(struct line_model *m, uint32_t cp, size_t width)
{
    if (width == 0) {
        row_mark(&m->row[m->y], m->x, cp);
        m->row[m->y].to = m->at;
        return;
    }
    struct row *r = canvas_room(m, width);
    if (!r) {
        if (!m->n)
            line_print(m, cp);
        return;
    }
    cell_set(&r->cell[m->x], cp);
    if (width == 2) {
        cell_set(&r->cell[m->x + 1], CELL_WIDE);
        r->joined = true;
    }
    r->to = m->at;
    m->x += width;
    if (r->n < m->x)
        r->n = m->x;
}

void line_print(struct line_model *m, uint32_t cp)
{
    if (m->home && text_cur(&m->text).n)
        to_canvas(m);
    if (m->n) {
        canvas_print(m, cp, (size_t)utf8_width(cp));
        return;
    }
    m->home = false;
    if (text_cur(&m->text).n >= TERM_LINE_MAX)
        plain_break(m, m->start);
    char utf8[4];
    plain_add(m, utf8, (size_t)utf8_encode(cp, utf8));
}

void line_add_done(struct line_model *m, struct str bytes, uint64_t from,
                   bool newline)
{
    text_add(&m->text, bytes.p, bytes.n);
    text_end(&m->text, from, m->at, false, newline);
    begin_plain(m, m->at);
    new_line(m);
}

/* ---- controls ---- */

/* Bytes of the unfinished line without blanks at its end. */
static size_t plain_used(const struct line_model *m)
{
    struct str s = text_cur(&m->text);
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s.n;
}

/*
 * Many programs write a line above some progress bars and then all bars again. Rows
 * are finished only after as many new lines have come as were taken back. So moving
 * up and down costs no more than the lines did, however often it happens.
 */
void line_feed(struct line_model *m)
{
    if (m->n) {
        m->x = 0;
        if (m->y + 1 < m->n) {
            m->y++;
        } else if (m->taken) {
            m->taken--;
            m->row[m->y].to = m->at;
            add_row(m);
            m->y = m->n - 1;
            m->row[m->y].from = m->at;
        } else {
            m->row[m->y].to = m->at;
            finish_rows(m, true);
        }
    } else {
        text_cur_truncate(&m->text, plain_used(m));
        text_end(&m->text, m->from, m->at, m->same, true);
        begin_plain(m, m->at);
    }
    new_line(m);
}

void line_index(struct line_model *m)
{
    to_canvas(m);
    if (m->y + 1 < m->n) {
        m->y++;
        return;
    }
    add_row(m); /* on a screen of one row, this finished the old row */
    m->y = m->n - 1;
}

void line_return(struct line_model *m)
{
    m->x = 0;
    m->home = m->n == 0;
}

/* Returns the width of a plain line; measures only what was added since the last call. */
static size_t plain_columns(struct line_model *m)
{
    struct str s = text_cur(&m->text);
    while (m->seen < s.n) {
        uint32_t cp = (unsigned char)s.p[m->seen];
        m->seen += cp < 0x80 ? 1 : (size_t)utf8_decode(str_sub(s, m->seen, 4), &cp);
        m->seen_columns += (size_t)utf8_width(cp);
    }
    return m->seen_columns;
}

void line_tab(struct line_model *m)
{
    if (m->n || m->home) {
        to_canvas(m);
        struct row *r = &m->row[m->y];
        if (m->keep_tabs && m->x >= r->n)
            m->x = row_tab(r, m->x, &m->cells);
        else if (m->x < TERM_LINE_MAX)
            m->x = row_tab_stop(m->x);
        r->to = m->at;
        return;
    }
    if (m->keep_tabs) {
        line_print(m, '\t');
        return;
    }
    size_t x = plain_columns(m);
    for (size_t i = row_tab_stop(x) - x; i > 0; i--)
        line_print(m, ' '); /* one byte of input made all of them */
}

void line_tab_back(struct line_model *m, size_t n)
{
    to_canvas(m);
    size_t stop = (m->x + TAB_WIDTH - 1) / TAB_WIDTH;
    m->x = n < stop ? (stop - n) * TAB_WIDTH : 0;
}

void line_left(struct line_model *m, size_t n)
{
    if (m->home)
        return;
    to_canvas(m);
    m->x = n < m->x ? m->x - n : 0;
}

void line_right(struct line_model *m, size_t n)
{
    to_canvas(m);
    if (m->x < m->cols - 1)
        m->x = n < m->cols - 1 - m->x ? m->x + n : m->cols - 1;
}

void line_column(struct line_model *m, size_t x)
{
    if (x == 0) {
        line_return(m);
        return;
    }
    to_canvas(m);
    m->x = x < m->cols ? x : m->cols - 1;
}

void line_up(struct line_model *m, size_t n)
{
    uint64_t line = m->text.line + m->y;
    uint64_t target = line > n ? line - n : 0;
    if (target < m->top)
        target = m->top;
    if (target >= line)
        return;
    to_canvas(m);
    take_back(m, target);
    m->y = target > m->text.line ? (size_t)(target - m->text.line) : 0;
}

void line_down(struct line_model *m, size_t n)
{
    uint64_t line = m->text.line + m->y;
    uint64_t last = m->top + m->rows - 1;
    if (n > last - line)
        n = (size_t)(last - line);
    if (n == 0)
        return;
    to_canvas(m);
    while (m->y + n >= m->n)
        add_row(m);
    m->y += n;
}

bool line_at_top(const struct line_model *m)
{
    return m->text.line + m->y <= m->top;
}

void line_where(struct line_model *m, size_t *y, size_t *x)
{
    to_canvas(m);
    uint64_t line = m->text.line + m->y;
    *y = line > m->top ? (size_t)(line - m->top) : 0;
    *x = m->x;
}

void line_goto(struct line_model *m, size_t y, size_t x)
{
    uint64_t line = m->text.line + m->y, target = m->top + y;
    if (target < line)
        line_up(m, (size_t)(line - target));
    else
        line_down(m, (size_t)(target - line));
    to_canvas(m);
    m->x = x;
}

void line_erase(struct line_model *m, int how)
{
    if (!m->n && (how == 0 || (how == 2 && m->home))) {
        if (m->home) {
            text_cur_truncate(&m->text, 0);
            m->seen = m->seen_columns = 0;
        }
        m->home = false; /* the end is, or was, the first column */
        return;
    }
    to_canvas(m);
    struct row *r = &m->row[m->y];
    r->to = m->at;
    if (how == 0) {
        row_cut(r, m->x);
    } else if (how == 2 || m->x + 1 >= r->n) {
        row_cut(r, 0);
    } else {
        row_split(r, 0, m->x + 1);
        for (size_t i = 0; i <= m->x; i++)
            cell_set(&r->cell[i], 0);
    }
}

void line_erase_below(struct line_model *m)
{
    line_erase(m, 0);
    for (size_t i = m->y + 1; i < m->n; i++) {
        row_cut(&m->row[i], 0);
        m->row[i].to = m->at;
    }
}

/*
 * Returns the row, in which no wide character crosses the borders of the n cells at the
 * cursor. If the row has no cells after these, cuts it at the cursor and returns NULL.
 */
static struct row *take_cells(struct line_model *m, size_t n)
{
    to_canvas(m);
    struct row *r = &m->row[m->y];
    r->to = m->at;
    if (n >= r->n || m->x >= r->n - n) {
        row_cut(r, m->x);
        return NULL;
    }
    row_split(r, m->x, m->x + n);
    return r;
}

void line_blank(struct line_model *m, size_t n)
{
    struct row *r = take_cells(m, n);
    if (!r)
        return;
    for (size_t i = m->x; i < m->x + n; i++)
        cell_set(&r->cell[i], 0);
}

void line_delete(struct line_model *m, size_t n)
{
    struct row *r = take_cells(m, n);
    if (!r)
        return;
    memmove(&r->cell[m->x], &r->cell[m->x + n],
            (r->n - m->x - n) * sizeof(*r->cell));
    r->n -= n;
}

void line_insert(struct line_model *m, size_t n)
{
    to_canvas(m);
    struct row *r = &m->row[m->y];
    if (m->x >= r->n)
        return; /* they would be trailing blanks */
    size_t edge = r->n > m->cols ? r->n : m->cols;
    if (n > edge - m->x)
        n = edge - m->x;
    size_t left = r->n < edge - n ? r->n : edge - n;
    row_cut(r, left); /* what is pushed over the edge is lost */
    if (!row_reserve(r, left + n, &m->cells))
        return;
    row_split_at(r, m->x);
    memmove(&r->cell[m->x + n], &r->cell[m->x],
            (left - m->x) * sizeof(*r->cell));
    for (size_t i = m->x; i < m->x + n; i++)
        cell_set(&r->cell[i], 0);
    r->n = left + n;
    r->to = m->at;
}

/* ---- for the screen, and for showing ---- */

void line_open(struct line_model *m, size_t rows)
{
    to_canvas(m);
    uint64_t lines = m->text.line + m->n;
    uint64_t first = lines > rows ? lines - rows : 0;
    take_back(m, first > m->top ? first : m->top);
}

void line_drop_rows(struct line_model *m)
{
    uint64_t from = m->n ? m->row[0].from : m->from;
    to_plain(m);
    m->from = from;
}

struct text_mark line_show(struct line_model *m, struct text_piece *open)
{
    if (m->home) {
        /* Blanks after the cursor are not shown, but they are kept. */
        size_t n = plain_used(m);
        struct str blanks = str_sub(text_cur(&m->text), n, SIZE_MAX);
        if (buf_adds(&m->blanks, blanks) < 0)
            xalloc_failed(blanks.n);
        text_cur_truncate(&m->text, n);
    }
    struct text_mark mark = text_mark(&m->text);
    *open = (struct text_piece){.from = m->from, .to = m->at, .same = m->same};
    if (m->n == 0)
        return mark;
    size_t last = m->n - 1;
    const struct row *r = &m->row[last];
    while (last > m->y) {
        if (row_used(r, 0) > 0)
            break;
        r = &m->row[--last];
    }
    for (size_t i = 0; i < last; i++)
        finish_row(m, &m->row[i], true);
    *open = (struct text_piece){.from = r->from, .to = m->at};
    if (last > m->y && last + 1 < m->n)
        finish_row(m, r, true);
    else
        row_bytes(r, last > m->y ? 0 : m->x, &m->text.win);
    return mark;
}

void line_show_end(struct line_model *m, const struct text_mark *mark)
{
    text_undo(&m->text, mark);
    text_add(&m->text, m->blanks.p, m->blanks.n);
    buf_reset(&m->blanks);
}
