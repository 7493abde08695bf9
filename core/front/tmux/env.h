/* SPDX-License-Identifier: MIT */
/* A list of variables, sorted by name; tmux keeps one for the server and one for each
 * session. */
#ifndef OD_FRONT_TMUX_ENV_H
#define OD_FRONT_TMUX_ENV_H

#include "base/buf.h"
#include "base/json.h"

struct env_var {
    char *name,
        *value;  /* owned; value NULL: removed from what comes from the other list */
    bool hidden; /* not passed to programs */
};

struct env {
    struct env_var *v; /* owned */
    size_t n, cap;
};

void env_release(struct env *e);
/* value.p NULL: a removed one. */
void env_set(struct env *e, struct str name, struct str value, bool hidden);
void env_unset(struct env *e, struct str name);
/* NULL: it is not there. */
const struct env_var *env_find(const struct env *e, struct str name);
/* Copies all variables of from. */
void env_copy(struct env *to, const struct env *from);
/* Appends NAME=VALUE, each ending in NUL, of those that programs get. */
void env_put(const struct env *e, struct buf *out);
/* As [NAME, VALUE or null, hidden], and back. */
struct json *env_pack(const struct env *e);
void env_unpack(struct env *e, const struct json *j);

#endif
