/* SPDX-License-Identifier: MIT */
/*
 * Turns arguments as models send them into those that the tool takes. Models know many
 * tools, and write numbers and booleans as strings: a value is accepted if its meaning is
 * clear; otherwise the error explains how to write it.
 */
#ifndef OD_FRONT_MCP_TOOLS_STRAIGHT_H
#define OD_FRONT_MCP_TOOLS_STRAIGHT_H

#include "front/mcp/tools/tool.h"

/*
 * Returns the arguments: an object that fits t->takes, and may have names of t->also that
 * stand for no row of takes. The caller owns it. Appends to notes a line for each
 * argument that was ignored or clamped. args: as received; NULL or null: none.
 * max_wait_s: the clamp of the argument wait_s. Returns NULL and sets *e if a required
 * argument is missing or a value has the wrong type.
 */
struct json *tool_straighten(const struct tool *t, const struct json *args,
                             int max_wait_s, struct buf *notes, struct err *e);

#endif
