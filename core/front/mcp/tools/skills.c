/* SPDX-License-Identifier: MIT */
#include "front/mcp/tools/skills.h"

#include "base/log.h"
#include "front/mcp/tools/state.h"

size_t tool_room(const struct tool_call *c)
{
    enum { STATE = 600, LEAST = 500 };
    size_t taken = STATE + c->notes.n;
    return c->client.answer_max > taken + LEAST ? c->client.answer_max - taken : LEAST;
}

struct json *tool_copy(const struct tool_call *c, const char *names)
{
    struct json *j = json_object();
    struct str rest = str_of(names);
    while (rest.n > 0) {
        char name[32];
        struct str one = str_cut(&rest, ' ');
        BUG_ON(one.n >= sizeof(name));
        memcpy(name, one.p, one.n);
        name[one.n] = 0;
        if (json_has(c->args, name))
            json_put(j, name, json_copy(json_get(c->args, name)));
    }
    return j;
}

void tool_skill_end(struct tool_call *c, const struct skill_result *result)
{
    struct tool_result r = {.text = result->text,
                            .state = result->state,
                            .failed = result->failed,
                            .object = result->facts ? json_copy(result->facts) : NULL};
    /* The last line of the text is the state line, with its brackets and newline. */
    if (r.state.n > 0 && r.text.n >= r.state.n + 3)
        r.text.n -= r.state.n + 3;
    if (result->picture.n > 0) {
        r.pictures[0] = (struct tool_picture){result->picture, result->picture_type};
        r.npictures = 1;
    }
    tool_end(c, &r);
}

/*
 * Cuts a text without a state line to the size of an answer, at the end of a line, and
 * adds a state line about it.
 */
static void end_cut(struct tool_call *c, struct skill_result *result)
{
    struct buf text = BUF_INIT(2 * TOOL_ANSWER_MAX), state = BUF_INIT(STATE_MAX);
    struct str path = json_str(c->args, "file_path", "");
    uint64_t from, to;
    bool bent = false;
    tool_cut(&text, result->text, 0, tool_room(c), &from, &to, &bent);
    parts_line(&state, from - 1, to, path);
    result->text = buf_str(&text);
    struct tool_result r = {.text = buf_str(&text), .state = buf_str(&state)};
    tool_end(c, &r);
    buf_release(&text);
    buf_release(&state);
}

void tool_skill_observed(struct tool_call *c, const struct json *event,
                         const struct err *e)
{
    const struct json *extras = json_get(event, "extras");
    const struct json *picture = json_get(extras, "picture");
    struct skill_result result = {.text = json_str(event, "content", ""),
                                  .failed = json_bool(extras, "failed", false),
                                  .state = json_str(extras, "state", ""),
                                  .facts = json_get(extras, "facts"),
                                  .picture = json_str(picture, "base64", ""),
                                  .picture_type = json_str(picture, "type", "").p};
    if (!event)
        tool_fail(c, e);
    else if (!result.failed && result.state.n == 0 && result.text.n > tool_room(c))
        end_cut(c, &result);
    else
        tool_skill_end(c, &result);
}

void tool_skill_as(struct tool_call *c, const char *name, struct json *args,
                   tool_observed *fn)
{
    struct json *message = json_object(), *call = json_object();
    json_put_z(call, "name", name);
    json_put(call, "args", args);
    json_put_int(call, "bytes", (int64_t)tool_room(c));
    json_put_z(message, "action", "skill");
    json_put(message, "args", call);
    tool_act(c, 0, STR("main"), message, fn);
}

void tool_skill(struct tool_call *c, const char *name, struct json *args)
{
    tool_skill_as(c, name, args, tool_skill_observed);
}

void tool_skill_stop(struct tool_call *c, enum tool_stop why)
{
    struct err e = ERR_INIT;
    (void)why;
    if (c->action && c->tool->read_only)
        actions_cancel(c->actions, c->action, &e);
}
