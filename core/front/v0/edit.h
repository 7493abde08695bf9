/* SPDX-License-Identifier: MIT */
/*
 * V0's editor: the `edit` action, and `read` with impl_source oh_aci. The words are
 * edit/editor.h's, the observations OpenHands' (events/observation/files.py).
 *
 * An error that an agent can fix is content that begins with ERROR:, in the same
 * kind of observation as a success.
 */
#ifndef OD_FRONT_V0_EDIT_H
#define OD_FRONT_V0_EDIT_H

#include "edit/editor.h"

/*
 * Carries out an `edit`, or views what a `read` names, into a. Returns -1 and sets *e if
 * an argument is wrong. A document must be read before it can be put.
 */
int v0_editor_run(const struct editor *ed, bool edit, const struct json *args,
                  struct editor_answer *a, struct err *e);
/* Appends the observation. -1: it does not fit; out is unchanged. */
int v0_editor_put(struct buf *out, bool edit, const struct json *args,
                  const struct editor_answer *a, struct err *e);

#endif
