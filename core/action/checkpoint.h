/* SPDX-License-Identifier: MIT */
/* Checkpoints before actions (--checkpoints), for actions.c. */
#ifndef OD_ACTION_CHECKPOINT_H
#define OD_ACTION_CHECKPOINT_H

#include "action/action.h"

/*
 * May the action begin, as far as checkpoints go? Commands and cells ask later, when
 * their turn in the shell or kernel has come (engine/gate.h). If it may not, actions_turn
 * is called when it may.
 */
bool checkpoint_lets(struct action *a);
/* An action has ended: for the pause between turns. */
void checkpoint_ended(struct actions *all);

struct checkpointing;
/*
 * Adds contents of another server to the store, and finds those that are still missing.
 * It is not in the log: no checkpoint has the contents before checkpoint_import. Calls
 * done once, with the result or with e, unless it is cancelled. Returns NULL and sets *e
 * if it cannot begin.
 */
struct checkpointing *checkpoint_contents(struct actions *all, struct str body,
                                          void (*done)(void *arg, struct str result,
                                                       const struct err *e),
                                          void *arg, struct err *e);
extern const struct member checkpoint_contents_gives[]; /* of the result */
void checkpoint_contents_cancel(struct checkpointing *r);

#endif
