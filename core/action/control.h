/* SPDX-License-Identifier: MIT */
/* Which person has a session's terminal or browser, for the action request_control. */
#ifndef OD_ACTION_CONTROL_H
#define OD_ACTION_CONTROL_H

#include "action/action.h"

/*
 * A person took (drives) or gave back the "terminal" or "browser" (of) of a session. who:
 * the person's name. Called by front-ends after they wrote the event `control`, from
 * which the next worker reads the same: its extras have `of`, `viewer` and `drives`.
 */
void control_changed(struct actions *all, const char *session, const char *of,
                     const char *who, bool drives);

#endif
