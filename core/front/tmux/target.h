/* SPDX-License-Identifier: MIT */
/* Targets, as tmux(1) has them under COMMANDS: target.c. */
#ifndef OD_FRONT_TMUX_TARGET_H
#define OD_FRONT_TMUX_TARGET_H

#include "front/tmux/own.h"

/* Where the request is: the session of its pane, or else the one that was used last, with
 * the current window and the active pane. Returns false if there is no session. */
bool target_current(struct tmux_client *c, unsigned flags, struct tm_place *out);
/*
 * Finds text, which is a 's'ession, 'w'indow or 'p'ane, seen from `from`; flags as those
 * of struct tm_command. Returns 0; -1 and appends the reason to why.
 */
int tm_target(struct tmux *t, const struct tm_place *from, const char *text, char type,
              unsigned flags, struct tm_place *out, struct buf *why);
/* Sets the targets of a command. Returns 0; -1 after an error message. */
int target_resolve(struct tm_item *it);
/* All of a place whose pane, window or session is known. */
void target_complete(struct tm_place *x);
/* An attached client by its name or terminal; NULL: none. */
struct tmux_client *target_client(const struct tmux *t, const char *name);

#endif
