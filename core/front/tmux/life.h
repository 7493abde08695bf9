/* SPDX-License-Identifier: MIT */
/* The life of all that this room has: life.c. */
#ifndef OD_FRONT_TMUX_LIFE_H
#define OD_FRONT_TMUX_LIFE_H

#include "base/json.h"

struct engine;
struct tmux;

/* own: the server was started for tmux, and ends with its last session. */
struct tmux *tmux_new(struct engine *en, bool own);
/* Takes up the states of the previous worker, before the engine resumes. */
void tmux_load(struct tmux *t);
/* Follows the programs of panes again, after it. */
void tmux_start(struct tmux *t);
void tmux_close(struct tmux *t, bool another);
/* NULL: there is nothing to show. */
struct json *tmux_status(const struct tmux *t);

#endif
