/* SPDX-License-Identifier: MIT */
/*
 * The actions in words. Those of V0 are decoded by front/v0/action.c, with V0's own
 * errors; their rows here are for people and for schemas.
 */
#include "action/describe.h"

#include "action/native.h"
#include "base/log.h"

#define PARAMS(...) ((const struct param[]){__VA_ARGS__, {0}})
#define TEXT(param_name, sentence) \
    { \
        .name = param_name, .type = PARAM_STRING, .required = true, .about = sentence \
    }
#define SWITCH(param_name, sentence) \
    { \
        .name = param_name, .type = PARAM_BOOL, .dflt = "false", .about = sentence \
    }
#define LINES \
    {.name = "start", \
     .type = PARAM_INT, \
     .dflt = "0", \
     .about = "The first line, counted from 0"}, \
    { \
        .name = "end", .type = PARAM_INT, .dflt = "-1", \
        .about = "The line after the last one; -1 is the end of the file" \
    }

static const struct param_list takes_run = {
    .about = "Runs a command in the shell of the session",
    .params = PARAMS(
        TEXT("command", "The command; empty: wait for more output of the one that runs"),
        SWITCH("is_input", "Whether the text is typed into the program that runs"),
        SWITCH("blocking", "Whether a command without new output is waited for, too"),
        SWITCH("is_static", "Whether the command runs in a shell of its own"),
        SWITCH("hidden", "Whether the whole output is in the observation"),
        {.name = "cwd",
         .type = PARAM_STRING,
         .about = "The directory of a command that is_static"}),
    .example = "{\"command\":\"make -j8\",\"blocking\":true}"};

static const struct param_list takes_read = {
    .about = "Reads a file, a picture or a document",
    .params = PARAMS(TEXT("path", "The file"), LINES,
                     {.name = "impl_source",
                      .type = PARAM_STRING,
                      .dflt = "\"default\"",
                      .about = "oh_aci for the words of the editor, with numbered lines"},
                     {.name = "view_range",
                      .type = PARAM_ANY,
                      .about = "With oh_aci: an array of the first and the last line, "
                               "counted from 1; -1 is the end"}),
    .example = "{\"path\":\"src/main.c\"}"};

static const struct param_list takes_write = {
    .about = "Writes a file, or replaces some of its lines",
    .params = PARAMS(TEXT("path", "The file"), TEXT("content", "Its text"), LINES),
    .example = "{\"path\":\"notes.txt\",\"content\":\"text\\n\"}"};

#define EDITED(param_name, sentence) \
    { \
        .name = param_name, .type = PARAM_STRING, .about = sentence \
    }

static const struct param_list takes_edit = {
    .about = "Edits a file exactly, with undo",
    .params = PARAMS(
        TEXT("path", "The file, absolute"),
        {.name = "command",
         .type = PARAM_STRING,
         .about = "One of view, create, str_replace, insert and undo_edit"},
        EDITED("file_text", "For create: the text of the file"),
        EDITED("old_str", "For str_replace: the text to replace, which occurs once"),
        EDITED("new_str", "For str_replace and insert: the new text"),
        {.name = "insert_line",
         .type = PARAM_ANY,
         .about = "For insert: the number of the line after which the text comes"},
        {.name = "view_range",
         .type = PARAM_ANY,
         .about = "For view: an array of the first and the last line, counted from 1"},
        {.name = "impl_source",
         .type = PARAM_STRING,
         .dflt = "\"oh_aci\"",
         .about = "oh_aci is the only editor that is served"}),
    .example = "{\"path\":\"/src/main.c\",\"command\":\"str_replace\",\"old_str\":\"a\","
               "\"new_str\":\"b\"}"};

static const struct param_list takes_run_ipython = {
    .about = "Runs code in the session's Jupyter kernel",
    .params = PARAMS(TEXT("code", "The code to run"),
                     {.name = "include_extra",
                      .type = PARAM_ANY,
                      .dflt = "true",
                      .about = "false: the text without the directory and interpreter"}),
    .example = "{\"code\":\"print(1)\"}"};

#define AXTREE \
    { \
        .name = "return_axtree", .type = PARAM_ANY, .dflt = "false", \
        .about = "true: the page's accessibility tree is in extras, too" \
    }

static const struct param_list takes_browse = {
    .about = "Opens a page in the browser",
    .params = PARAMS(TEXT("url", "The address of the page"), AXTREE),
    .example = "{\"url\":\"https://example.org\"}"};

static const struct param_list takes_browse_interactive = {
    .about = "Acts on the browser's page",
    .params = PARAMS(TEXT("browser_actions", "Calls, a line each, as in click('12')"),
                     AXTREE),
    .example = "{\"browser_actions\":\"goto('https://example.org')\"}"};

static const struct action_about theirs[] = {
    {"run", &takes_run, true, false},
    {"run_ipython", &takes_run_ipython, true, false},
    {"read", &takes_read, true, false},
    {"write", &takes_write, true, false},
    {"edit", &takes_edit, true, false},
    {"browse", &takes_browse, true, false},
    {"browse_interactive", &takes_browse_interactive, true, false},
};

enum { THEIRS = sizeof(theirs) / sizeof(theirs[0]) };

bool action_about(size_t i, struct action_about *out)
{
    const struct native_kind *k = i < THEIRS ? NULL : native_at(i - THEIRS);
    if (i < THEIRS)
        *out = theirs[i];
    else if (k)
        *out = (struct action_about){k->name, k->takes, false, true};
    return i < THEIRS || k;
}

bool action_find(struct str name, struct action_about *out)
{
    for (size_t i = 0; action_about(i, out); i++) {
        if (str_eq(name, str_of(out->name)))
            return true;
    }
    return false;
}

static const struct native_kind *native_named(struct str name)
{
    const struct native_kind *k = NULL;
    for (size_t i = 0; (k = native_at(i)) && !str_eq(name, str_of(k->name));)
        i++;
    return k;
}

int action_check_args(struct str name, const struct json *args, struct err *e)
{
    const struct native_kind *k = native_named(name);
    return k ? native_check_args(k, args, e)
             : err_set(e, ERR_NOTFOUND, "there is no native action %.*s",
                       name.n > 60 ? 60 : (int)name.n, name.n ? name.p : "");
}

struct json *action_args_schema(const struct action_about *a)
{
    const struct native_kind *k = native_named(str_of(a->name));
    struct json *j = params_schema(a->takes);
    if (k && k->refine)
        k->refine(j);
    return j;
}

/* ---- the whole action ---- */

static const struct param order[] = {
    {.name = "client_id",
     .type = PARAM_STRING,
     .about = "A name of the client's, at most 128 bytes: a second action of the same "
              "name is the first one"},
    {.name = "session",
     .type = PARAM_STRING,
     .ranged = true,
     .min = 1,
     .dflt = "\"main\"",
     .pattern = "^[!#-.0-\\[\\]-~]{1,40}$",
     .about = "The session, which is made when it is first named"},
    {0}};

static const struct param order_theirs[] = {
    {.name = "timeout",
     .type = PARAM_NUMBER,
     .ranged = true,
     .about = "The time limit in seconds; 0 is none"},
    {.name = "source",
     .type = PARAM_STRING,
     .choices = "agent user environment",
     .about = "Who asks"},
    {0}};

static void put_optional(struct json *props, const struct param *p)
{
    for (; p->name; p++) {
        struct json *j = json_object(), *any = json_array(), *null = json_object();
        json_put_z(null, "type", "null");
        json_push(any, param_schema(p));
        json_push(any, null);
        json_put(j, "anyOf", any);
        json_put_z(j, "description", p->about);
        json_put(props, p->name, j);
    }
}

static struct json *secrets_schema(void)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(
        STR("{\"anyOf\":[{\"type\":\"object\",\"additionalProperties\":{\"type\":"
            "\"string\"}},{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
            "{\"type\":\"null\"}],\"description\":\"Values that are hidden in every "
            "event from here on, of 4 to 8192 bytes each\"}"),
        &e);
    BUG_ON(!j);
    return j;
}

struct json *action_schema(const struct action_about *a, const char *args_ref)
{
    struct json *j = json_object(), *props = json_object(), *name = json_object(),
                *args = json_object(), *required = json_array();
    json_put_z(name, "const", a->name);
    json_put_z(args, "$ref", args_ref);
    json_put(props, "action", name);
    json_put(props, "args", args);
    put_optional(props, order);
    if (!a->native)
        put_optional(props, order_theirs);
    json_put(props, "secrets", secrets_schema());
    json_push_str(required, STR("action"));
    if (params_required(a->takes))
        json_push_str(required, STR("args"));
    json_put_z(j, "type", "object");
    json_put_z(j, "title", a->name);
    json_put_z(j, "description", a->takes->about);
    json_put(j, "properties", props);
    json_put(j, "required", required);
    return j;
}

struct json *action_list(void)
{
    struct json *list = json_array();
    struct action_about a;
    for (size_t i = 0; action_about(i, &a); i++) {
        struct json *row = json_object();
        json_put_z(row, "action", a.name);
        json_put_z(row, "summary", a.takes->about);
        json_put(row, "args", action_args_schema(&a));
        json_push(list, row);
    }
    return list;
}
