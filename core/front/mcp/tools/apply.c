/* SPDX-License-Identifier: MIT */
/*
 * The tool `apply_patch`: each change of a patch is a step of the call, by the skills of
 * edit and write, so a text is also found if its indentation differs, and every change
 * can be undone. If one does not fit, the previous ones are undone.
 *
 *   replace, insert, create … ─▶ moves, removals ─▶ answer
 *        └─ does not fit ─▶ undo of each, newest first ─▶ answer
 */
#include "base/xalloc.h"
#include "front/mcp/tools/patch.h"
#include "front/mcp/tools/skills.h"
#include "front/mcp/tools/state.h"

#include <stdlib.h>

static const struct param_list takes = {
    .about =
        "Change files by a patch: *** Begin Patch with *** Add File, *** Update File "
        "and *** Delete File, or a unified diff. Context lines say where a change "
        "is; numbers of lines do not matter. If one part does not fit nothing is "
        "changed. For one change edit is simpler.",
    .params = (const struct param[]){{.name = "patch",
                                      .type = PARAM_TEXT,
                                      .required = true,
                                      .about = "The whole patch."},
                                     {0}}};

struct applying {
    struct patch patch; /* owned */
    unsigned next;      /* the next step of the patch */
    unsigned undone;    /* how many of the previous steps were undone */
    unsigned step;      /* of the call */
    bool failed;
    struct buf why; /* owned: why a step does not fit */
};

static void applying_free(struct tool_call *c)
{
    struct applying *a = c->own;
    patch_release(&a->patch);
    buf_release(&a->why);
    free(a);
    c->own = NULL;
}

static void go_on(struct tool_call *c);

/* ---- the answer ---- */

static void end(struct tool_call *c)
{
    struct applying *a = c->own;
    struct buf text = BUF_INIT(TOOL_ANSWER_MAX), state = BUF_INIT(STATE_MAX);
    struct json *paths = json_array(), *object = json_object();
    struct patch_line l = {.changes = 0};
    for (unsigned i = 0; i < a->patch.n && !a->failed; i++) {
        static const char marks[] = {[PATCH_REPLACE] = 'M',
                                     [PATCH_INSERT] = 'M',
                                     [PATCH_CREATE] = 'A',
                                     [PATCH_MOVE] = 'R',
                                     [PATCH_REMOVE] = 'D'};
        const struct patch_step *s = &a->patch.steps[i];
        bool same = i > 0 && marks[s->kind] == 'M' && marks[s[-1].kind] == 'M' &&
                    strcmp(s->path, s[-1].path) == 0;
        l.changes++;
        if (same)
            continue;
        l.files++;
        buf_addf(&text, "%c ", marks[s->kind]);
        put_plain(&text, str_of(s->path), 1000);
        if (s->to) {
            buf_addz(&text, " to ");
            put_plain(&text, str_of(s->to), 1000);
        }
        buf_addc(&text, '\n');
        json_push_str(paths, str_of(s->path));
    }
    if (a->failed)
        buf_adds(&text, buf_str(&a->why));
    else
        patch_line(&state, &l);
    json_put(object, "paths", paths);
    struct tool_result r = {.text = buf_str(&text),
                            .state = buf_str(&state),
                            .failed = a->failed,
                            .object = object};
    applying_free(c);
    tool_end(c, &r);
    buf_release(&text);
    buf_release(&state);
}

/* Begins to undo the previous steps, as this one does not fit, for the reason `text`. */
static void fail(struct tool_call *c, struct str text)
{
    struct applying *a = c->own;
    const struct patch_step *s = &a->patch.steps[a->next];
    bool files = s->kind == PATCH_MOVE || s->kind == PATCH_REMOVE;
    a->failed = true;
    buf_addf(&a->why, "part %u of %u does not fit, %s: ", a->next + 1, a->patch.n,
             files ? "and what comes before it is done" : "and nothing is changed");
    buf_adds(&a->why, str_trim(text));
    if (files)
        a->undone = a->next;
    go_on(c);
}

/* ---- steps ---- */

static void on_skill(struct tool_call *c, const struct json *event, const struct err *e)
{
    struct applying *a = c->own;
    bool bad = !event || json_bool(json_get(event, "extras"), "failed", false);
    struct str text = event ? json_str(event, "content", "") : str_of(e->text);
    if (a->failed) {
        if (bad) {
            buf_addz(&a->why, "\nThis could not be taken back: ");
            buf_adds(&a->why, str_trim(text));
        }
        a->undone++;
    } else if (bad) {
        fail(c, text);
        return;
    } else {
        a->next++;
    }
    go_on(c);
}

static void on_file(struct tool_call *c, const struct json *event, const struct err *e)
{
    struct applying *a = c->own;
    if (!event) {
        fail(c, str_of(e->text));
        return;
    }
    a->next++;
    go_on(c);
}

static void skill(struct tool_call *c, const char *name, struct json *args)
{
    struct applying *a = c->own;
    struct json *message = json_object(), *call = json_object();
    json_put_z(call, "name", name);
    json_put(call, "args", args);
    json_put_z(message, "action", "skill");
    json_put(message, "args", call);
    tool_act(c, a->step++, STR("main"), message, on_skill);
}

static void file(struct tool_call *c, const char *name, struct json *args)
{
    struct applying *a = c->own;
    struct json *message = json_object();
    json_put_z(message, "action", name);
    json_put(message, "args", args);
    tool_act(c, a->step++, STR("main"), message, on_file);
}

static void take_step(struct tool_call *c, const struct patch_step *s)
{
    struct json *args = json_object();
    json_put_z(args, s->kind == PATCH_MOVE ? "from" : "path", s->path);
    switch (s->kind) {
    case PATCH_REPLACE:
        json_put_str(args, "old_string", buf_str(&s->old));
        json_put_str(args, "new_string", buf_str(&s->new));
        json_put_bool(args, "whole_lines", true);
        skill(c, "replace", args);
        break;
    case PATCH_INSERT:
        json_put_int(args, "line", s->line);
        json_put_str(args, "text", buf_str(&s->new));
        skill(c, "insert", args);
        break;
    case PATCH_CREATE:
        json_put_str(args, "content", buf_str(&s->new));
        skill(c, "create", args);
        break;
    case PATCH_MOVE:
        json_put_z(args, "to", s->to);
        file(c, "move", args);
        break;
    case PATCH_REMOVE:
        file(c, "remove", args);
        break;
    }
}

static void go_on(struct tool_call *c)
{
    struct applying *a = c->own;
    if (a->failed && a->undone < a->next) {
        struct json *args = json_object();
        json_put_z(args, "path", a->patch.steps[a->next - 1 - a->undone].path);
        skill(c, "undo", args);
    } else if (a->failed || a->next == a->patch.n) {
        end(c);
    } else {
        take_step(c, &a->patch.steps[a->next]);
    }
}

static void start(struct tool_call *c)
{
    struct applying *a = xnew(struct applying);
    struct err e = ERR_INIT;
    *a = (struct applying){.next = 0};
    buf_init(&a->why, TOOL_ERROR_MAX);
    c->own = a;
    if (patch_read(&a->patch, json_str(c->args, "patch", ""), &e) == 0) {
        go_on(c);
        return;
    }
    applying_free(c);
    tool_fail(c, &e);
}

/* The change that is in progress is completed. */
static void stop(struct tool_call *c, enum tool_stop why)
{
    (void)why;
    applying_free(c);
}

static void progress(const struct tool_call *c, struct buf *line)
{
    const struct applying *a = c->own;
    if (a)
        buf_addf(line, "part %u of %u", a->next + 1, a->patch.n);
}

const struct tool tool_apply_patch = {
    .name = "apply_patch",
    .title = "Apply a patch",
    .takes = &takes,
    .set = "patch",
    .also = "input=patch diff=patch text=patch content=patch",
    .destructive = true,
    .output = "{\"paths\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}",
    .start = start,
    .stop = stop,
    .progress = progress};
