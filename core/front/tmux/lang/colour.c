/* SPDX-License-Identifier: MIT */
/* Names of colours and styles, tmux(1) "STYLES": see options.h and format.h. */
#include "front/tmux/lang/args.h"
#include "front/tmux/lang/own.h"

#include <strings.h>

static const char *const names[] = {"black", "red",     "green", "yellow",
                                    "blue",  "magenta", "cyan",  "white"};
enum {
    NAMES = 8,
    BRIGHT = 90,
    DEFAULT = 8,
    TERMINAL = 9,
    PALETTE = 1 << 24,
    RGB = 1 << 25
};

static bool is(struct str s, const char *z)
{
    return s.n == strlen(z) && strncasecmp(s.p, z, s.n) == 0;
}

static int hex(struct str s)
{
    int v = 0;
    for (size_t i = 0; i < s.n; i++) {
        int c = s.p[i] | 0x20;
        if (s.p[i] >= '0' && s.p[i] <= '9')
            v = v * 16 + s.p[i] - '0';
        else if (c >= 'a' && c <= 'f')
            v = v * 16 + c - 'a' + 10;
        else
            return -1;
    }
    return v;
}

int tmux_colour(struct str s)
{
    int64_t n;
    const char *cause;
    if (s.n == 7 && s.p[0] == '#') {
        int rgb = hex(str_sub(s, 1, 6));
        return rgb < 0 ? -1 : rgb | RGB;
    }
    if ((s.n > 5 && is(str_sub(s, 0, 6), "colour")) ||
        (s.n > 4 && is(str_sub(s, 0, 5), "color"))) {
        struct str number = str_sub(s, s.p[4] == 'u' || s.p[4] == 'U' ? 6 : 5, s.n);
        return tmux_number(number, 0, 255, &n, &cause) == 0 ? (int)n | PALETTE : -1;
    }
    for (int i = 0; i < NAMES; i++) {
        if (is(s, names[i]) || (s.n == 1 && s.p[0] == '0' + i))
            return i;
        if (s.n > 6 && is(str_sub(s, 0, 6), "bright") && is(str_sub(s, 6, s.n), names[i]))
            return BRIGHT + i;
        if (s.n == 2 && s.p[0] == '9' && s.p[1] == '0' + i)
            return BRIGHT + i;
    }
    if (is(s, "default"))
        return DEFAULT;
    return is(s, "terminal") ? TERMINAL : tmux_colour_x11(s);
}

/* The palette of xterm: 16 colours, a cube of 6 × 6 × 6, 24 greys. */
static int palette(int n)
{
    static const int first[16] = {0x000000, 0x800000, 0x008000, 0x808000,
                                  0x000080, 0x800080, 0x008080, 0xc0c0c0,
                                  0x808080, 0xff0000, 0x00ff00, 0xffff00,
                                  0x0000ff, 0xff00ff, 0x00ffff, 0xffffff};
    static const int step[6] = {0, 0x5f, 0x87, 0xaf, 0xd7, 0xff};
    if (n < 16)
        return first[n];
    if (n < 232) {
        n -= 16;
        return step[n / 36] << 16 | step[n / 6 % 6] << 8 | step[n % 6];
    }
    return (8 + 10 * (n - 232)) * 0x010101;
}

int tmux_colour_rgb(int colour)
{
    if (colour < 0)
        return -1;
    if (colour & RGB)
        return colour & 0xffffff;
    if (colour & PALETTE)
        return palette(colour & 255);
    if (colour < 8)
        return palette(colour);
    return colour >= BRIGHT ? palette(8 + colour - BRIGHT) : -1;
}

void tmux_colour_print(struct buf *out, int colour)
{
    if (colour & RGB)
        buf_addf(out, "#%06x", colour & 0xffffff);
    else if (colour & PALETTE)
        buf_addf(out, "colour%d", colour & 255);
    else if (colour == DEFAULT || colour == TERMINAL)
        buf_addz(out, colour == DEFAULT ? "default" : "terminal");
    else
        buf_addf(out, "%s%s", colour >= BRIGHT ? "bright" : "",
                 names[colour >= BRIGHT ? colour - BRIGHT : colour]);
}

bool tmux_colour_valid(struct str s) { return tmux_colour(s) >= 0; }

/* Attributes divided by bars. */
static bool are_attributes(struct str s)
{
    static const char *const known[] = {"acs",
                                        "bright",
                                        "bold",
                                        "dim",
                                        "underscore",
                                        "blink",
                                        "reverse",
                                        "hidden",
                                        "italics",
                                        "strikethrough",
                                        "double-underscore",
                                        "curly-underscore",
                                        "dotted-underscore",
                                        "dashed-underscore",
                                        "overline"};
    if (is(s, "default") || is(s, "none"))
        return true;
    if (!s.n || s.p[0] == '|' || s.p[s.n - 1] == '|')
        return false;
    while (s.n) {
        struct str one = str_cut(&s, '|');
        bool found = !one.n;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            found = found || is(one, known[i]);
        if (!found)
            return false;
    }
    return true;
}

/* The rest of s after a beginning, in any case. Returns false if it begins otherwise. */
static bool after(struct str s, const char *begin, struct str *rest)
{
    size_t n = strlen(begin);
    *rest = str_sub(s, n, s.n);
    return s.n > n && is(str_sub(s, 0, n), begin);
}

/* A name and, after a bar, a number; names that are not known are fine. */
static bool is_range(struct str s)
{
    int64_t n;
    const char *cause;
    long bar = str_chr(s, '|');
    struct str name = bar < 0 ? s : str_sub(s, 0, (size_t)bar);
    if (bar < 0)
        return !is(name, "window");
    return !is(name, "left") && !is(name, "right") &&
           tmux_number(str_sub(s, (size_t)bar + 1, s.n), 0, UINT32_MAX, &n, &cause) == 0;
}

static bool is_one_of(struct str s, const char *words)
{
    struct str rest = str_of(words);
    while (rest.n) {
        struct str word = str_cut(&rest, ' ');
        if (word.n == s.n && strncasecmp(word.p, s.p, s.n) == 0)
            return true;
    }
    return false;
}

static bool style_part(struct str s)
{
    struct str rest;
    if (is_one_of(s, "default ignore noignore push-default pop-default nolist norange "
                     "noalign none"))
        return true;
    if (after(s, "list=", &rest))
        return is_one_of(rest, "on focus left-marker right-marker");
    if (after(s, "range=", &rest))
        return is_range(rest);
    if (after(s, "align=", &rest))
        return is_one_of(rest, "left centre right absolute-centre");
    if (after(s, "fill=", &rest) || after(s, "fg=", &rest) || after(s, "bg=", &rest))
        return tmux_colour_valid(rest);
    return are_attributes(after(s, "no", &rest) ? rest : s);
}

bool tmux_style_valid(struct str s)
{
    while (s.n) {
        size_t n = 0;
        while (n < s.n && !(s.p[n] && strchr(" ,\n", s.p[n])))
            n++;
        if (n && !style_part(str_sub(s, 0, n)))
            return false;
        s = str_sub(s, n + 1, s.n);
    }
    return true;
}
