/* SPDX-License-Identifier: MIT */
/*
 * Names, options and arguments of commands: see args.h. As tmux 3.3a, an option whose
 * value is missing at the end of the line counts as given, without a value.
 */
#include "front/tmux/lang/args.h"

#include <ctype.h>
#include <stdlib.h>

static int say(struct buf *why, const struct tmux_spec *spec, const char *what, int n)
{
    if (why)
        buf_addf(why, "command %s: too %s arguments (need at %s %d)", spec->name, what,
                 what[0] == 'f' ? "least" : "most", n);
    return -1;
}

static int say_flag(struct buf *why, const struct tmux_spec *spec, const char *what,
                    char letter)
{
    if (why) {
        buf_addf(why, "command %s: %s flag -", spec->name, what);
        buf_addc(why, letter);
    }
    return -1;
}

const struct tmux_spec *tmux_spec_find(const struct tmux_spec *table, size_t n,
                                       struct str name, struct buf *why)
{
    const struct tmux_spec *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct tmux_spec *s = &table[i];
        struct str whole = str_of(s->name);
        if (str_eq(whole, name) || (s->alias && str_eq(str_of(s->alias), name)))
            return s;
        if (!str_starts(whole, name))
            continue;
        found = s;
        count++;
    }
    if (count == 1)
        return found;
    if (!why)
        return NULL;
    buf_addf(why, "%s command: ", count ? "ambiguous" : "unknown");
    buf_adds(why, name);
    for (size_t i = 0, at = 0; count && i < n; i++) {
        if (!str_starts(str_of(table[i].name), name))
            continue;
        buf_addz(why, at++ ? ", " : ", could be: ");
        buf_addz(why, table[i].name);
    }
    return NULL;
}

/* One word of options, "-xyVALUE"; *i is its index. */
static int take_flags(struct tmux_args *a, int argc, char *const *argv, int *i,
                      struct buf *why)
{
    for (const char *p = argv[*i] + 1; *p; p++) {
        const char *known = *p == ':' ? NULL : strchr(a->spec->letters, *p);
        struct tmux_flag *flag = &a->flag[a->flags];
        if (*p == '?') {
            if (why)
                buf_addf(why, "usage: %s %s", a->spec->name, a->spec->usage);
            return -1;
        }
        if (!isalnum((unsigned char)*p))
            return say_flag(why, a->spec, "invalid", *p);
        if (!known)
            return say_flag(why, a->spec, "unknown", *p);
        if (a->flags == ARGS_FLAGS_MAX)
            return say_flag(why, a->spec, "too many times", *p);
        a->flags++;
        *flag = (struct tmux_flag){.letter = *p};
        if (known[1] != ':')
            continue;
        bool optional = known[2] == ':';
        if (p[1])
            flag->value = str_of(p + 1);
        else if (*i + 1 < argc && !(optional && argv[*i + 1][0] == '-')) {
            ++*i;
            flag->value = str_of(argv[*i]);
        }
        return 0;
    }
    return 0;
}

int tmux_args_parse(struct tmux_args *a, const struct tmux_spec *spec, int argc,
                    char *const *argv, struct buf *why)
{
    int i = 1;
    a->spec = spec;
    a->flags = 0;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (argv[i][1] == '-' && !argv[i][2]) {
            i++;
            break;
        }
        if (take_flags(a, argc, argv, &i, why) < 0)
            return -1;
    }
    if (i > argc)
        i = argc;
    a->word = argv + i;
    a->words = argc - i;
    a->first = i;
    if (a->words < spec->lower)
        return say(why, spec, "few", spec->lower);
    if (spec->upper >= 0 && a->words > spec->upper)
        return say(why, spec, "many", spec->upper);
    return 0;
}

int tmux_args_has(const struct tmux_args *a, char letter)
{
    int n = 0;
    for (int i = 0; i < a->flags; i++)
        n += a->flag[i].letter == letter;
    return n;
}

struct str tmux_args_get(const struct tmux_args *a, char letter)
{
    struct str value = {NULL, 0};
    for (int i = 0; i < a->flags; i++) {
        if (a->flag[i].letter == letter && a->flag[i].value.p)
            value = a->flag[i].value;
    }
    return value;
}

bool tmux_args_next(const struct tmux_args *a, char letter, int *at, struct str *value)
{
    for (; *at < a->flags; ++*at) {
        if (a->flag[*at].letter == letter && a->flag[*at].value.p) {
            *value = a->flag[(*at)++].value;
            return true;
        }
    }
    return false;
}

struct str tmux_args_word(const struct tmux_args *a, int i)
{
    return i >= 0 && i < a->words ? str_of(a->word[i]) : (struct str){NULL, 0};
}

/* As strtonum(3) of OpenBSD: blanks before it and a sign are fine. */
int tmux_number(struct str s, int64_t min, int64_t max, int64_t *out, const char **cause)
{
    size_t i = 0;
    uint64_t v = 0;
    bool minus, over = false;
    while (i < s.n && isspace((unsigned char)s.p[i]))
        i++;
    minus = i < s.n && s.p[i] == '-';
    i += i < s.n && (s.p[i] == '-' || s.p[i] == '+');
    *cause = "invalid";
    if (i == s.n)
        return -1;
    for (; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return -1;
        unsigned digit = (unsigned)(s.p[i] - '0');
        if (v > ((uint64_t)INT64_MAX - digit) / 10)
            over = true;
        else
            v = v * 10 + digit;
    }
    if (minus ? over || -(int64_t)v < min : !over && (int64_t)v < min) {
        *cause = "too small";
        return -1;
    }
    if (minus ? -(int64_t)v > max : over || (int64_t)v > max) {
        *cause = "too large";
        return -1;
    }
    *out = minus ? -(int64_t)v : (int64_t)v;
    *cause = NULL;
    return 0;
}

int tmux_percentage(struct str s, int64_t min, int64_t max, int64_t whole, int64_t *out,
                    const char **cause)
{
    int64_t part;
    if (s.n == 0) {
        *cause = "empty";
        return -1;
    }
    if (s.p[s.n - 1] != '%')
        return tmux_number(s, min, max, out, cause);
    if (tmux_number(str_sub(s, 0, s.n - 1), 0, 100, &part, cause) < 0)
        return -1;
    part = whole * part / 100;
    if (part < min || part > max) {
        *cause = part < min ? "too small" : "too large";
        return -1;
    }
    *out = part;
    return 0;
}
