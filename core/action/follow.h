/* SPDX-License-Identifier: MIT */
/*
 * Actions whose caller left while they run: somebody must hear how they end. And
 * processes, which are followed from the beginning.
 */
#ifndef OD_ACTION_FOLLOW_H
#define OD_ACTION_FOLLOW_H

#include "action/outside.h"

struct browsing;
struct kernel;
struct process;

/* The cell of this id, which runs and was dropped. */
void follow_cell(struct action *a, struct kernel *k, const char *id);
/* The call of this id, which runs and was dropped. */
void follow_browse(struct action *a, struct browsing *b, const char *id);
/*
 * The same after a restart, of the cell or the call that the action is about. Returns
 * false if its kernel or browser knows nothing of it: it had not begun.
 */
bool follow_known(struct action *a);
/* Until it ends; does nothing if it is followed already. */
void follow_process(struct action *a, struct process *p);
/* The caller is back: it is the one to end the action. Not for processes. */
void follow_stop(struct action *a);

/* ---- for those who call them ---- */

/* The object that says how a cell ended, {"end", "count", …}: the caller's. */
struct json;
struct cell_result;
struct json *follow_cell_end(const struct cell_result *r);

#endif
