/* SPDX-License-Identifier: MIT */
/*
 * V0's editor: the `edit` action, and `read` with impl_source oh_aci. The texts are those
 * of edit/editor.h, the observations those of OpenHands (events/observation/files.py). An
 * error that an agent can fix is in the content, after ERROR:, in the same kind of
 * observation as a success.
 */
#ifndef OD_FRONT_V0_EDIT_H
#define OD_FRONT_V0_EDIT_H

#include "edit/editor.h"

/*
 * Does an `edit`, or views the file of a `read`, with the result in a. Returns -1 and
 * sets *e if an argument is wrong. A document must be read before v0_editor_put.
 */
int v0_editor_run(const struct editor *ed, bool edit, const struct json *args,
                  struct editor_answer *a, struct err *e);
/* Appends the observation. Returns -1 and leaves out unchanged if it does not fit. */
int v0_editor_put(struct buf *out, bool edit, const struct json *args,
                  const struct editor_answer *a, struct err *e);

#endif
