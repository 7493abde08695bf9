/* SPDX-License-Identifier: MIT */
/*
 * Pictures of a cell: those in an answer, and a file of each in the state directory for
 * the user of the session.
 */
#ifndef OD_FRONT_MCP_TOOLS_PICTURES_H
#define OD_FRONT_MCP_TOOLS_PICTURES_H

#include "action/picture.h"
#include "front/mcp/tools/tool.h"

struct pictures {
    struct tool_picture list[TOOL_PICTURES];
    unsigned n, seen;
    struct buf said; /* owned: of each, for the state line (state_picture) */
};

void pictures_init(struct pictures *p);
void pictures_release(struct pictures *p);
/*
 * Takes one data URL, as "data:image/png;base64,…", of that cell; the list borrows it.
 * Leaves out anything that is not a picture. A picture that is too large is only in its
 * file.
 */
void pictures_take(struct pictures *p, struct engine *en, struct str session,
                   uint64_t cell, struct str url);

#endif
