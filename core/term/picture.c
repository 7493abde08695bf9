/* SPDX-License-Identifier: MIT */
/* The parser of picture.h: the grammar of term.c, for a screen alone. */
#include "term/picture_own.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdlib.h>

enum { REPLACEMENT = 0xfffd, ANSWER_PIECE = 4096 };

static int clamp(int n, int least, int most)
{
    return n < least ? least : n > most ? most : n;
}

static struct picture *make(int rows, int cols, int most_rows, int most_cols)
{
    struct picture *p = xnew(struct picture);
    p->most_rows = most_rows;
    p->most_cols = most_cols;
    p->rows = clamp(rows, 1, most_rows);
    p->cols = clamp(cols, 2, most_cols);
    buf_init(&p->model, SIZE_MAX);
    buf_init(&p->text, SIZE_MAX);
    p->vt = vterm_new(p->rows, p->cols);
    if (!p->vt)
        xalloc_failed(sizeof(*p));
    vterm_set_utf8(p->vt, 1);
    p->state = vterm_obtain_state(p->vt);
    p->cells = vterm_obtain_screen(p->vt);
    vterm_screen_set_damage_merge(p->cells, VTERM_DAMAGE_SCREEN);
    vterm_screen_reset(p->cells, 1);
    pic_no_modes(p);
    pic_no_tabs(p, 0);
    return p;
}

struct picture *picture_new(int rows, int cols)
{
    return make(rows, cols, PICTURE_ROWS_MAX, PICTURE_COLS_MAX);
}

struct picture *picture_new_large(int rows, int cols)
{
    return make(rows, cols, PICTURE_SIDE_MAX, PICTURE_SIDE_MAX);
}

void picture_free(struct picture *p)
{
    if (!p)
        return;
    vterm_free(p->vt);
    buf_release(&p->model);
    buf_release(&p->text);
    free(p->under);
    free(p->under_joined);
    free(p);
}

void picture_size(const struct picture *p, int *rows, int *cols)
{
    *rows = p->rows;
    *cols = p->cols;
}

static void step_escape(struct picture *p, unsigned char c)
{
    p->at = PIC_GROUND;
    if (c == '[') {
        p->at = PIC_SEQUENCE;
        p->leader = p->intermediate = 0;
        p->params = 0;
        p->bad = false;
    } else if (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_') {
        p->at = PIC_STRING;
        p->kind = (char)c;
        p->string_n = 0;
    } else if (c >= 0x20 && c <= 0x2f) {
        p->at = PIC_DESIGNATE;
        p->intermediate = (char)c;
        p->bad = false;
    } else {
        pic_escape(p, (char)c);
    }
}

static void step_sequence(struct picture *p, unsigned char c)
{
    if (c >= '0' && c <= ';') {
        if (p->params == 0) {
            p->param[0] = -1;
            p->sub[p->params++] = false;
        }
        int *n = &p->param[p->params - 1];
        if (c <= '9') {
            *n = (*n < 0 ? 0 : *n * 10) + (c - '0');
            *n = *n > PIC_NUMBER_MAX ? PIC_NUMBER_MAX : *n;
        } else if (p->params < PIC_PARAMS) {
            p->param[p->params] = -1;
            p->sub[p->params++] = c == ':';
        } else {
            p->bad = true;
        }
    } else if (c >= '<' && c <= '?') {
        p->bad |= p->leader || p->params;
        p->leader = (char)c;
    } else if (c <= 0x2f) {
        p->bad |= p->intermediate != 0;
        p->intermediate = (char)c;
    } else {
        p->at = PIC_GROUND;
        if (!p->bad) {
            pic_answer_sequence(p, (char)c);
            pic_sequence(p, (char)c);
        }
    }
}

/* A byte that is not text. */
static void step(struct picture *p, unsigned char c)
{
    if (p->at == PIC_STRING_ESC) {
        p->at = c == '\\' ? PIC_GROUND : PIC_ESCAPE;
        pic_string(p);
        pic_answer_string(p, false);
        if (c == '\\')
            return;
    }
    if (c == '\033') {
        p->at = p->at == PIC_STRING ? PIC_STRING_ESC : PIC_ESCAPE;
    } else if (c == '\030' || c == '\032') {
        p->at = PIC_GROUND;
    } else if (p->at == PIC_STRING) {
        if (c == '\a' && p->kind == ']') {
            p->at = PIC_GROUND;
            pic_string(p);
            pic_answer_string(p, true);
        } else if (p->string_n < sizeof(p->string)) {
            p->string[p->string_n++] = (char)c;
        }
    } else if (c < 0x20 || c == 0x7f) {
        pic_control(p, (char)c);
    } else if (c >= 0x80) {
        p->at = PIC_GROUND;
    } else if (p->at == PIC_ESCAPE) {
        step_escape(p, c);
    } else if (p->at == PIC_DESIGNATE) {
        p->bad |= c <= 0x2f;
        p->at = c <= 0x2f ? PIC_DESIGNATE : PIC_GROUND;
        if (p->at == PIC_GROUND && !p->bad)
            pic_designate(p, p->intermediate, (char)c);
    } else {
        step_sequence(p, c);
    }
}

/* Takes a byte of a character. Returns false if it does not belong to the character. */
static bool step_utf8(struct picture *p, unsigned char c)
{
    uint32_t cp;
    p->utf8[p->utf8_n++] = (char)c;
    struct str s = str_n(p->utf8, p->utf8_n);
    int n = utf8_decode(s, &cp);
    if (n == 0)
        return true;
    p->utf8_n = 0;
    if (n < 0)
        pic_char(p, REPLACEMENT);
    else if (cp >= 0xa0)
        pic_char(p, cp);
    return n > 0 || s.n == 1;
}

void picture_feed(struct picture *p, struct str bytes, struct buf *out)
{
    p->out = out;
    for (size_t i = 0; i < bytes.n;) {
        unsigned char c = (unsigned char)bytes.p[i];
        if (p->at == PIC_GROUND && (c >= 0x80 || p->utf8_n)) {
            i += step_utf8(p, c);
            continue;
        }
        if (p->at == PIC_GROUND && c >= 0x20 && c < 0x7f) {
            pic_char(p, c);
        } else {
            pic_text_done(p);
            step(p, c);
        }
        i++;
    }
    pic_text_done(p);
    pic_flush(p);
    p->out = NULL;
}

void picture_answer(struct picture *p, struct str bytes, struct buf *answers)
{
    struct buf plain = BUF_INIT(SIZE_MAX);
    p->answers = answers;
    for (size_t at = 0, seen, to = 0; at < bytes.n;) {
        size_t n = at < to ? 0 : pic_pass_lines(p, str_sub(bytes, at, bytes.n), &seen);
        at += n;
        if (n > 0)
            continue;
        to = at < to ? to : at + seen;
        struct str piece = str_sub(bytes, at, ANSWER_PIECE);
        picture_feed(p, piece, &plain);
        buf_reset(&plain);
        at += piece.n;
    }
    p->answers = NULL;
    buf_release(&plain);
}

void picture_resize(struct picture *p, int rows, int cols, struct buf *out)
{
    int had = p->cols;
    rows = clamp(rows, 1, p->most_rows);
    cols = clamp(cols, 2, p->most_cols);
    p->rows = rows;
    p->cols = cols;
    vterm_set_size(p->vt, rows, cols);
    if (cols > had)
        pic_no_tabs(p, had);
    p->m.top = 0;
    p->m.bottom = rows - 1;
    p->cluster_n = 0;
    p->out = out;
    p->phantom = false;
    VTermPos pos = pic_place(p);
    buf_addz(out, "\033[r");
    buf_addz(&p->model, "\033[r");
    pic_go(p, pos);
    pic_flush(p);
    p->out = NULL;
    if (!p->alt)
        return;
    /* Only libvterm knows the new content of the primary screen: reads it there. */
    VTermScreenCell *cell = xcalloc((size_t)rows * (size_t)cols, sizeof(*cell));
    bool *joined = xcalloc((size_t)rows, sizeof(*joined));
    for (int y = 0; y < rows; y++) {
        joined[y] = vterm_state_get_lineinfo(p->state, y)->continuation;
        for (int x = 0; x < cols; x++)
            vterm_screen_get_cell(p->cells, (VTermPos){y, x}, &cell[y * cols + x]);
    }
    struct str off = STR("\033[?1047l"), on = STR("\033[?1047h");
    vterm_input_write(p->vt, off.p, off.n);
    pic_read_under(p);
    vterm_input_write(p->vt, on.p, on.n);
    pic_paint_again(p, cell, joined);
    free(cell);
    free(joined);
}
