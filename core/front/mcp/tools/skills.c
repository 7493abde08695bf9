/* SPDX-License-Identifier: MIT */
#include "front/mcp/tools/skills.h"

#include "base/log.h"

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
    /* The state line is the text's last one, with its brackets and newline. */
    if (r.state.n > 0 && r.text.n >= r.state.n + 3)
        r.text.n -= r.state.n + 3;
    if (result->picture.n > 0) {
        r.pictures[0] = (struct tool_picture){result->picture, result->picture_type};
        r.npictures = 1;
    }
    tool_end(c, &r);
}

static void on_skill(struct tool_call *c, const struct json *event, const struct err *e)
{
    const struct json *extras = json_get(event, "extras");
    const struct json *picture = json_get(extras, "picture");
    struct skill_result result = {.text = json_str(event, "content", ""),
                                  .failed = json_bool(extras, "failed", false),
                                  .state = json_str(extras, "state", ""),
                                  .facts = json_get(extras, "facts"),
                                  .picture = json_str(picture, "base64", ""),
                                  .picture_type = json_str(picture, "type", "").p};
    if (event)
        tool_skill_end(c, &result);
    else
        tool_fail(c, e);
}

void tool_skill(struct tool_call *c, const char *name, struct json *args)
{
    struct json *message = json_object(), *call = json_object();
    json_put_z(call, "name", name);
    json_put(call, "args", args);
    json_put_int(call, "bytes", (int64_t)tool_room(c));
    json_put_z(message, "action", "skill");
    json_put(message, "args", call);
    tool_act(c, 0, STR("main"), message, on_skill);
}

void tool_skill_stop(struct tool_call *c, enum tool_stop why)
{
    struct err e = ERR_INIT;
    (void)why;
    if (c->action && c->tool->read_only)
        actions_cancel(c->actions, c->action, &e);
}
