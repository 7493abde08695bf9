/* SPDX-License-Identifier: MIT */
/*
 * V0's editor: the `edit` action, and `read` with impl_source oh_aci. The words are
 * upstream's (reference/openhands-runtime.md 5.3, 5.4), the work is engine/edit's.
 *
 * What an agent can mend is told it as content that begins with ERROR:, in the same
 * kind of observation as a success.
 */
#ifndef OD_FRONT_V0_EDIT_H
#define OD_FRONT_V0_EDIT_H

#include "base/json.h"
#include "engine/edit.h"

/* Characters of a file or a listing that are shown. */
enum { V0_EDIT_SHOWN = 16000 };

/* All of it is borrowed. */
struct v0_editor {
    struct edits *edits;
    const char *workspace; /* against which a relative path may have been meant */
    const char *token;     /* names this action; see engine/edit.h */
    uid_t uid;             /* of new files, */
    gid_t gid;
    bool chown; /* if they are to be given to somebody */
};

/*
 * Appends the observation. -1: an argument is wrong, which e says, or the answer
 * does not fit; out is unchanged.
 */
int v0_editor_edit(struct buf *out, const struct v0_editor *ed, const struct json *args,
                   struct err *e);

/* The same of a `read`. *binary: it is a file that is no text, and out unchanged. */
int v0_editor_view(struct buf *out, const struct v0_editor *ed, const struct json *args,
                   bool *binary, struct err *e);

#endif
