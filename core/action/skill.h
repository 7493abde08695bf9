/* SPDX-License-Identifier: MIT */
/* The progress of the action `skill`. */
#ifndef OD_ACTION_SKILL_H
#define OD_ACTION_SKILL_H

#include "action/action.h"

/* skill_files of the action with this id; 0: not a skill, or it does not run. */
uint64_t action_skill_files(const struct actions *all, uint64_t id);

#endif
