/* SPDX-License-Identifier: MIT */
/* The libvterm behind screen.h. It owns one VTerm and a line's bytes. */
#include "term/screen.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <vterm.h>

struct screen {
    VTerm *vt;        /* owned, with all that follows */
    VTermState *state;
    VTermScreen *cells;
    int rows, cols;
    bool region, alt;
    uint64_t gone;    /* rows that scrolled off */
    uint64_t at;
    uint64_t from[TERM_ROWS_MAX]; /* of each row; never decreases downwards */
    struct buf bytes; /* of one row */
    screen_line_fn *line;
    void *arg;        /* borrowed */
};

static int clamp(int n, int standard, int max)
{
    /* One column is too narrow for a wide character: libvterm would write
     * next to the row. */
    return n <= 0 ? standard : n < 2 ? 2 : n > max ? max : n;
}

static bool is_blank(const VTermScreenCell *c)
{
    return c->chars[0] == 0 || (c->chars[0] == ' ' && c->chars[1] == 0);
}

/* The first n cells as bytes into s->bytes. */
static void put_cells(struct screen *s, const VTermScreenCell *c, int n)
{
    buf_reset(&s->bytes);
    for (int i = 0; i < n; i++) {
        if (c[i].chars[0] == UINT32_MAX)
            continue; /* right half of a wide character */
        char *p = buf_reserve(&s->bytes, 4 * VTERM_MAX_CHARS_PER_CELL);
        if (!p)
            xalloc_failed(4 * VTERM_MAX_CHARS_PER_CELL);
        size_t len = 0;
        if (c[i].chars[0] == 0)
            p[len++] = ' ';
        for (int k = 0; k < VTERM_MAX_CHARS_PER_CELL && c[i].chars[k]; k++)
            len += (size_t)utf8_encode(c[i].chars[k], p + len);
        buf_commit(&s->bytes, len);
    }
}

/* Counts cells without trailing blanks; blanks before `least` that were written count. */
static int used(const VTermScreenCell *c, int n, int least)
{
    while (n > 0 && (c[n - 1].chars[0] == 0 ||
                     (n > least && is_blank(&c[n - 1]))))
        n--;
    return n;
}

/* libvterm moves the marks of wrapped rows before it calls this, so row 0's
 * mark says whether the row that leaves goes on there. */
static int on_push(int cols, const VTermScreenCell *cells, void *user)
{
    struct screen *s = user;
    if (!s->line)
        return 1;
    bool wrapped = vterm_state_get_lineinfo(s->state, 0)->continuation;
    put_cells(s, cells, wrapped ? cols : used(cells, cols, 0));
    s->line(s->arg, buf_str(&s->bytes), s->from[0], !wrapped);
    s->gone++;
    if (!s->region) {
        for (int i = 1; i < s->rows; i++)
            s->from[i - 1] = s->from[i];
        s->from[s->rows - 1] = s->at;
    }
    return 1;
}

static const VTermScreenCallbacks callbacks = {.sb_pushline = on_push};

struct screen *screen_new(int rows, int cols, uint64_t from,
                          screen_line_fn *line, void *arg)
{
    struct screen *s = xnew(struct screen);
    s->rows = clamp(rows, 24, TERM_ROWS_MAX);
    s->cols = clamp(cols, 80, TERM_COLS_MAX);
    s->line = line;
    s->arg = arg;
    buf_init(&s->bytes, SIZE_MAX);
    for (int i = 0; i < s->rows; i++)
        s->from[i] = from;
    s->vt = vterm_new(s->rows, s->cols);
    if (!s->vt)
        xalloc_failed(sizeof(*s));
    vterm_set_utf8(s->vt, 1);
    s->state = vterm_obtain_state(s->vt);
    s->cells = vterm_obtain_screen(s->vt);
    vterm_screen_set_callbacks(s->cells, &callbacks, s);
    vterm_screen_set_damage_merge(s->cells, VTERM_DAMAGE_SCREEN);
    vterm_screen_enable_altscreen(s->cells, 1);
    vterm_screen_reset(s->cells, 1);
    return s;
}

void screen_free(struct screen *s)
{
    if (!s)
        return;
    vterm_free(s->vt);
    buf_release(&s->bytes);
    free(s);
}

/* Content is about to move down, to rows that have a later `from`. */
static void forget_from(struct screen *s)
{
    for (int i = 1; i < s->rows; i++)
        s->from[i] = s->from[0];
}

void screen_write(struct screen *s, struct str token, uint64_t at)
{
    s->at = at;
    if (token.n > 1 && token.p[0] == '\033' &&
        strchr("LMT", token.p[token.n - 1]))
        forget_from(s); /* IL, RI, SD (and DL, which does not need it) */
    vterm_input_write(s->vt, token.p, token.n);
}

void screen_alt(struct screen *s, bool on)
{
    /* A region that a full-screen program left set would stay for the other screen. */
    screen_region(s, 0, 0);
    s->alt = on;
    screen_write(s, on ? STR("\033[?1049h") : STR("\033[?1049l"), s->at);
}

void screen_region(struct screen *s, long top, long bottom)
{
    if (top < 1)
        top = 1;
    if (bottom < 1 || bottom > s->rows)
        bottom = s->rows;
    if (top >= bottom)
        return;
    s->region = top > 1 || bottom < s->rows;
    char seq[32];
    int n = snprintf(seq, sizeof(seq), "\033[%ld;%ldr", top, bottom);
    screen_write(s, str_n(seq, (size_t)n), s->at);
}

void screen_where(const struct screen *s, int *row, int *col, uint64_t *gone)
{
    VTermPos pos;
    vterm_state_get_cursorpos(s->state, &pos);
    *row = pos.row;
    *col = pos.col;
    *gone = s->gone;
}

size_t screen_room(const struct screen *s)
{
    VTermPos pos;
    vterm_state_get_cursorpos(s->state, &pos);
    return (size_t)(s->cols - 1 - pos.col);
}

bool screen_at_end(const struct screen *s)
{
    VTermPos pos;
    vterm_state_get_cursorpos(s->state, &pos);
    return !s->alt && !s->region && pos.row == s->rows - 1;
}

/* Reads a row and returns how many of its cells are used. */
static int read_row(const struct screen *s, int row, VTermScreenCell *cell,
                    int least)
{
    for (int col = 0; col < s->cols; col++)
        vterm_screen_get_cell(s->cells, (VTermPos){row, col}, &cell[col]);
    return used(cell, s->cols, least);
}

void screen_each(struct screen *s, screen_line_fn *line, void *arg)
{
    VTermScreenCell cell[TERM_COLS_MAX];
    VTermPos pos;
    vterm_state_get_cursorpos(s->state, &pos);
    int last = s->rows - 1;
    while (last > pos.row && read_row(s, last, cell, 0) == 0)
        last--;
    for (int row = 0; row <= last; row++) {
        const VTermLineInfo *next =
            row < last ? vterm_state_get_lineinfo(s->state, row + 1) : NULL;
        bool wrapped = next && next->continuation;
        bool ends = row == pos.row && row == last;
        int n = read_row(s, row, cell, ends ? pos.col : 0);
        put_cells(s, cell, wrapped ? s->cols : n);
        line(arg, buf_str(&s->bytes), s->from[row], !wrapped && !ends);
    }
}
