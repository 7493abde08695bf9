/* SPDX-License-Identifier: MIT */
/*
 * The parser, and the answer. See term.h for what they are for; act.c
 * does what is parsed here.
 *
 * The grammar is that of ECMA-48 and xterm's documents, seven-bit forms only:
 * C1 controls do not occur in UTF-8 text, and those that are encoded in it are
 * dropped. Every step looks at one byte (or at a run of bytes of one kind that
 * are one by one the same), so any split of the input gives the same result.
 */
#include "term/own.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdlib.h>

#define NUMBER_MAX TERM_LINE_MAX /* larger numbers mean this one */
#define REPLACEMENT 0xfffd

struct term *term_new(const struct term_opts *o)
{
    struct term *t = xnew(struct term);
    line_init(&t->line, o);
    return t;
}

void term_free(struct term *t)
{
    if (!t)
        return;
    screen_free(t->screen);
    line_release(&t->line);
    free(t);
}

static void step_escape(struct term *t, unsigned char c)
{
    t->state = GROUND;
    t->osc = c == ']';
    switch (c) {
    case '[':
        t->state = SEQUENCE;
        t->leader = t->intermediate = 0;
        t->params = 0;
        break;
    case ']':
    case 'P':
    case 'X':
    case '^':
    case '_':
        t->state = STRING;
        break;
    default:
        if (c >= 0x20 && c <= 0x2f) {
            t->state = DESIGNATE;
            t->intermediate = (char)c;
        } else {
            act_escape(t, (char)c);
        }
    }
}

static void step_designate(struct term *t, unsigned char c)
{
    if (c <= 0x2f)
        return; /* more intermediates: not supported either */
    t->state = GROUND;
    if (t->intermediate == '(' || t->intermediate == ')')
        t->graphics[t->intermediate == ')'] = c == '0';
}

static void step_sequence(struct term *t, unsigned char c)
{
    if (c >= '0' && c <= ';') {
        if (t->params == 0)
            t->param[t->params++] = -1;
        long *p = &t->param[t->params - 1];
        if (c <= '9') {
            *p = (*p < 0 ? 0 : *p * 10) + (c - '0');
            if (*p > NUMBER_MAX)
                *p = NUMBER_MAX;
        } else if (t->params < PARAMS_MAX) {
            t->param[t->params++] = -1;
        }
    } else if (c >= '<' && c <= '?') {
        t->leader = (char)c;
    } else if (c <= 0x2f) {
        t->intermediate = (char)c;
    } else {
        t->state = GROUND;
        act_sequence(t, (char)c);
    }
}

/* A byte that is not text. */
static void step(struct term *t, unsigned char c)
{
    if (t->state == STRING_ESC) {
        t->state = c == '\\' ? GROUND : ESCAPE; /* a new one ends the old */
        if (c == '\\')
            return;
    }
    if (c == '\033') {
        t->state = t->state == STRING ? STRING_ESC : ESCAPE;
    } else if (c == '\030' || c == '\032') {
        t->state = GROUND; /* CAN and SUB end anything */
    } else if (t->state == STRING) {
        if (c == '\a' && t->osc)
            t->state = GROUND;
    } else if (c < 0x20 || c == 0x7f) {
        act_control(t, (char)c); /* also in the middle of a sequence */
    } else if (c >= 0x80) {
        t->state = GROUND; /* a sequence is ASCII: this one is broken */
    } else if (t->state == ESCAPE) {
        step_escape(t, c);
    } else if (t->state == DESIGNATE) {
        step_designate(t, c);
    } else {
        step_sequence(t, c);
    }
}

/* Takes the whole characters at p and returns their bytes. Most text that is not
 * ASCII goes this way, which is faster than byte by byte. */
static size_t put_utf8(struct term *t, const char *p, size_t n)
{
    size_t i = 0;
    uint32_t cp;
    while (i < n && (unsigned char)p[i] >= 0x80) {
        int len = utf8_decode(str_n(p + i, n - i), &cp);
        if (len <= 0)
            break;
        i += (size_t)len;
        t->line.at = t->line.start + (size_t)len;
        if (cp >= 0xa0)
            act_char(t, cp);
        t->line.start = t->line.at;
    }
    return i;
}

/* Takes a byte of a character. Returns false if it does not belong to the character. */
static bool step_utf8(struct term *t, unsigned char c)
{
    t->utf8[t->utf8_n++] = (char)c;
    uint32_t cp;
    struct str s = str_n(t->utf8, t->utf8_n);
    int n = utf8_decode(s, &cp);
    if (n == 0)
        return true;
    bool took = n > 0 || s.n == 1;
    t->utf8_n = 0;
    t->line.at -= !took;
    if (n < 0)
        act_char(t, REPLACEMENT);
    else if (cp >= 0xa0)
        act_char(t, cp);
    return took;
}

/* Returns the number of bytes of printable ASCII at p. */
static size_t text_run(const char *p, size_t n)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        uint64_t w, low, del;
        memcpy(&w, p + i, 8);
        /* The high bit of a byte: below 0x20, or 0x7f, or above. Borrows and
         * carries only come from bytes that are marked themselves. */
        low = (w - ones * 0x20) & ~w;
        del = w + ones;
        if ((low | del | w) & (ones << 7))
            break;
    }
    while (i < n && p[i] >= 0x20 && p[i] < 0x7f)
        i++;
    return i;
}

/* Returns the number of bytes at p that belong to a string, and are left out. */
static size_t string_run(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] != '\033' && p[i] != '\a' && p[i] != '\030' &&
           p[i] != '\032')
        i++;
    return i;
}

void term_feed(struct term *t, struct str bytes)
{
    struct line_model *m = &t->line;
    const char *p = bytes.p, *end = p + bytes.n;
    while (p < end) {
        size_t n = 0, left = (size_t)(end - p);
        m->start = t->offset;
        if (t->state == STRING) {
            n = string_run(p, left);
        } else if (t->state == GROUND && t->utf8_n == 0) {
            n = text_run(p, left);
            m->at = t->offset + n;
            if (n > 0)
                act_ascii(t, p, n);
            else
                n = put_utf8(t, p, left);
        }
        if (n > 0) {
            p += n;
            t->offset += n;
            continue;
        }
        unsigned char c = (unsigned char)*p;
        m->start = t->offset - t->utf8_n;
        m->at = t->offset + 1;
        if (t->state == GROUND && (c >= 0x80 || t->utf8_n)) {
            if (!step_utf8(t, c))
                continue;
        } else {
            step(t, c);
        }
        p++;
        t->offset++;
    }
}

/* ---- the answer ---- */

struct showing {
    struct text *text;
    struct text_piece *open;
    uint64_t to;
};

static void show_line(void *arg, struct str bytes, uint64_t from, bool newline)
{
    struct showing *s = arg;
    text_add(s->text, bytes.p, bytes.n);
    if (newline)
        text_end(s->text, from, s->to, false, true);
    *s->open = (struct text_piece){.from = from, .to = s->to};
}

int term_text(struct term *t, struct buf *out, struct term_text *info,
              void (*marker)(struct buf *out, const struct term_text *info,
                             void *arg),
              void *arg)
{
    struct line_model *m = &t->line;
    struct term_text nobody_asked;
    if (!info)
        info = &nobody_asked;
    *info = (struct term_text){.alt_screen = t->alt};
    struct text_piece open;
    struct text_mark mark = line_show(m, &open);
    if (t->screen) {
        if (m->text.win.n > m->text.cur)
            text_end(&m->text, open.from, open.to, open.same, true);
        struct showing s = {&m->text, &open, m->at};
        screen_each(t->screen, show_line, &s);
    }
    int rc = text_show(&m->text, &open, out, info, marker, arg);
    line_show_end(m, &mark);
    return rc;
}
