/* SPDX-License-Identifier: MIT */
/*
 * A patch as models write it, in the form of Codex' apply_patch or as a unified diff, as
 * steps: texts of whole lines that are replaced, files that are made, moved and removed.
 * Pure; line numbers of a unified diff are used only where a step has no other place.
 */
#ifndef OD_FRONT_MCP_TOOLS_PATCH_H
#define OD_FRONT_MCP_TOOLS_PATCH_H

#include "base/buf.h"
#include "base/err.h"

enum { PATCH_STEPS_MAX = 30 };

enum patch_kind { PATCH_REPLACE, PATCH_INSERT, PATCH_CREATE, PATCH_MOVE, PATCH_REMOVE };

struct patch_step {
    enum patch_kind kind;
    char *path, *to;     /* owned; to: of MOVE only */
    struct buf old, new; /* owned: lines without the last newline; CREATE: with it */
    int64_t line;        /* INSERT: after this line; 0: before the first one */
};

struct patch {
    struct patch_step steps[PATCH_STEPS_MAX]; /* moves and removals last */
    unsigned n;
};

/*
 * Reads a patch of either form. The caller releases it after success and failure. Returns
 * -1 and sets *e: INVALID, with the line, if it is not a patch; LIMIT if it has too many
 * steps.
 */
int patch_read(struct patch *p, struct str text, struct err *e);
void patch_release(struct patch *p);

#endif
