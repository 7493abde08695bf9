/* SPDX-License-Identifier: MIT */
/*
 * od-mcp-fixture: the whole program with other tools at its MCP front-end. test_* are
 * what the official suites call, act does one action of the action room, step by step,
 * and echo says what arguments came to it.
 */
#include "front/mcp/tools/tool.h"

#include "base/log.h"
#include "base/xalloc.h"

#include <stdlib.h>

/* ---- of the suites ---- */

static void end_text(struct tool_call *c, const char *text, bool failed)
{
    struct tool_result r = {.text = str_of(text), .failed = failed};
    tool_end(c, &r);
}

static void simple_text(struct tool_call *c)
{
    end_text(c, "This is a simple text response for testing.", false);
}

static void error_handling(struct tool_call *c)
{
    end_text(c, "This tool intentionally returns an error for testing", true);
}

static void image_content(struct tool_call *c)
{
    static const char png[] =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8"
        "z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
    struct tool_result r = {
        .text = STR("a picture"), .pictures = {{STR(png), "image/png"}}, .npictures = 1};
    tool_end(c, &r);
}

static const struct param_list nothing = {.about = "A tool of the suite"};

const struct tool tool_test_simple_text = {.name = "test_simple_text",
                                           .title = "Text",
                                           .takes = &nothing,
                                           .read_only = true,
                                           .start = simple_text};
const struct tool tool_test_error_handling = {.name = "test_error_handling",
                                              .title = "Error",
                                              .takes = &nothing,
                                              .start = error_handling};
const struct tool tool_test_image_content = {.name = "test_image_content",
                                             .title = "Picture",
                                             .takes = &nothing,
                                             .start = image_content};

/* ---- act: commands, one after the other ---- */

struct acting {
    unsigned step;
    struct buf text;
};

static void act_free(struct tool_call *c)
{
    struct acting *a = c->own;
    buf_release(&a->text);
    free(a);
    c->own = NULL;
}

static void next_step(struct tool_call *c);

static void observed(struct tool_call *c, const struct json *event, const struct err *e)
{
    struct acting *a = c->own;
    if (e) {
        act_free(c);
        tool_fail(c, e);
        return;
    }
    buf_addf(&a->text, "%u: %.*s\n", a->step, STR_ARG(json_str(event, "content", "")));
    a->step++;
    tool_progress(c);
    next_step(c);
}

static void next_step(struct tool_call *c)
{
    struct acting *a = c->own;
    if (a->step < (unsigned)json_int(c->args, "times", 1)) {
        struct json *message = json_object(), *args = json_object();
        json_put_z(message, "action", "run");
        json_put_str(args, "command", json_str(c->args, "command", ""));
        json_put(message, "args", args);
        tool_act(c, a->step, json_str(c->args, "session", "main"), message, observed);
        return;
    }
    struct tool_result r = {.text = buf_str(&a->text),
                            .state = c->again ? STR("done, again") : STR("done"),
                            .object = json_object()};
    json_put_int(r.object, "steps", a->step);
    struct buf text = a->text;
    a->text = (struct buf){0};
    act_free(c);
    tool_end(c, &r);
    buf_release(&text);
}

static void act(struct tool_call *c)
{
    struct acting *a = xnew(struct acting);
    buf_init(&a->text, TOOL_ANSWER_MAX);
    c->own = a;
    next_step(c);
}

static void act_stop(struct tool_call *c, enum tool_stop why)
{
    struct err e = ERR_INIT;
    if (why == TOOL_CANCELLED && actions_cancel(c->actions, c->action, &e) < 0)
        log_warn("%s", e.text);
    act_free(c);
}

static void act_progress(const struct tool_call *c, struct buf *line)
{
    const struct acting *a = c->own;
    buf_addf(line, "step %u", a->step);
}

static const struct param act_rows[] = {
    {.name = "command", .type = PARAM_STRING, .required = true, .about = "Shell text"},
    {.name = "times",
     .type = PARAM_INT,
     .ranged = true,
     .min = 1,
     .max = 60,
     .dflt = "1",
     .about = "How often"},
    {.name = "session", .type = PARAM_STRING, .about = "Session"},
    {0}};
static const struct param_list act_takes = {.about = "Runs a command",
                                            .params = act_rows};

const struct tool tool_act_steps = {.name = "act",
                                    .title = "Act",
                                    .takes = &act_takes,
                                    .also = "cmd=command",
                                    .destructive = true,
                                    .output = "{\"steps\":{\"type\":\"integer\"}}",
                                    .start = act,
                                    .stop = act_stop,
                                    .progress = act_progress};

/* ---- echo ---- */

static void echo(struct tool_call *c)
{
    struct buf b = BUF_INIT(4 << 20);
    json_print(&b, c->args);
    buf_addf(&b, " wait %d bytes %zu", c->client.max_wait_s, c->client.answer_max);
    struct tool_result r = {.text = buf_str(&b), .state = STR("echoed")};
    tool_end(c, &r);
    buf_release(&b);
}

static const struct param echo_rows[] = {
    {.name = "text", .type = PARAM_STRING, .about = "Text"},
    {.name = "wait_s", .type = PARAM_INT, .ranged = true, .max = 600, .about = "Seconds"},
    {0}};
static const struct param_list echo_takes = {.about = "Says it again",
                                             .params = echo_rows};
const struct tool tool_echo = {.name = "echo",
                               .title = "Echo",
                               .takes = &echo_takes,
                               .read_only = true,
                               .start = echo};

/* In place of core/front/mcp/table.c. */
const struct tool *tool_at(size_t i)
{
    static const struct tool *const tools[] = {&tool_test_simple_text,
                                               &tool_test_error_handling,
                                               &tool_test_image_content, &tool_act_steps,
                                               &tool_echo};
    return i < sizeof(tools) / sizeof(tools[0]) ? tools[i] : NULL;
}
