/* SPDX-License-Identifier: MIT */
/* The tools checkpoint, changes and rollback: each is the action of its name. */
#include "front/mcp/tools/skills.h"
#include "front/mcp/tools/state.h"

static const struct param_list takes_checkpoint = {
    .about =
        "Keep what all files of the folder are now, so that changes can be taken back.",
    .params = (const struct param[]){
        {.name = "label", .type = PARAM_STRING, .about = "A note."}, {0}}};

static const struct param_list takes_changes = {
    .about = "What differs from a checkpoint, with the lines.",
    .params = (const struct param[]){
        {.name = "from", .type = PARAM_INT, .about = "Checkpoint; default the newest."},
        {0}}};

static const struct param_list takes_rollback = {
    .about = "Make files what they were in a checkpoint. A checkpoint of the present is "
             "made first.",
    .params = (const struct param[]){
        {.name = "to", .type = PARAM_INT, .required = true, .about = "Checkpoint."},
        {.name = "path", .type = PARAM_STRING, .about = "Only this file or folder."},
        {.name = "dry_run", .type = PARAM_BOOL, .about = "Only show what would change."},
        {0}}};

static void put_changes(struct tool_call *c, struct buf *out, const struct json *extras)
{
    const struct json *x = json_first(json_get(extras, "changes"));
    for (; x && out->n < tool_room(c) / 2; x = json_next(x)) {
        struct str change = json_str(x, "change", ""), diff = json_str(x, "diff", "");
        buf_adds(out, change);
        buf_addc(out, ' ');
        put_plain(out, json_str(x, "path", ""), 1000);
        if (json_has(x, "files"))
            buf_addf(out, " (%lld files)", (long long)json_int(x, "files", 0));
        buf_addc(out, '\n');
        if (diff.n && out->n + diff.n < tool_room(c) / 2) {
            buf_adds(out, diff);
            buf_addc(out, '\n');
        }
    }
    x = json_first(json_get(extras, "problems"));
    for (; x && out->n < tool_room(c) / 2; x = json_next(x)) {
        buf_addz(out, "not restored: ");
        put_plain(out, json_str(x, "path", ""), 1000);
        buf_addz(out, ": ");
        put_plain(out, json_str(x, "why", ""), 200);
        buf_addc(out, '\n');
    }
}

static void put_state_line(struct buf *out, const struct json *x)
{
    if (json_has(x, "files"))
        buf_addf(out, "checkpoint %lld: %lld files, %lld not whole",
                 (long long)json_int(x, "id", 0), (long long)json_int(x, "files", 0),
                 (long long)json_int(x, "gaps", 0));
    else
        buf_addf(out, "%lld added, %lld removed, %lld changed",
                 (long long)json_int(x, "added", 0), (long long)json_int(x, "removed", 0),
                 (long long)json_int(x, "changed", 0));
    if (json_has(x, "safety"))
        buf_addf(out, ", %lld failed; checkpoint %lld has the files as they were before",
                 (long long)json_int(x, "failed", 0),
                 (long long)json_int(x, "safety", 0));
}

static void on_done(struct tool_call *c, const struct json *event, const struct err *e)
{
    const struct json *extras = json_get(event, "extras");
    struct buf text = BUF_INIT(4 * TOOL_ANSWER_MAX), state = BUF_INIT(STATE_MAX);
    if (!event) {
        tool_fail(c, e);
        return;
    }
    put_changes(c, &text, extras);
    put_state_line(&state, extras);
    struct tool_result r = {.text = buf_str(&text), .state = buf_str(&state)};
    r.object = json_object();
    if (json_has(extras, "files"))
        json_put_int(r.object, "id", json_int(extras, "id", 0));
    tool_end(c, &r);
    buf_release(&text);
    buf_release(&state);
}

static void start(struct tool_call *c)
{
    struct json *m = json_object(), *args = json_copy(c->args);
    struct json *path = json_take(args, "path");
    if (path) {
        struct json *paths = json_array();
        json_push(paths, path);
        json_put(args, "paths", paths);
    }
    if (str_eq(str_of(c->tool->name), STR("changes")))
        json_put_bool(args, "diff", true);
    json_put_z(m, "action", c->tool->name);
    json_put(m, "args", args);
    tool_act(c, 0, STR("main"), m, on_done);
}

static void stop(struct tool_call *c, enum tool_stop why)
{
    struct err e = ERR_INIT;
    if (why == TOOL_CANCELLED && c->action)
        actions_cancel(c->actions, c->action, &e);
}

const struct tool tool_checkpoint = {.name = "checkpoint",
                                     .title = "Keep what files are",
                                     .takes = &takes_checkpoint,
                                     .set = "checkpoint",
                                     .output = "{\"id\":{\"type\":\"integer\"}}",
                                     .start = start,
                                     .stop = stop};
const struct tool tool_changes = {.name = "changes",
                                  .title = "What changed",
                                  .takes = &takes_changes,
                                  .set = "checkpoint",
                                  .also = "id=from since=from checkpoint=from",
                                  .read_only = true,
                                  .output = "{}",
                                  .start = start,
                                  .stop = stop};
const struct tool tool_rollback = {.name = "rollback",
                                   .title = "Take changes back",
                                   .takes = &takes_rollback,
                                   .set = "checkpoint",
                                   .also = "id=to checkpoint=to file=path",
                                   .destructive = true,
                                   .output = "{}",
                                   .start = start,
                                   .stop = stop};
