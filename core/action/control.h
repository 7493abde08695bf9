/* SPDX-License-Identifier: MIT */
/* Which person has a session's terminal or browser, for the action request_control. */
#ifndef OD_ACTION_CONTROL_H
#define OD_ACTION_CONTROL_H

#include "action/action.h"

/*
 * Reports that a person took (drives) or gave back a session's terminal or browser. of:
 * "terminal" or "browser"; who: the person's name. Front-ends call this after they wrote
 * the event `control`, from whose extras `of`, `viewer` and `drives` the next worker
 * reads the same.
 */
void control_changed(struct actions *all, const char *session, const char *of,
                     const char *who, bool drives);

#endif
