/* SPDX-License-Identifier: MIT */
/* Rows in their kept form (term/picture.h) as the text of capture-pane. */
#include "front/tmux/screen.h"

#include <string.h>

enum { CODES_MAX = 16 };

static const struct {
    unsigned attr;
    int code;
} codes[] = {{PICTURE_BOLD, 1},     {PICTURE_FAINT, 2},  {PICTURE_ITALIC, 3},
             {PICTURE_UNDER, 4},    {PICTURE_BLINK, 5},  {PICTURE_REVERSE, 7},
             {PICTURE_HIDDEN, 8},   {PICTURE_STRIKE, 9}, {PICTURE_UNDER_2, 42},
             {PICTURE_UNDER_3, 43}, {PICTURE_OVER, 53}};

static void put_escape(struct buf *out, const struct capture *c)
{
    buf_addz(out, c->flags & CAPTURE_OCTAL ? "\\033[" : "\033[");
}

/* The numbers of a colour. Returns how many. */
static int colour_codes(unsigned colour, int base, int n[5])
{
    if (colour & PICTURE_256) {
        n[0] = base + 8;
        n[1] = 5;
        n[2] = (int)(colour & 0xff);
        return 3;
    }
    if (colour & PICTURE_RGB) {
        n[0] = base + 8;
        n[1] = 2;
        n[2] = (int)(colour >> 16 & 0xff);
        n[3] = (int)(colour >> 8 & 0xff);
        n[4] = (int)(colour & 0xff);
        return 5;
    }
    if (colour <= 7)
        n[0] = base + (int)colour;
    else
        n[0] = colour == PICTURE_NO_COLOUR ? base + 9 : base - 30 + (int)colour;
    return 1;
}

static void put_colour(struct buf *out, const struct capture *c, unsigned colour,
                       unsigned before, int base, bool reset)
{
    int n[5], count = colour_codes(colour, base, n);
    if (!reset && colour == before)
        return;
    put_escape(out, c);
    for (int i = 0; i < count; i++)
        buf_addf(out, i ? ";%d" : "%d", n[i]);
    buf_addc(out, 'm');
}

/* The differences between two pens, as tmux writes them. */
static void put_pen(struct buf *out, struct capture *c, unsigned attr, unsigned fg,
                    unsigned bg)
{
    int n[CODES_MAX], count = 0;
    unsigned last = c->attr;
    size_t all = sizeof(codes) / sizeof(codes[0]);
    bool reset = (last & ~attr) != 0;
    if (reset) {
        n[count++] = 0;
        last = 0;
    }
    for (size_t i = 0; i < all; i++) {
        if ((attr & codes[i].attr) && !(last & codes[i].attr))
            n[count++] = codes[i].code;
    }
    if (count > 0)
        put_escape(out, c);
    for (int i = 0; i < count; i++) {
        if (n[i] < 10)
            buf_addf(out, i ? ";%d" : "%d", n[i]);
        else
            buf_addf(out, i ? ";%d:%d" : "%d:%d", n[i] / 10, n[i] % 10);
    }
    if (count > 0)
        buf_addc(out, 'm');
    put_colour(out, c, fg, c->fg, 30, reset);
    put_colour(out, c, bg, c->bg, 40, reset);
    c->attr = attr;
    c->fg = fg;
    c->bg = bg;
}

/* Reads ESC ATTRIBUTES;FOREGROUND;BACKGROUND m at s. Returns its length. */
static size_t read_pen(struct str s, unsigned v[3])
{
    size_t i = 1;
    for (int k = 0; k < 3; k++) {
        v[k] = 0;
        for (; i < s.n && s.p[i] != ';' && s.p[i] != 'm'; i++)
            v[k] = v[k] * 16 +
                   (unsigned)(s.p[i] <= '9' ? s.p[i] - '0' : s.p[i] - 'a' + 10);
        i++;
    }
    return i < s.n ? i : s.n;
}

static void put_text(struct buf *out, const struct capture *c, struct str s)
{
    if (!(c->flags & CAPTURE_OCTAL) || !memchr(s.p, '\\', s.n)) {
        buf_adds(out, s);
        return;
    }
    for (size_t i = 0; i < s.n; i++)
        buf_addz(out, s.p[i] == '\\' ? "\\\\" : (char[2]){s.p[i], 0});
}

static void put_row(struct buf *out, struct capture *c, struct str form, bool wrapped)
{
    size_t begin = out->n;
    bool plain = !memchr(form.p ? form.p : "", '\033', form.n);
    /* Each row begins with a plain pen. */
    unsigned pen[3] = {0, PICTURE_NO_COLOUR, PICTURE_NO_COLOUR};
    for (size_t i = 0; i < form.n;) {
        const char *p = form.p + i;
        if (*p == '\033')
            i += read_pen(str_sub(form, i, form.n), pen);
        size_t left = form.n - i;
        const char *next = plain || !left ? NULL : memchr(form.p + i, '\033', left);
        size_t n = next ? (size_t)(next - (form.p + i)) : left;
        if (n > 0 && c->flags & CAPTURE_CODES)
            put_pen(out, c, pen[0], pen[1], pen[2]);
        put_text(out, c, str_sub(form, i, n));
        i += n;
    }
    if (!(c->flags & (CAPTURE_BLANKS | CAPTURE_JOIN))) {
        size_t n = out->n;
        while (n > begin && out->p[n - 1] == ' ')
            n--;
        buf_truncate(out, n);
    }
    if (!wrapped || !(c->flags & CAPTURE_JOIN))
        buf_addc(out, '\n');
}

void capture_begin(struct capture *c, struct pane_screen *s, unsigned flags, int64_t from,
                   int64_t to)
{
    *c = (struct capture){.s = s,
                          .flags = flags,
                          .next = from,
                          .last = to,
                          .attr = 0,
                          .fg = PICTURE_NO_COLOUR,
                          .bg = PICTURE_NO_COLOUR,
                          .row = BUF_INIT(SIZE_MAX)};
    if (from < 0) {
        history_read(&c->rows, &s->history, s->history.rows - (uint64_t)-from);
        c->reading = true;
    }
}

bool capture_some(struct capture *c, struct buf *out, size_t most)
{
    size_t end = out->n + most;
    bool wrapped;
    struct str form;
    while (c->next <= c->last && out->n < end && !buf_full(out)) {
        if (c->next < 0 && history_next(&c->rows, &form, &wrapped)) {
            put_row(out, c, form, wrapped);
        } else if (c->next < 0) {
            c->next = -1;
        } else {
            buf_reset(&c->row);
            picture_row(c->s->pic, (int)c->next, c->flags & CAPTURE_BENEATH, &c->row,
                        &wrapped);
            put_row(out, c, buf_str(&c->row), wrapped);
        }
        c->next++;
    }
    return c->next <= c->last;
}

void capture_end(struct capture *c)
{
    if (c->reading)
        history_read_end(&c->rows);
    c->reading = false;
    buf_release(&c->row);
}
