/* SPDX-License-Identifier: MIT */
/* `edit`: the skills replace and undo. */
#include "front/mcp/tools/skills.h"

static void refuse(struct tool_call *c, const char *text)
{
    struct tool_result r = {.text = str_of(text), .failed = true};
    tool_end(c, &r);
}

static void start(struct tool_call *c)
{
    bool undo = json_bool(c->args, "undo", false);
    bool old = json_has(c->args, "old_string"), new = json_has(c->args, "new_string");
    if (undo && (old || new))
        buf_addz(&c->notes,
                 "(undo takes back the last change; the strings are ignored)\n");
    if (undo) {
        tool_skill(c, "undo", tool_copy(c, "path"));
    } else if (!new) {
        refuse(c,
               old ? "new_string is missing; \"\" removes"
                   : "old_string is missing; edit needs {path, old_string, new_string, "
                     "replace_all?} or {path, undo: true}");
    } else {
        struct json *args = tool_copy(c, "path old_string new_string replace_all");
        if (!old)
            json_put_z(args, "old_string", "");
        tool_skill(c, "replace", args);
    }
}

static const struct param_list takes = {
    .about =
        "Replace text in a file. old_string is the exact text, with its whitespace and "
        "without line numbers, and must occur once unless replace_all. If it is not "
        "found nothing changes and the nearest text is shown. undo takes back the "
        "last change of a file by edit or write.",
    .params = (const struct param[]){
        {.name = "path", .type = PARAM_STRING, .required = true, .about = "File."},
        {.name = "old_string", .type = PARAM_STRING, .about = "Text to replace."},
        {.name = "new_string",
         .type = PARAM_STRING,
         .about = "Text to put there; \"\" removes."},
        {.name = "replace_all",
         .type = PARAM_BOOL,
         .about = "Replace every occurrence. Default false."},
        {.name = "undo",
         .type = PARAM_BOOL,
         .about = "Take back the last change instead."},
        {0}}};

const struct tool tool_edit = {
    .name = "edit",
    .title = "Edit a file",
    .takes = &takes,
    .also = TOOL_PATH_ALSO " old_str=old_string search=old_string new_str=new_string "
                           "replace=new_string",
    .destructive = true,
    .always_load = true,
    .keeps = "new_string",
    .output = "{\"path\":{\"type\":\"string\"},\"places\":{\"type\":\"integer\"},"
              "\"lines\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},"
              "\"matched\":{\"type\":\"string\"},\"undo\":{\"type\":\"integer\"},"
              "\"parses\":{\"type\":\"boolean\"}}",
    .start = start,
    .stop = tool_skill_stop};
