/* SPDX-License-Identifier: MIT */
/* Commands of sessions as actions: of od exec, and of programs with `until` (run.c). */
#ifndef OD_ACTION_RUN_H
#define OD_ACTION_RUN_H

#include "action/outside.h"

/* Bytes of output in an observation: of the beginning, and of the end. */
enum { RUN_HEAD = 16 << 10, RUN_TAIL = 48 << 10 };

/*
 * Called by the front-end with its action `run` before session_run of an op with this id.
 * The action ends with the command, whether or not the front-end's op waits for it.
 */
void run_begins(struct action *a, const char *id);
/*
 * Called when the op of the action with this key is over (e: why) or was dropped (e
 * NULL). Ends the action if its command was not given to a shell and does not wait for
 * its turn.
 */
void run_left(struct actions *all, const char *key, const struct err *e);

#endif
