/* SPDX-License-Identifier: MIT */
/*
 * Arguments of a tool as models send them, made into what the tool takes. Models know
 * many tools, and bend numbers and booleans into strings; what is meant is taken, and
 * what is not is a sentence that says how to write it.
 */
#ifndef OD_FRONT_MCP_TOOLS_STRAIGHT_H
#define OD_FRONT_MCP_TOOLS_STRAIGHT_H

#include "front/mcp/tools/tool.h"

/*
 * Returns the arguments: an object that fits t->takes, where names of t->also that stand
 * for no row of takes may be added; the caller's. Appends to notes a line for each thing
 * that was ignored or clamped. args: as it came; NULL or null: none. max_wait_s: the
 * clamp of the argument wait_s. Returns NULL and sets *e if something required is missing
 * or a value is of another kind.
 */
struct json *tool_straighten(const struct tool *t, const struct json *args,
                             int max_wait_s, struct buf *notes, struct err *e);

/* Appends the names of the arguments, as "command, session?, wait_s?". */
void tool_names(const struct tool *t, struct buf *out);

#endif
