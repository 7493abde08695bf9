/* SPDX-License-Identifier: MIT */
/*
 * Tools that are skills: one action `skill`, whose observation has the text, the state
 * line, the facts for programs and a picture.
 */
#ifndef OD_FRONT_MCP_TOOLS_SKILLS_H
#define OD_FRONT_MCP_TOOLS_SKILLS_H

#include "front/mcp/tools/tool.h"
#include "skill/skill.h"

/*
 * Calls the skill with these arguments, which it takes, and ends the call with its
 * result.
 */
void tool_skill(struct tool_call *c, const char *name, struct json *args);
/* The same, but fn gets the observation; it ends the call by tool_skill_observed. */
void tool_skill_as(struct tool_call *c, const char *name, struct json *args,
                   tool_observed *fn);
void tool_skill_observed(struct tool_call *c, const struct json *event,
                         const struct err *e);
/* Ends the call with a skill's result. */
void tool_skill_end(struct tool_call *c, const struct skill_result *result);
/* Stops the action of a call that only reads; one that changes files is completed. */
void tool_skill_stop(struct tool_call *c, enum tool_stop why);
/* Returns the bytes that are left for text, without notes and the state line. */
size_t tool_room(const struct tool_call *c);
/* Copies the arguments of these names (separated by blanks) that are given. */
struct json *tool_copy(const struct tool_call *c, const char *names);

/* Names of `path` in other tools. */
#define TOOL_PATH_ALSO \
    "file_path=path filename=path absolute_path=path target_file=path file=path"

#endif
