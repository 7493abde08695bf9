/* SPDX-License-Identifier: MIT */
/* Keys as bytes: see termkey.h. The bytes are xterm's. */
#include "term/termkey.h"

#include "base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SHIFT = 1, META = 2, CTRL = 4 };

static const struct {
    const char *name, *bytes;
} plain_keys[] = {{"Enter", "\r"},       {"Return", "\r"},   {"Tab", "\t"},
                  {"Escape", "\033"},    {"Esc", "\033"},    {"Space", " "},
                  {"Backspace", "\177"}, {"BSpace", "\177"}, {"BTab", "\033[Z"}};

/* CSI number ~, or CSI letter and SS3 letter. */
static const struct {
    const char *name;
    int number;
    char letter;
    bool ss3; /* always, and not in application mode only */
} long_keys[] = {{"Up", 0, 'A', 0},     {"Down", 0, 'B', 0},   {"Right", 0, 'C', 0},
                 {"Left", 0, 'D', 0},   {"Home", 0, 'H', 0},   {"End", 0, 'F', 0},
                 {"F1", 0, 'P', 1},     {"F2", 0, 'Q', 1},     {"F3", 0, 'R', 1},
                 {"F4", 0, 'S', 1},     {"Insert", 2, '~', 0}, {"IC", 2, '~', 0},
                 {"Delete", 3, '~', 0}, {"DC", 3, '~', 0},     {"PageUp", 5, '~', 0},
                 {"PgUp", 5, '~', 0},   {"PPage", 5, '~', 0},  {"PageDown", 6, '~', 0},
                 {"PgDn", 6, '~', 0},   {"NPage", 6, '~', 0},  {"F5", 15, '~', 0},
                 {"F6", 17, '~', 0},    {"F7", 18, '~', 0},    {"F8", 19, '~', 0},
                 {"F9", 20, '~', 0},    {"F10", 21, '~', 0},   {"F11", 23, '~', 0},
                 {"F12", 24, '~', 0}};

static bool is(struct str name, const char *key)
{
    return name.n == strlen(key) && strncasecmp(name.p, key, name.n) == 0;
}

/* Cuts the prefixes off. "^x" is C-x, and "^" itself is a character. */
static int take_modifiers(struct str *name)
{
    int mods = 0;
    while (name->n >= 3 && name->p[1] == '-') {
        char c = name->p[0] & ~0x20;
        int mod = c == 'C' ? CTRL : c == 'M' ? META : c == 'S' ? SHIFT : 0;
        if (!mod)
            break;
        mods |= mod;
        *name = str_sub(*name, 2, name->n);
    }
    if (name->n == 2 && name->p[0] == '^') {
        mods |= CTRL;
        *name = str_sub(*name, 1, name->n);
    }
    return mods;
}

/* A single character with C- or M-. */
static size_t character(char out[TERMKEY_MAX], struct str c, int mods)
{
    size_t n = 0;
    uint32_t cp;
    if (!(mods & (CTRL | META)) || (mods & SHIFT) || utf8_decode(c, &cp) != (int)c.n)
        return 0;
    if ((mods & CTRL) && c.n > 1)
        return 0;
    if (mods & META)
        out[n++] = '\033';
    memcpy(out + n, c.p, c.n);
    if (mods & CTRL)
        out[n] = c.p[0] == '?' ? 0x7f : (char)(c.p[0] & 0x1f);
    return n + c.n;
}

static size_t plain_key(char out[TERMKEY_MAX], const char *bytes, int mods)
{
    size_t n = 0;
    if (bytes[0] == '\t' && (mods & SHIFT))
        bytes = "\033[Z";
    if (mods & META)
        out[n++] = '\033';
    memcpy(out + n, bytes, strlen(bytes));
    if (bytes[0] == ' ' && (mods & CTRL))
        out[n] = 0;
    return n + strlen(bytes);
}

size_t termkey(char out[TERMKEY_MAX], struct str name, bool application)
{
    int mods = take_modifiers(&name), n;
    for (size_t i = 0; i < sizeof(plain_keys) / sizeof(plain_keys[0]); i++) {
        if (is(name, plain_keys[i].name))
            return plain_key(out, plain_keys[i].bytes, mods);
    }
    for (size_t i = 0; i < sizeof(long_keys) / sizeof(long_keys[0]); i++) {
        int number = long_keys[i].number;
        char letter = long_keys[i].letter;
        if (!is(name, long_keys[i].name))
            continue;
        if (mods)
            n = snprintf(out, TERMKEY_MAX, "\033[%d;%d%c", number ? number : 1, mods + 1,
                         letter);
        else if (number)
            n = snprintf(out, TERMKEY_MAX, "\033[%d%c", number, letter);
        else
            n = snprintf(out, TERMKEY_MAX, "\033%c%c",
                         long_keys[i].ss3 || application ? 'O' : '[', letter);
        return (size_t)n;
    }
    return character(out, name, mods);
}
