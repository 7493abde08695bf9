/* SPDX-License-Identifier: MIT */
#include "mcp_talk.h"

#include "front/mcp/link.h"
#include "front/mcp/rpc.h"

enum { HELD_MAX = 256 }; /* above the server's limit, as it ends some by itself */

#define SUBSCRIBE "resources/subscribe"
#define FRESH \
    "(the od server has ended since the last answer, and another one answers: shells, " \
    "kernels and the browser are fresh; their variables and directories are lost)\n"

void mcp_talk_init(struct mcp_talk *t)
{
    *t = (struct mcp_talk){.asked = json_array(),
                           .held = json_object(),
                           .out = BUF_INIT(4 * MCP_MESSAGE_MAX)};
}

void mcp_talk_release(struct mcp_talk *t)
{
    json_free(t->asked);
    json_free(t->held);
    buf_release(&t->out);
}

static bool is_method(const struct json *request, const char *name)
{
    return str_eq(json_str(request, "method", ""), str_of(name));
}

static const char *uri_of(const struct json *request)
{
    return json_str(json_get(request, "params"), "uri", "").p;
}

/* Returns the request of that id; NULL if there is none. */
static struct json *find(const struct mcp_talk *t, const struct json *id)
{
    struct json *v = json_first(t->asked);
    while (v && !rpc_same_id(json_get(v, "id"), id))
        v = json_next(v);
    return v;
}

static void put_line(struct buf *out, const struct json *message)
{
    json_print(out, message);
    buf_addc(out, '\n');
}

/* ---- the client's ---- */

void mcp_talk_asked(struct mcp_talk *t, struct json *message)
{
    struct rpc in;
    bool batch = json_is_array(message);
    struct json *v = batch ? json_first(message) : message;
    for (; v; v = batch ? json_next(v) : NULL) {
        if (rpc_read(v, &in, NULL) < 0)
            continue;
        if (in.kind == RPC_REQUEST) {
            json_free(json_take(json_get(v, "params"), "arguments"));
            json_push(t->asked, json_copy(v));
        } else if (str_eq(in.method, STR("notifications/cancelled"))) {
            struct json *cancelled = find(t, json_get(in.params, "requestId"));
            if (cancelled)
                json_drop(t->asked, cancelled);
        }
    }
}

/* ---- the server's ---- */

/* Holds an answered request whose effect lasts, in place of an earlier one. */
static void hold(struct mcp_talk *t, const struct json *request)
{
    const char *uri = uri_of(request), *key = json_str(request, "method", "").p;
    bool subscribes = is_method(request, SUBSCRIBE);
    if (is_method(request, "resources/unsubscribe"))
        json_free(json_take(t->held, uri));
    else if (subscribes || is_method(request, "initialize") ||
             is_method(request, "logging/setLevel"))
        json_put(t->held, subscribes ? uri : key, json_copy(request));
    if (json_count(t->held) > HELD_MAX)
        json_drop(t->held, json_next(json_first(t->held))); /* the first: initialize */
}

/* Puts the sentence before the text of a block or of a structured result. */
static void say_fresh(struct json *to)
{
    struct buf text = BUF_INIT(4 * MCP_MESSAGE_MAX);
    buf_addz(&text, FRESH);
    buf_adds(&text, json_str(to, "text", ""));
    if (json_has(to, "text"))
        json_put_str(to, "text", buf_str(&text));
    buf_release(&text);
}

/* Changes may have been missed between two servers. */
static void put_update(struct buf *out, const struct json *subscribed)
{
    struct json *params = json_object();
    json_put_z(params, "uri", uri_of(subscribed));
    rpc_put_notification(out, "notifications/resources/updated", params);
    buf_addc(out, '\n');
    json_free(params);
}

void mcp_talk_answered(struct mcp_talk *t, struct str line)
{
    struct json *message = json_parse(line, NULL);
    struct json *request = find(t, json_get(message, "id"));
    struct json *result = json_get(message, "result");
    if (json_has(request, "again")) {
        if (is_method(request, SUBSCRIBE))
            put_update(&t->out, request);
    } else if (result && is_method(request, "subscriptions/listen")) {
        request = NULL; /* the server ends, and not the subscription */
    } else if (result && t->fresh && is_method(request, "tools/call")) {
        say_fresh(json_first(json_get(result, "content")));
        say_fresh(json_get(result, "structuredContent"));
        put_line(&t->out, message);
        t->fresh = false;
    } else {
        buf_adds(&t->out, line);
        if (result)
            hold(t, request);
    }
    if (request)
        json_drop(t->asked, request);
    json_free(message);
}

/* ---- errors ---- */

static void put_error(struct buf *out, const struct json *request, const struct err *e)
{
    const struct json *id = json_get(request, "id");
    if (is_method(request, "tools/call")) { /* a result, for the model to read */
        struct buf text = BUF_INIT(sizeof(e->text) + 16);
        buf_addf(&text, "%s\n[failed]", e->text);
        buf_addz(out, "{\"jsonrpc\":\"2.0\",\"result\":{\"resultType\":\"complete\","
                      "\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":");
        json_quote(out, buf_str(&text));
        buf_addz(out, "}]},\"id\":");
        json_print(out, id);
        buf_addz(out, "}");
        buf_release(&text);
    } else {
        rpc_put_error(out, id, err_words(e->code)->jsonrpc, str_of(e->text), NULL);
    }
    buf_addc(out, '\n');
}

void mcp_talk_lost(struct mcp_talk *t, const struct err *e)
{
    for (struct json *v = json_first(t->asked), *next; v; v = next) {
        next = json_next(v);
        if (is_method(v, "subscriptions/listen"))
            continue;
        if (!json_has(v, "again"))
            put_error(&t->out, v, e);
        json_drop(t->asked, v);
    }
}

void mcp_talk_again(struct mcp_talk *t)
{
    for (struct json *v = json_first(t->asked); v; v = json_next(v))
        put_line(&t->out, v);
    for (struct json *v = json_first(t->held); v; v = json_next(v)) {
        struct json *copy = json_copy(v);
        json_put_z(copy, "id", json_name(v));
        put_line(&t->out, copy);
        json_put_bool(copy, "again", true);
        json_push(t->asked, copy);
    }
}
