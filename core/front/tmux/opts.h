/* SPDX-License-Identifier: MIT */
/* Sets of options (lang/options.h), by C strings, and as texts that can be kept. */
#ifndef OD_FRONT_TMUX_OPTS_H
#define OD_FRONT_TMUX_OPTS_H

#include "base/json.h"
#include "front/tmux/lang/options.h"

/* Of parents, too; "" if there is no such value. Valid until the set changes. */
const char *opts_text(const struct tmux_options *o, const char *name);
/* A number, a switch (1 or 0), or the place of a choice; 0 if there is none. */
int64_t opts_number(const struct tmux_options *o, const char *name);
/* Item i of an array, from 0 on; NULL: there are no more. */
const char *opts_item(const struct tmux_options *o, const char *name, size_t i);
/* Sets one without a check of who asks. Returns -1 and appends to why, which may be NULL.
 */
int opts_set(struct tmux_options *o, const char *name, const char *value,
             struct buf *why);
/* All that is set in o itself, and back. scope: whose. */
struct json *opts_pack(const struct tmux_options *o, enum tmux_option_scope scope);
void opts_unpack(struct tmux_options *o, const struct json *j);

#endif
