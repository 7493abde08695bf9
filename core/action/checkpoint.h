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

#endif
