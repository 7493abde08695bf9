/* SPDX-License-Identifier: MIT */
/* `write`: the skill create. */
#include "front/mcp/tools/skills.h"

static void start(struct tool_call *c)
{
    tool_skill(c, "create", tool_copy(c, "path content"));
}

static const struct param_list takes = {
    .about =
        "Create a file or replace its whole content; missing directories are made. For "
        "changes to parts use edit.",
    .params = (const struct param[]){
        {.name = "path", .type = PARAM_STRING, .required = true, .about = "File."},
        {.name = "content",
         .type = PARAM_STRING,
         .required = true,
         .about = "Whole content."},
        {0}}};

const struct tool tool_write = {
    .name = "write",
    .title = "Write a file",
    .takes = &takes,
    .also = TOOL_PATH_ALSO " file_text=content text=content contents=content",
    .destructive = true,
    .idempotent = true,
    .keeps = "content",
    .output = "{\"path\":{\"type\":\"string\"},\"created\":{\"type\":\"boolean\"},"
              "\"lines\":{\"type\":\"integer\"},\"was_lines\":{\"type\":\"integer\"},"
              "\"undo\":{\"type\":\"integer\"}}",
    .start = start,
    .stop = tool_skill_stop};
