/* SPDX-License-Identifier: MIT */
/* Commands of sessions as actions: of od exec, and of programs with `until` (run.c). */
#ifndef OD_ACTION_RUN_H
#define OD_ACTION_RUN_H

#include "action/outside.h"

/* Bytes of output in an observation: of the beginning, and of the end. */
enum { RUN_HEAD = 16 << 10, RUN_TAIL = 48 << 10 };

/*
 * What a front-end does with the action `run` of outside_open: before session_run, of an
 * op with this id. The session tells of the command's end, whoever waits for it.
 */
void run_begins(struct action *a, const char *id);
/*
 * The front-end's op is over, and e says why, or it was dropped. A command that never was
 * given to its shell, and nobody waits for any more, ends its action. key: of that.
 */
void run_left(struct actions *all, const char *key, const struct err *e);

#endif
