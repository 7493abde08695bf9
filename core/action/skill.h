/* SPDX-License-Identifier: MIT */
/* How far the action `skill` is. */
#ifndef OD_ACTION_SKILL_H
#define OD_ACTION_SKILL_H

#include "action/action.h"

/* skill_files of the action with this id; 0: it is no skill, or none is running. */
uint64_t action_skill_files(const struct actions *all, uint64_t id);

#endif
