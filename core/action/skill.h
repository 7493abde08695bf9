/* SPDX-License-Identifier: MIT */
/* The progress of the action `skill`. */
#ifndef OD_ACTION_SKILL_H
#define OD_ACTION_SKILL_H

#include "action/action.h"

/* Returns skill_files of the action with this id; 0 if it is not a running skill. */
uint64_t action_skill_files(const struct actions *all, uint64_t id);

#endif
