/* SPDX-License-Identifier: MIT */
/*
 * Follows actions whose caller left while they run, to write their observation. Processes
 * are followed from the beginning.
 */
#ifndef OD_ACTION_FOLLOW_H
#define OD_ACTION_FOLLOW_H

#include "action/outside.h"

struct browsing;
struct kernel;
struct process;

/* Follows the running cell with this id, whose caller dropped it. */
void follow_cell(struct action *a, struct kernel *k, const char *id);
/* Follows the running browser call with this id, whose caller dropped it. */
void follow_browse(struct action *a, struct browsing *b, const char *id);
/*
 * After a restart: follows the cell or the call of the action. Returns false if the
 * kernel or browser does not know it, because it had not begun.
 */
bool follow_known(struct action *a);
/* Follows a process until it ends; does nothing if it is followed already. */
void follow_process(struct action *a, struct process *p);
/* The caller is back and ends the action: stops following. Not for processes. */
void follow_stop(struct action *a);

/* ---- for front-ends ---- */

/* How a cell ended, as {"end", "count", …}. The caller owns it. */
struct json;
struct cell_result;
struct json *follow_cell_end(const struct cell_result *r);

#endif
