/* SPDX-License-Identifier: MIT */
/* Formats: what is expanded, and where it is seen from: vars.c. */
#ifndef OD_FRONT_TMUX_VARS_H
#define OD_FRONT_TMUX_VARS_H

#include "front/tmux/own.h"

struct tm_vars {
    struct tmux *t;
    struct tmux_client *c; /* that asks; NULL: none */
    struct tm_place at;    /* what is unknown is NULL */
    const struct tm_buffer *buffer;
    const struct tm_command *command;
    const char *hook;
    unsigned line; /* of a list */
    bool times;    /* strftime(3) forms are expanded, too */
};

/* Appends the expansion of a format. */
void vars_expand(const struct tm_vars *v, const char *format, struct buf *out);
void vars_expand_str(const struct tm_vars *v, struct str format, struct buf *out);
/* The same for a command's target and client; the caller frees. */
char *tm_expand(struct tm_item *it, const char *format, const struct tm_place *at);
char *tm_expand_times(struct tm_item *it, const char *format, const struct tm_place *at);
/* Appends the value of a variable. Returns false if there is none. */
bool vars_get(const struct tm_vars *v, struct str name, struct buf *out);
/* Appends "name=value" lines of all variables that have a value. */
void vars_list(const struct tm_vars *v,
               void (*fn)(void *arg, const char *name, struct str), void *arg);
/* As formats know truth: not empty and not "0". */
bool vars_true(struct str value);

#endif
