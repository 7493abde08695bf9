/* SPDX-License-Identifier: MIT */
/*
 * What the screen answers to a program that asks its terminal: as a VT220 with ANSI
 * colours, of the name "od", whose cells have 8 by 16 pixels. DEC's VT220 and VT510
 * manuals (DA, DSR, DECRQM, DECRQSS) and xterm's "Control Sequences" (XTVERSION,
 * XTGETTCAP, OSC 10 to 12, window sizes) have the forms.
 *
 * kitty's question about its keyboard protocol (CSI ? u) has no answer, which means that
 * there is no such protocol: programs send CSI c behind it and take that answer as the
 * end of the wait.
 */
#include "term/picture_own.h"

#include <stdio.h>
#include <string.h>

enum { CELL_WIDTH = 8, CELL_HEIGHT = 16 };
enum { UNKNOWN, SET, RESET }; /* of a mode (DECRPM) */

static int first(const struct picture *p)
{
    return p->params > 0 && p->param[0] > 0 ? p->param[0] : 0;
}

static int state(bool on) { return on ? SET : RESET; }

static int mode_state(const struct picture *p, bool private_mode, int n)
{
    const struct pic_modes *m = &p->m;
    if (!private_mode)
        return n == 4 ? state(m->insert) : n == 20 ? state(m->newline) : UNKNOWN;
    switch (n) {
    case 1: return state(m->cursor_keys);
    case 5: return state(m->reverse);
    case 6: return state(m->origin);
    case 7: return state(!m->no_wrap);
    case 12: return state(!m->steady);
    case 25: return state(!m->hidden);
    case 47:
    case 1047:
    case 1049: return state(p->alt);
    case 1000:
    case 1002:
    case 1003: return state(m->mouse == n);
    case 1004: return state(m->focus);
    case 1005:
    case 1006:
    case 1015: return state(m->protocol == n);
    case 2004: return state(m->paste);
    }
    return UNKNOWN;
}

static void where(struct picture *p)
{
    pic_text_done(p);
    VTermPos pos = pic_place(p);
    int row = pos.row - (p->m.origin ? p->m.top : 0);
    if (p->leader == '?')
        buf_addf(p->answers, "\033[?%d;%d;1R", row + 1, pos.col + 1);
    else
        buf_addf(p->answers, "\033[%d;%dR", row + 1, pos.col + 1);
}

static void size(struct picture *p)
{
    switch (first(p)) {
    case 14:
        buf_addf(p->answers, "\033[4;%d;%dt", p->rows * CELL_HEIGHT,
                 p->cols * CELL_WIDTH);
        break;
    case 16: buf_addf(p->answers, "\033[6;%d;%dt", CELL_HEIGHT, CELL_WIDTH); break;
    case 18: buf_addf(p->answers, "\033[8;%d;%dt", p->rows, p->cols); break;
    case 19: buf_addf(p->answers, "\033[9;%d;%dt", p->rows, p->cols); break;
    }
}

void pic_answer_sequence(struct picture *p, char c)
{
    if (!p->answers)
        return;
    int n = first(p);
    if (p->intermediate == '$' && c == 'p' && (!p->leader || p->leader == '?'))
        buf_addf(p->answers, "\033[%s%d;%d$y", p->leader ? "?" : "", n,
                 mode_state(p, p->leader != 0, n));
    if (p->intermediate)
        return;
    if (c == 'c' && n == 0)
        buf_addz(p->answers, p->leader == '>'   ? "\033[>1;1;0c"
                             : p->leader == '=' ? "\033P!|00000000\033\\"
                             : p->leader        ? ""
                                                : "\033[?62;22c");
    else if (c == 'q' && p->leader == '>' && n == 0)
        buf_addz(p->answers, "\033P>|od\033\\");
    else if (c == 'n' && n == 5 && !p->leader)
        buf_addz(p->answers, "\033[0n");
    else if (c == 'n' && n == 6 && (!p->leader || p->leader == '?'))
        where(p);
    else if (c == 't' && !p->leader)
        size(p);
}

void pic_answer_string(struct picture *p, bool bell)
{
    static const struct {
        struct str asks;
        const char *is;
    } colours[] = {{STR("10;?"), "d0d0/d0d0/d0d0"},
                   {STR("11;?"), "0000/0000/0000"},
                   {STR("12;?"), "d0d0/d0d0/d0d0"}};
    struct str s = str_n(p->string, p->string_n);
    if (!p->answers)
        return;
    for (size_t i = 0; p->kind == ']' && i < sizeof(colours) / sizeof(colours[0]); i++) {
        if (str_eq(s, colours[i].asks))
            buf_addf(p->answers, "\033]%.2s;rgb:%s%s", s.p, colours[i].is,
                     bell ? "\a" : "\033\\");
    }
    if (p->kind == 'P' && (str_starts(s, STR("$q")) || str_starts(s, STR("+q"))))
        buf_addf(p->answers, "\033P0%cr\033\\", s.p[0]); /* not known here */
}
