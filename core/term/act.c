/* SPDX-License-Identifier: MIT */
/*
 * What characters, controls and sequences do: see own.h.
 *
 * A sequence that addresses the screen first turns the last lines into a screen;
 * the line feed that would scroll that screen turns it back into lines. Only
 * sequences that change text are passed on to a screen, always in the same few
 * forms, so libvterm gets none that it might handle badly.
 */
#include "term/own.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdio.h>

#define MARKS_MAX 5 /* on one character of a screen */

/* ---- from the line model to a screen and back ---- */

static void on_line(void *arg, struct str bytes, uint64_t from, bool newline)
{
    struct term *t = arg;
    line_add_done(&t->line, bytes, from, newline);
}

static void to_screen(struct term *t, const char *token)
{
    screen_write(t->screen, str_of(token), t->line.at);
}

__attribute__((format(printf, 2, 3)))
static void to_screenf(struct term *t, const char *fmt, ...)
{
    char token[64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(token, sizeof(token), fmt, ap);
    va_end(ap);
    to_screen(t, token);
}

enum { CURSOR, SAVED, PLACES };

/* A place in the lines, and its position on a screen. */
struct act_place {
    bool wanted;
    size_t y, x;            /* row and column of the canvas */
    size_t offset, beyond;  /* in the bytes; columns after the row's end */
    int row, col;
    uint64_t gone;
};

/* The rows of the canvas as bytes, and the places' offsets in them. */
static void rows_bytes(const struct line_model *m, struct buf *out,
                       struct act_place place[PLACES])
{
    for (size_t y = 0; y < m->n; y++) {
        struct row r = m->row[y];
        size_t least = 0;
        if (y > 0 && buf_addz(out, "\r\n") < 0)
            xalloc_failed(2);
        size_t begin = out->n;
        for (size_t i = 0; i < PLACES; i++) {
            if (!place[i].wanted || place[i].y != y)
                continue;
            struct row left = r;
            left.n = place[i].x < r.n ? place[i].x : r.n;
            row_bytes(&left, left.n, out);
            place[i].offset = out->n;
            place[i].beyond = place[i].x - left.n;
            buf_truncate(out, begin);
            least = least < left.n ? left.n : least;
        }
        row_bytes(&r, least, out);
    }
}

/* Writes the bytes and finds out where the places are. A long line takes more
 * than one row, and rows may scroll off, so only the screen knows. */
static void write_rows(struct screen *s, struct str bytes, struct act_place place[PLACES],
                       uint64_t at)
{
    bool swap = place[1].offset < place[0].offset;
    struct act_place *first = &place[swap], *second = &place[!swap], end;
    screen_write(s, str_sub(bytes, 0, first->offset), at);
    screen_where(s, &first->row, &first->col, &first->gone);
    screen_write(s, str_sub(bytes, first->offset, second->offset - first->offset),
                 at);
    screen_where(s, &second->row, &second->col, &second->gone);
    screen_write(s, str_sub(bytes, second->offset, SIZE_MAX), at);
    screen_where(s, &end.row, &end.col, &end.gone);
    first->row -= (int)(end.gone - first->gone);
    second->row -= (int)(end.gone - second->gone);
}

static void move_to(struct term *t, const struct act_place *p)
{
    to_screenf(t, "\033[%d;%zuH", p->row > 0 ? p->row + 1 : 1,
               (size_t)p->col + p->beyond + 1);
}

/* The lines that a terminal would show become the content of a screen. */
static void enter_screen(struct term *t)
{
    if (t->screen)
        return;
    struct line_model *m = &t->line;
    line_open(m, m->rows < TERM_ROWS_MAX ? m->rows : TERM_ROWS_MAX);
    uint64_t line = m->top + t->saved_y;
    struct act_place place[] = {
        [CURSOR] = {.wanted = true, .y = m->y, .x = m->x},
        [SAVED] = {.wanted = t->saved && line >= m->text.line,
                   .y = (size_t)(line - m->text.line),
                   .x = t->saved_x},
    };
    struct buf bytes = BUF_INIT(SIZE_MAX);
    rows_bytes(m, &bytes, place);
    line_drop_rows(m);

    t->screen = screen_new((int)m->rows, (int)m->cols, m->from, on_line, t);
    write_rows(t->screen, buf_str(&bytes), place, m->start);
    if (place[SAVED].wanted) {
        move_to(t, &place[SAVED]);
        to_screen(t, "\0337");
    }
    /* Only if necessary: a move would cancel the wrap of a cursor at the margin. */
    if (place[SAVED].wanted || place[CURSOR].offset < bytes.n ||
        place[CURSOR].beyond)
        move_to(t, &place[CURSOR]);
    buf_release(&bytes);
    t->saved = false;
    if (t->no_wrap)
        to_screen(t, "\033[?7l");
}

/* Called for a line feed on the last row: all rows become finished lines. */
static void leave_screen(struct term *t)
{
    screen_each(t->screen, on_line, t);
    line_feed(&t->line);
    screen_free(t->screen);
    t->screen = NULL;
}

static void set_alt(struct term *t, bool on)
{
    if (on == t->alt)
        return;
    t->alt = on;
    if (!t->screen) {
        t->screen = screen_new((int)t->line.rows, (int)t->line.cols,
                               t->line.start, NULL, NULL);
        t->beneath = true;
        if (t->no_wrap)
            to_screen(t, "\033[?7l");
    } else if (t->beneath) {
        screen_free(t->screen);
        t->screen = NULL;
        t->beneath = false;
    } else {
        screen_alt(t->screen, on);
    }
}

/* ---- text ---- */

/* What line drawing makes of the bytes from '_' to '~'. */
uint32_t act_drawing(unsigned char c)
{
    static const uint16_t glyph[32] = {
        0x20,   0x25c6, 0x2592, 0x2409, 0x240c, 0x240d, 0x240a, 0xb0,
        0xb1,   0x2424, 0x240b, 0x2518, 0x2510, 0x250c, 0x2514, 0x253c,
        0x23ba, 0x23bb, 0x2500, 0x23bc, 0x23bd, 0x251c, 0x2524, 0x2534,
        0x252c, 0x2502, 0x2264, 0x2265, 0x3c0,  0x2260, 0xa3,   0xb7,
    };
    return c >= '_' && c <= '~' ? glyph[c - '_'] : c;
}

void act_char(struct term *t, uint32_t cp)
{
    t->last = cp;
    if (!t->screen) {
        line_print(&t->line, cp);
        return;
    }
    t->marks = utf8_width(cp) == 0 ? t->marks + 1 : 0;
    if (t->marks <= MARKS_MAX) {
        char utf8[4];
        int n = utf8_encode(cp, utf8);
        screen_write(t->screen, str_n(utf8, (size_t)n), t->line.at);
    }
}

void act_ascii(struct term *t, const char *p, size_t n)
{
    if (t->graphics[t->shift]) {
        for (size_t i = 0; i < n; i++) {
            t->line.at = t->line.start + 1;
            act_char(t, act_drawing((unsigned char)p[i]));
            t->line.start = t->line.at;
        }
        return;
    }
    t->marks = 0;
    t->last = (unsigned char)p[n - 1];
    if (!t->screen) {
        line_print_ascii(&t->line, p, n);
        return;
    }
    /* A character that may scroll the screen is written alone: the row that
     * scrolls off was then made by the input up to this character. */
    while (n > 0) {
        size_t k = screen_room(t->screen);
        k = k == 0 ? 1 : k < n ? k : n;
        t->line.start += k;
        t->line.at = t->line.start;
        screen_write(t->screen, str_n(p, k), t->line.at);
        p += k;
        n -= k;
    }
}

static void repeat(struct term *t, size_t n)
{
    size_t most = t->line.cols < TERM_COLS_MAX ? t->line.cols : TERM_COLS_MAX;
    if (t->last == 0 || utf8_width(t->last) == 0)
        return;
    for (size_t i = 0; i < n && i < most; i++)
        act_char(t, t->last);
}

/* ---- controls ---- */

static void newline(struct term *t)
{
    if (!t->screen)
        line_feed(&t->line);
    else if (t->alt)
        to_screen(t, "\n");
    else if (screen_at_end(t->screen))
        leave_screen(t);
    else
        to_screen(t, "\r\n");
}

void act_control(struct term *t, char c)
{
    struct line_model *m = &t->line;
    switch (c) {
    case '\n':
        newline(t);
        return;
    case '\016':
    case '\017':
        t->shift = c == '\016';
        return;
    case '\b':
    case '\t':
    case '\v':
    case '\f':
    case '\r':
        break;
    default:
        return; /* bell and the like, DEL, questions and padding */
    }
    if (t->screen)
        screen_write(t->screen, str_n(&c, 1), m->at);
    else if (c == '\r')
        line_return(m);
    else if (c == '\b')
        line_left(m, 1);
    else if (c == '\t')
        line_tab(m);
    else
        line_index(m);
}

static void save_cursor(struct term *t)
{
    if (t->screen) {
        to_screen(t, "\0337");
        return;
    }
    line_where(&t->line, &t->saved_y, &t->saved_x);
    t->saved = true;
}

static void restore_cursor(struct term *t)
{
    if (t->screen)
        to_screen(t, "\0338");
    else if (t->saved)
        line_goto(&t->line, t->saved_y, t->saved_x);
}

/* RIS: an empty screen, and everything as it was at the start. */
static void reset(struct term *t)
{
    set_alt(t, false);
    t->graphics[0] = t->graphics[1] = false;
    t->shift = 0;
    t->saved = t->no_wrap = false;
    enter_screen(t);
    screen_region(t->screen, 0, 0);
    to_screen(t, "\033[?6l\033[?7h\033[4l\033[2J\033[H");
}

void act_escape(struct term *t, char c)
{
    switch (c) {
    case '7':
        save_cursor(t);
        break;
    case '8':
        restore_cursor(t);
        break;
    case 'D':
        if (t->screen)
            to_screen(t, "\033D");
        else
            line_index(&t->line);
        break;
    case 'E':
        if (t->screen)
            to_screen(t, "\033E");
        else
            line_feed(&t->line);
        break;
    case 'M':
        if (!t->screen && !line_at_top(&t->line)) {
            line_up(&t->line, 1);
            break;
        }
        enter_screen(t);
        to_screen(t, "\033M");
        break;
    case 'c':
        reset(t);
        break;
    default:
        break; /* ignored: keypad modes, tab stops, 8-bit answers, … */
    }
}

/* ---- sequences ---- */

/* A count: 0 and none mean 1. */
static size_t count(const struct term *t)
{
    return t->params && t->param[0] > 0 ? (size_t)t->param[0] : 1;
}

/* A choice: none means 0. */
static int choice(const struct term *t)
{
    return t->params && t->param[0] > 0 ? (int)t->param[0] : 0;
}

static void set_mode(struct term *t, long mode, bool on)
{
    char end = on ? 'h' : 'l';
    if (t->leader == 0) {
        if (mode != 4) /* insert mode */
            return;
        if (on)
            enter_screen(t);
        if (t->screen)
            to_screenf(t, "\033[4%c", end);
        return;
    }
    switch (mode) {
    case 6: /* origin */
        if (on)
            enter_screen(t);
        if (t->screen)
            to_screenf(t, "\033[?6%c", end);
        break;
    case 7: /* wrap at the margin; the line model has no margin */
        t->no_wrap = !on;
        if (t->screen)
            to_screenf(t, "\033[?7%c", end);
        break;
    case 47:
    case 1047:
    case 1049:
        set_alt(t, on);
        break;
    case 1048:
        if (on)
            save_cursor(t);
        else
            restore_cursor(t);
        break;
    default:
        break;
    }
}

/* A sequence that only a screen can carry out. */
static void screen_sequence(struct term *t, char c)
{
    enter_screen(t);
    long a = t->params > 0 ? t->param[0] : -1;
    long b = t->params > 1 ? t->param[1] : -1;
    size_t times = 1;
    if (c == 'r') {
        screen_region(t->screen, a, b);
        return;
    }
    if (c == 'S') {
        /* One by one, so that the mark of a wrapped row is right for each. */
        times = count(t) < TERM_ROWS_MAX ? count(t) : TERM_ROWS_MAX;
        a = 1;
    }
    for (; times > 0; times--) {
        if (a < 0 && b < 0)
            to_screenf(t, "\033[%c", c);
        else
            to_screenf(t, "\033[%ld;%ld%c", a < 0 ? 0 : a, b < 0 ? 0 : b, c);
    }
}

static void line_sequence(struct term *t, char c)
{
    struct line_model *m = &t->line;
    size_t n = count(t);
    switch (c) {
    case '@':
        line_insert(m, n);
        break;
    case 'A':
    case 'F':
    case 'k':
        line_up(m, n);
        break;
    case 'B':
    case 'E':
    case 'e':
        line_down(m, n);
        break;
    case 'C':
    case 'a':
        line_right(m, n);
        break;
    case 'D':
    case 'j':
        line_left(m, n);
        break;
    case 'G':
    case '`':
        line_column(m, n - 1);
        break;
    case 'I':
        for (size_t i = 0; i < n && i < m->cols / 8; i++)
            line_tab(m);
        break;
    case 'Z':
        line_tab_back(m, n);
        break;
    case 'K':
        if (choice(t) <= 2)
            line_erase(m, choice(t));
        break;
    case 'P':
        line_delete(m, n);
        break;
    case 'X':
        line_blank(m, n);
        break;
    default:
        break;
    }
    if (c == 'E' || c == 'F')
        line_return(m);
}

void act_sequence(struct term *t, char c)
{
    if (t->intermediate) {
        if (t->intermediate == '!' && c == 'p' && t->screen) {
            screen_region(t->screen, 0, 0);
            to_screen(t, "\033[?6l\033[4l");
        }
        return;
    }
    if (c == 'h' || c == 'l') {
        for (int i = 0; (t->leader == 0 || t->leader == '?') && i < t->params; i++)
            set_mode(t, t->param[i], c == 'h');
        return;
    }
    if (t->leader && !(t->leader == '?' && (c == 'J' || c == 'K')))
        return;
    switch (c) {
    case 'b':
        repeat(t, count(t));
        break;
    case 's':
        save_cursor(t);
        break;
    case 'u':
        restore_cursor(t);
        break;
    case 'J':
        if (choice(t) == 0 && !t->screen)
            line_erase_below(&t->line);
        else if (choice(t) <= 2) /* 3: what has scrolled off stays */
            screen_sequence(t, c);
        break;
    case 'H':
    case 'L':
    case 'M':
    case 'S':
    case 'T':
    case 'd':
    case 'f':
    case 'r':
        screen_sequence(t, c);
        break;
    case '@':
    case 'A':
    case 'B':
    case 'C':
    case 'D':
    case 'E':
    case 'F':
    case 'G':
    case 'I':
    case 'K':
    case 'P':
    case 'X':
    case 'Z':
    case '`':
    case 'a':
    case 'e':
    case 'j':
    case 'k':
        if (t->screen)
            screen_sequence(t, c);
        else
            line_sequence(t, c);
        break;
    default:
        break; /* ignored: colours, questions, windows, … */
    }
}
