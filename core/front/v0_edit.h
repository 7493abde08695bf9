/* SPDX-License-Identifier: MIT */
/*
 * V0's editor: the `edit` action, and `read` with impl_source oh_aci. The words are
 * engine/editor's, the observations those of reference/openhands-runtime.md 5.3.
 *
 * What an agent can mend is told it as content that begins with ERROR:, in the same
 * kind of observation as a success.
 */
#ifndef OD_FRONT_V0_EDIT_H
#define OD_FRONT_V0_EDIT_H

#include "engine/editor.h"

/*
 * Appends the observation. -1: an argument is wrong, which e says, or the answer
 * does not fit; out is unchanged.
 */
int v0_editor_edit(struct buf *out, const struct editor *ed, const struct json *args,
                   struct err *e);

/* The same of a `read`. *binary: it is a file that is no text, and out unchanged. */
int v0_editor_view(struct buf *out, const struct editor *ed, const struct json *args,
                   bool *binary, struct err *e);

#endif
