/* SPDX-License-Identifier: MIT */
/* Cells that the event stream runs. */
#ifndef OD_FRONT_EVENTS_KERNEL_H
#define OD_FRONT_EVENTS_KERNEL_H

#include "front/events_native.h"

/* What the cell of the action `id` asked for; a newline at its end is left out. -1: e. */
int events_kernel_input(struct events *ev, uint64_t id, struct str text, struct err *e);

#endif
