/* SPDX-License-Identifier: MIT */
/* Observations of the actions on kernels, for action_kind.gives. For this room only. */
#ifndef OD_ACTION_KERNEL_GIVES_H
#define OD_ACTION_KERNEL_GIVES_H

#include "action/action.h"

extern const struct observation kernel_gives_cell[], kernel_gives_complete[],
    kernel_gives_inspect[], kernel_gives_kernels[];

#endif
