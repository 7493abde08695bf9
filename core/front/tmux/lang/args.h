/* SPDX-License-Identifier: MIT */
/*
 * Names, option letters and positional arguments of tmux's commands, and tmux's errors
 * about them. A caller has one table of struct tmux_spec.
 */
#ifndef OD_FRONT_TMUX_LANG_ARGS_H
#define OD_FRONT_TMUX_LANG_ARGS_H

#include "base/buf.h"
#include "base/str.h"

enum { ARGS_FLAGS_MAX = 256 }; /* options of one command, repeated ones too */

/* What a command takes. Rows of a constant table. */
struct tmux_spec {
    const char *name;  /* "new-session" */
    const char *alias; /* "new", or NULL */
    /* Letters; one with ':' has a value, with '::' one that may be left out. */
    const char *letters;
    int lower, upper;  /* number of positional arguments; upper -1: any number */
    const char *usage; /* as list-commands prints it after the name */
};

/*
 * Finds a command by its name, its alias, or an unambiguous beginning of its name.
 * Returns NULL with "unknown command: X" or "ambiguous command: X, could be: a, b" in
 * why (which may be NULL).
 */
const struct tmux_spec *tmux_spec_find(const struct tmux_spec *table, size_t n,
                                       struct str name, struct buf *why);

/* One option as given. Borrowed from the words. */
struct tmux_flag {
    char letter;
    struct str value; /* p is NULL: without a value */
};

/* The words of one command, taken apart. Borrows the words, owns nothing. */
struct tmux_args {
    const struct tmux_spec *spec;
    struct tmux_flag flag[ARGS_FLAGS_MAX];
    int flags;
    char *const *word; /* positional arguments; word[words] is NULL */
    int words;
    int first; /* index of word[0] in argv, for struct tmux_command.braces */
};

/*
 * Takes argv apart, argv[0] being the command's name. Returns 0; -1 with tmux's message
 * in why: "command NAME: unknown flag -X", "command NAME: -X expects an argument",
 * "command NAME: too few arguments (need at least N)".
 */
int tmux_args_parse(struct tmux_args *a, const struct tmux_spec *spec, int argc,
                    char *const *argv, struct buf *why);

/* How often the option was given. */
int tmux_args_has(const struct tmux_args *a, char letter);
/* The value that was given last; p is NULL if there is none. */
struct str tmux_args_get(const struct tmux_args *a, char letter);
/* Values one after another: *at begins with 0. False after the last. */
bool tmux_args_next(const struct tmux_args *a, char letter, int *at, struct str *value);
/* Position arguments; p is NULL beyond the last. */
struct str tmux_args_word(const struct tmux_args *a, int i);

/*
 * A whole number between min and max, as tmux reads it. Returns 0 and sets *out; -1 with
 * "too small", "too large" or "invalid" in *cause.
 */
int tmux_number(struct str s, int64_t min, int64_t max, int64_t *out, const char **cause);
/* The same for a number, or "N%" as that part of whole (tmux's -l, -x, -y). */
int tmux_percentage(struct str s, int64_t min, int64_t max, int64_t whole, int64_t *out,
                    const char **cause);

#endif
