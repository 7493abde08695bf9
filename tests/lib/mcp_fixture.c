/* SPDX-License-Identifier: MIT */
/*
 * od-mcp-fixture: the whole program with other tools at its MCP front-end. The official
 * suites call test_*; act does one action of the action room, step by step; echo returns
 * the arguments it got. In addition to the program's resources there are those at
 * test://, and there are prompts.
 */
#include "front/mcp/own.h"

#include "base/log.h"
#include "base/xalloc.h"

#include <stdio.h>
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

static const char png[] = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8"
                          "z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

static void image_content(struct tool_call *c)
{
    struct tool_result r = {
        .text = STR("a picture"), .pictures = {{STR(png), "image/png"}}, .npictures = 1};
    tool_end(c, &r);
}

static struct json *parsed(const char *text)
{
    struct err e = ERR_INIT;
    return json_parse_kept(str_of(text), &e);
}

static void end_blocks(struct tool_call *c, const char *text, const char *blocks)
{
    struct tool_result r = {.text = str_of(text), .blocks = parsed(blocks)};
    tool_end(c, &r);
}

static void audio_content(struct tool_call *c)
{
    end_blocks(
        c, "a sound",
        "[{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"UklGRiYAAABXQVZFZm10"
        "IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==\"}]");
}

static void embedded_resource(struct tool_call *c)
{
    end_blocks(
        c, "a resource",
        "[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\","
        "\"mimeType\":\"text/plain\",\"text\":\"This is an embedded resource "
        "content.\"}}]");
}

static void several_contents(struct tool_call *c)
{
    struct tool_result r = {
        .text = STR("Multiple content types test:"),
        .pictures = {{STR(png), "image/png"}},
        .npictures = 1,
        .blocks = parsed(
            "[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://"
            "mixed-content-resource\",\"mimeType\":\"application/json\","
            "\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]")};
    tool_end(c, &r);
}

/* ---- one that sends log messages ---- */

struct logging {
    struct tool_call *c;
    unsigned n;
    struct timer next;
};

static void on_next(struct timer *t)
{
    static const struct str lines[] = {STR("Tool execution started"),
                                       STR("Tool processing data"),
                                       STR("Tool execution completed")};
    struct logging *l = container_of(t, struct logging, next);
    struct tool_call *c = l->c;
    mcp_call_tell(container_of(c, struct mcp_call, c), MCP_INFO, "test", lines[l->n]);
    if (++l->n < sizeof(lines) / sizeof(lines[0])) {
        timer_begin(c->en->loop, t, 50, on_next);
        return;
    }
    c->own = NULL;
    free(l);
    end_text(c, "logged", false);
}

static void log_lines(struct tool_call *c)
{
    struct logging *l = xnew(struct logging);
    l->c = c;
    c->own = l;
    timer_begin(c->en->loop, &l->next, 0, on_next);
}

static void log_stop(struct tool_call *c, enum tool_stop why)
{
    struct logging *l = c->own;
    (void)why;
    timer_stop(&l->next);
    free(l);
    c->own = NULL;
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

#define TEST_TOOL(what, begin) \
    const struct tool tool_test_##what = {.name = "test_" #what, \
                                          .title = "Of the suite", \
                                          .takes = &nothing, \
                                          .read_only = true, \
                                          .start = begin};
TEST_TOOL(audio_content, audio_content)
TEST_TOOL(embedded_resource, embedded_resource)
TEST_TOOL(multiple_content_types, several_contents)

#define LOGGING_TOOL(what) \
    const struct tool tool_##what = {.name = #what, \
                                     .title = "Logs", \
                                     .takes = &nothing, \
                                     .read_only = true, \
                                     .start = log_lines, \
                                     .stop = log_stop};
LOGGING_TOOL(test_tool_with_logging)
LOGGING_TOOL(test_logging_tool)

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
    char again[64];
    snprintf(again, sizeof(again), "done, again, wait %d bytes %zu", c->client.max_wait_s,
             c->client.answer_max);
    struct tool_result r = {.text = buf_str(&a->text),
                            .state = str_of(c->resumed ? again : "done"),
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

/* Replaces core/front/mcp/tools/table.c. */
const struct tool *tool_at(size_t i)
{
    static const struct tool *const tools[] = {&tool_test_simple_text,
                                               &tool_test_error_handling,
                                               &tool_test_image_content,
                                               &tool_act_steps,
                                               &tool_echo,
                                               &tool_test_audio_content,
                                               &tool_test_embedded_resource,
                                               &tool_test_multiple_content_types,
                                               &tool_test_tool_with_logging,
                                               &tool_test_logging_tool};
    return i < sizeof(tools) / sizeof(tools[0]) ? tools[i] : NULL;
}

/* ---- resources ---- */

enum { ITEMS = 120 /* more than two pages */ };

static void list_test(struct mcp *m, struct json *list)
{
    (void)m;
    mcp_resource_put(list, STR("test://static-text"), STR("text"), NULL, "text/plain");
    mcp_resource_put(list, STR("test://static-binary"), STR("bytes"), NULL, "image/png");
    for (int i = 0; i < ITEMS; i++) {
        char uri[64];
        int n = snprintf(uri, sizeof(uri), "test://item/%03d", i);
        mcp_resource_put(list, str_n(uri, (size_t)n), STR("item"), NULL, "text/plain");
    }
}

/* test://template/ID/data */
static bool put_data(struct str uri, struct buf *out)
{
    struct str head = STR("test://template/"), end = STR("/data");
    if (!str_starts(uri, head) || !str_ends(uri, end) || uri.n < head.n + end.n)
        return false;
    struct str id = str_sub(uri, head.n, uri.n - head.n - end.n);
    buf_addf(out, "{\"id\":\"%.*s\"}", STR_ARG(id));
    return true;
}

static void read_test(struct mcp_ask *a, struct str uri)
{
    static const char bytes[] = "\x89PNG\r\n\x1a\n\0";
    struct err e = ERR_INIT;
    struct buf data = BUF_INIT(4096);
    struct json *j = NULL;
    if (str_eq(uri, STR("test://static-text")))
        j = mcp_contents(a->revision, uri, "text/plain",
                         STR("This is the content of the static text resource."), NULL);
    else if (str_eq(uri, STR("test://static-binary")))
        j = mcp_contents(a->revision, uri, "image/png", STR(bytes), NULL);
    else if (put_data(uri, &data))
        j = mcp_contents(a->revision, uri, "application/json", buf_str(&data), NULL);
    buf_release(&data);
    if (!j)
        err_set(&e, ERR_NOTFOUND, "there is no such test resource");
    if (j)
        mcp_result(a, j);
    else
        mcp_resource_fail(a, uri, &e);
}

static int watch_test(struct mcp_sub *s, struct err *e)
{
    (void)e;
    mcp_sub_ready(s);
    return 0;
}

static const struct mcp_resource resource_test = {.prefix = "test://",
                                                  .pattern = "test://template/{id}/data",
                                                  .name = "template",
                                                  .about = "Of the suite",
                                                  .arguments = "id",
                                                  .list = list_test,
                                                  .read = read_test,
                                                  .watch = watch_test};

/* Replaces core/front/mcp/table.c. */
const struct mcp_resource *mcp_resource_at(size_t i)
{
    static const struct mcp_resource *const kinds[] = {
        &mcp_resource_file, &mcp_resource_output, &mcp_resource_screen,
        &mcp_resource_events, &resource_test};
    return i < sizeof(kinds) / sizeof(kinds[0]) ? kinds[i] : NULL;
}

/* ---- prompts ---- */

static void list_prompts(struct mcp_ask *a)
{
    mcp_page(a, "prompts", "name", false,
             parsed("[{\"name\":\"test_simple_prompt\",\"description\":\"Simple\"},"
                    "{\"name\":\"test_prompt_with_arguments\",\"description\":\"Two\","
                    "\"arguments\":[{\"name\":\"arg1\",\"required\":true},"
                    "{\"name\":\"arg2\",\"required\":true}]},"
                    "{\"name\":\"test_prompt_with_embedded_resource\",\"description\":"
                    "\"Resource\",\"arguments\":[{\"name\":\"resourceUri\",\"required\":"
                    "true}]},"
                    "{\"name\":\"test_prompt_with_image\",\"description\":\"Picture\"}]"),
             0);
}

static void push_message(struct json *messages, struct json *content)
{
    struct json *j = json_object();
    json_put_z(j, "role", "user");
    json_put(j, "content", content);
    json_push(messages, j);
}

static struct json *text_content(const char *text)
{
    struct json *j = json_object();
    json_put_z(j, "type", "text");
    json_put_z(j, "text", text);
    return j;
}

static void get_prompt(struct mcp_ask *a)
{
    struct str name = json_str(a->in->params, "name", "");
    const struct json *args = json_get(a->in->params, "arguments");
    struct json *j = json_object(), *messages = json_array(), *content = json_object();
    bool known = true;
    if (str_eq(name, STR("test_simple_prompt"))) {
        push_message(messages, text_content("This is a simple prompt for testing."));
    } else if (str_eq(name, STR("test_prompt_with_arguments"))) {
        struct buf b = BUF_INIT(4096);
        buf_addf(&b, "Prompt with arguments: arg1='%s', arg2='%s'",
                 json_str(args, "arg1", "").p, json_str(args, "arg2", "").p);
        push_message(messages, text_content(buf_z(&b)));
        buf_release(&b);
    } else if (str_eq(name, STR("test_prompt_with_embedded_resource"))) {
        struct json *r = json_object();
        json_put_str(r, "uri", json_str(args, "resourceUri", ""));
        json_put_z(r, "mimeType", "text/plain");
        json_put_z(r, "text", "Embedded resource content for testing.");
        json_put_z(content, "type", "resource");
        json_put(content, "resource", r);
        push_message(messages, json_copy(content));
        push_message(messages,
                     text_content("Please process the embedded resource above."));
    } else if (str_eq(name, STR("test_prompt_with_image"))) {
        json_put_z(content, "type", "image");
        json_put_z(content, "data", png);
        json_put_z(content, "mimeType", "image/png");
        push_message(messages, json_copy(content));
        push_message(messages, text_content("Please analyze the image above."));
    } else {
        known = false;
    }
    json_free(content);
    json_put(j, "messages", messages);
    if (known) {
        mcp_result(a, j);
        return;
    }
    json_free(j);
    mcp_error(a, RPC_PARAMS, "unknown prompt");
}

/* Also for prompts, which have no values to propose. */
static void complete_test(struct mcp_ask *a)
{
    const struct json *ref = json_get(a->in->params, "ref");
    if (str_eq(json_str(ref, "type", ""), STR("ref/prompt")))
        mcp_result(a, mcp_complete_result(json_array(), 0, false));
    else
        mcp_complete(a);
}

static const struct mcp_method methods_test[] = {
    {"prompts/list", list_prompts, true, true, "prompts", NULL},
    {"prompts/get", get_prompt, true, true, "prompts", NULL},
    {"completion/complete", complete_test, true, true, "completions", NULL},
};

const struct mcp_method *mcp_method_at(size_t i)
{
    size_t n = sizeof(methods_test) / sizeof(methods_test[0]);
    if (i < n)
        return &methods_test[i];
    return i - n < mcp_methods_n ? &mcp_methods[i - n] : NULL;
}
