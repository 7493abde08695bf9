/* SPDX-License-Identifier: MIT */
/*
 * A patch as models write it, in the form of Codex' apply_patch or as a unified diff, as
 * steps: texts of whole lines that are replaced, files that are made, moved and removed.
 * Pure; numbers of lines in a unified diff are read only where a step has no other place.
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
    int64_t line;        /* INSERT: behind this line, 0: before all */
};

struct patch {
    struct patch_step steps[PATCH_STEPS_MAX]; /* moves and removals last */
    unsigned n;
};

/*
 * Reads a patch of either form. The caller releases it, whatever comes of it. Returns -1
 * and sets *e (INVALID) if it is none, which names the line, or has too many steps
 * (LIMIT).
 */
int patch_read(struct patch *p, struct str text, struct err *e);
void patch_release(struct patch *p);

#endif
