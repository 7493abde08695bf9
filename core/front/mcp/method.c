/* SPDX-License-Identifier: MIT */
/*
 * The methods of both eras. Each method is a row of the table, which also has the
 * capability that the server declares.
 */
#include "front/mcp/own.h"

#include <stdarg.h>
#include <stdio.h>

enum { LIST_TTL_MS = 3600000 };

static const char there[] = "A whole computer: these tools act there, not where you run; "
                            "built-in shell and file tools of yours see other files. ";
static const char here[] = "Tools on this machine. ";
static const char instructions[] =
    "Shells, kernels and the browser keep their state between calls, also if the "
    "connection breaks. The last line of an answer, in [brackets], says what happened "
    "and what to do next: the exit status, that a program waits for input, that it still "
    "runs, or where cut output continues. Nothing is stopped for being slow; wait with "
    "shell_input instead of sleeping or asking again. Start servers with shell and "
    "wait_s 0. Output of command N is kept as @N for read and search. Every edit and "
    "write can be taken back with edit undo.";

static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                     "error", "critical", "alert",  "emergency"};
#define LEVELS \
    " must be one of debug, info, notice, warning, error, critical, alert, emergency"

/* ---- answers ---- */

void mcp_result(struct mcp_ask *a, struct json *result)
{
    ASSERT(json_is_object(result));
    struct buf b = BUF_INIT(MCP_ANSWER_BYTES);
    if (a->revision == MCP_2026_07_28)
        mcp_put_modern(a->m, result);
    rpc_put_result(&b, a->in->id, result);
    json_free(result);
    if (buf_full(&b))
        mcp_fail(a, RPC_INTERNAL, STR("the answer is longer than 8 MiB: ask for less"),
                 NULL);
    else
        mcp_stream_put(a->out, buf_str(&b), true);
    buf_release(&b);
}

void mcp_fail(struct mcp_ask *a, int code, struct str text, struct json *data)
{
    struct buf b = BUF_INIT(64 << 10);
    rpc_put_error(&b, a->in->id, code, text, data);
    json_free(data);
    if (a->revision == MCP_2026_07_28)
        a->out->status = code == RPC_METHOD ? 404 : 400;
    mcp_stream_put(a->out, buf_str(&b), true);
    buf_release(&b);
}

void mcp_error(struct mcp_ask *a, int code, const char *fmt, ...)
{
    struct buf text = BUF_INIT(4096);
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    mcp_fail(a, code, buf_str(&text), NULL);
    buf_release(&text);
}

/* ---- the server's description ---- */

static void put_instructions(struct json *j, const struct mcp_wish *w)
{
    struct buf b = BUF_INIT(4096);
    buf_addz(&b, w->here ? here : there);
    buf_addz(&b, instructions);
    json_put_str(j, "instructions", buf_str(&b));
    buf_release(&b);
}

/* Returns the capabilities of the methods of this era. */
static struct json *capabilities(bool modern)
{
    struct json *j = json_object();
    const struct mcp_method *v;
    for (size_t i = 0; (v = mcp_method_at(i)); i++) {
        if (!v->capability || !(modern ? v->modern : v->legacy))
            continue;
        if (!json_has(j, v->capability))
            json_put(j, v->capability, json_object());
        if (v->option)
            json_put_bool(json_get(j, v->capability), v->option, true);
    }
    if (modern) /* for requests that ask for it in _meta */
        json_put(j, "logging", json_object());
    return j;
}

const char *mcp_version(const struct mcp *m)
{
    return m->fronts ? json_str(fronts_about(m->fronts), "version", "").p : "";
}

void mcp_client_name(char out[MCP_CLIENT_MAX + 1], const struct json *info)
{
    struct str s = json_str(info, "name", "");
    size_t n = s.n < MCP_CLIENT_MAX ? s.n : MCP_CLIENT_MAX;
    if (n > 0)
        memcpy(out, s.p, n);
    out[n] = 0;
}

/* initialize: sets the session's revision, client and wish. */
static void mcp_session_begin(struct mcp_session *s, const struct rpc *in)
{
    enum mcp_revision r = mcp_revision_of(json_str(in->params, "protocolVersion", ""));
    s->revision = r == MCP_UNKNOWN || r > MCP_LEGACY ? MCP_LEGACY : r;
    mcp_client_name(s->client, json_get(in->params, "clientInfo"));
    mcp_session_keep(s);
}

bool mcp_modern_check(struct mcp_ask *a)
{
    struct str name = json_str(a->in->meta, MCP_META "protocolVersion", "");
    if (mcp_revision_of(name) != MCP_2026_07_28) {
        struct json *data = json_object(), *list = json_array();
        for (int i = MCP_REVISIONS - 1; i >= 0; i--)
            json_push_str(list, str_of(mcp_revision_name((enum mcp_revision)i)));
        json_put(data, "supported", list);
        json_put_str(data, "requested", name);
        mcp_fail(a, RPC_REVISION, STR("this revision of the protocol is not supported"),
                 data);
        return false;
    }
    if (!json_is_object(json_get(a->in->meta, MCP_META "clientCapabilities"))) {
        mcp_error(a, RPC_PARAMS, "params._meta must have " MCP_META "clientCapabilities");
        return false;
    }
    if (json_has(a->in->meta, MCP_META "logLevel") &&
        mcp_level(json_str(a->in->meta, MCP_META "logLevel", "")) < 0) {
        mcp_error(a, RPC_PARAMS, MCP_META "logLevel" LEVELS);
        return false;
    }
    return true;
}

static void initialize(struct mcp_ask *a)
{
    struct json *j = json_object(), *server = json_object();
    if (!a->session) {
        json_free(j);
        json_free(server);
        mcp_error(a, RPC_METHOD, "initialize is not a method of this revision");
        return;
    }
    mcp_session_begin(a->session, a->in);
    json_put_z(j, "protocolVersion", mcp_revision_name(a->session->revision));
    json_put(j, "capabilities", capabilities(false));
    json_put_z(server, "name", MCP_SERVER);
    json_put_z(server, "title", "od");
    json_put_z(server, "version", mcp_version(a->m));
    json_put(j, "serverInfo", server);
    put_instructions(j, a->wish);
    mcp_result(a, j);
}

void mcp_put_cacheable(const struct mcp_ask *a, struct json *j, int64_t ttl_ms)
{
    if (a->revision != MCP_2026_07_28)
        return;
    json_put_int(j, "ttlMs", ttl_ms);
    json_put_z(j, "cacheScope", "private");
}

static void discover(struct mcp_ask *a)
{
    struct json *j = json_object(), *list = json_array();
    for (int i = MCP_REVISIONS - 1; i >= 0; i--)
        json_push_str(list, str_of(mcp_revision_name((enum mcp_revision)i)));
    json_put(j, "supportedVersions", list);
    json_put(j, "capabilities", capabilities(true));
    put_instructions(j, a->wish);
    mcp_put_cacheable(a, j, LIST_TTL_MS);
    mcp_result(a, j);
}

/* ---- the methods ---- */

static void ping(struct mcp_ask *a) { mcp_result(a, json_object()); }

static void list_tools(struct mcp_ask *a)
{
    struct json *j = mcp_tools_list(a->wish);
    mcp_page(a, "tools", "name", false, json_take(j, "tools"), LIST_TTL_MS);
    json_free(j);
}

int mcp_level(struct str name)
{
    for (int i = 0; i < 8; i++) {
        if (str_eq(name, str_of(levels[i])))
            return i;
    }
    return -1;
}

const char *mcp_level_name(int level) { return levels[level]; }

static void set_level(struct mcp_ask *a)
{
    int level = mcp_level(json_str(a->in->params, "level", ""));
    if (level < 0) {
        mcp_error(a, RPC_PARAMS, "level" LEVELS);
        return;
    }
    a->session->level = level;
    mcp_session_keep(a->session);
    mcp_result(a, json_object());
}

const struct mcp_method mcp_methods[] = {
    {"initialize", initialize, true, false, NULL, NULL},
    {"ping", ping, true, false, NULL, NULL},
    {"server/discover", discover, true, true, NULL, NULL},
    {"tools/list", list_tools, true, true, "tools", NULL},
    {"tools/call", mcp_call_begin, true, true, "tools", NULL},
    {"resources/list", mcp_list_resources, true, true, "resources", NULL},
    {"resources/templates/list", mcp_list_templates, true, true, "resources", NULL},
    {"resources/read", mcp_read_resource, true, true, "resources", NULL},
    {"resources/subscribe", mcp_subscribe, true, false, "resources", "subscribe"},
    {"resources/unsubscribe", mcp_unsubscribe, true, false, "resources", "subscribe"},
    {"subscriptions/listen", mcp_listen, false, true, "resources", "subscribe"},
    {"completion/complete", mcp_complete, true, true, "completions", NULL},
    {"logging/setLevel", set_level, true, false, "logging", NULL},
};
const size_t mcp_methods_n = sizeof(mcp_methods) / sizeof(mcp_methods[0]);

void mcp_method(struct mcp_ask *a)
{
    bool modern = a->revision == MCP_2026_07_28;
    a->m->served++;
    const struct mcp_method *v;
    for (size_t i = 0; (v = mcp_method_at(i)); i++) {
        if (!str_eq(a->in->method, str_of(v->name)) || !(modern ? v->modern : v->legacy))
            continue;
        v->run(a);
        return;
    }
    mcp_error(a, RPC_METHOD, "there is no method %.*s",
              (int)(a->in->method.n < 100 ? a->in->method.n : 100), a->in->method.p);
}

/* ---- notifications ---- */

/*
 * Distinguishes a client's timeout from a user's cancellation. The protocol has only the
 * free text of the reason; README.md lists the texts of clients.
 */
static enum tool_stop why_of(struct str reason)
{
    static const char *const late[] = {"timed out", "timeout", "Timeout",
                                       "deadline exceeded"};
    for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
        if (str_find(reason, str_of(late[i])) >= 0)
            return TOOL_TIMED_OUT;
    }
    return TOOL_CANCELLED;
}

/* Handles a notification of a session. Notifications by modern HTTP have no effect. */
static void mcp_notified(struct mcp *m, struct mcp_session *s, const struct rpc *in)
{
    const struct json *id = json_get(in->params, "requestId");
    if (!str_eq(in->method, STR("notifications/cancelled")) || !s || !id)
        return;
    struct mcp_call *k = mcp_call_find(m, s, id);
    if (k)
        mcp_call_stop(k, why_of(json_str(in->params, "reason", "")));
    else if (!mcp_pending_cancel(m, s, id))
        mcp_listeners_stop(m, s, NULL, id);
}

/* ---- messages of a session ---- */

void mcp_take_request(struct mcp_session *s, struct mcp_stream *out, const struct rpc *in)
{
    const struct json *revision = json_get(in->meta, MCP_META "protocolVersion");
    bool modern = revision && s->lines;
    struct mcp_ask a = {.m = s->m,
                        .session = s,
                        .out = out,
                        .revision = modern ? MCP_2026_07_28 : s->revision,
                        .wish = &s->wish,
                        .credential = s->credential,
                        .in = in};
    struct mcp_call *k = mcp_call_find(s->m, s, in->id);
    bool taken = k || mcp_kept_has(out, in->id);
    if (taken && s->resumed)
        return; /* repeated, as the previous worker did not accept it */
    if (modern)
        mcp_client_name(a.client, json_get(in->meta, MCP_META "clientInfo"));
    else
        memcpy(a.client, s->client, sizeof(a.client));
    out->waiting++;
    if (k)
        mcp_error(&a, RPC_INVALID, "a request with this id is running already");
    else if (!modern || mcp_modern_check(&a))
        mcp_method(&a);
}

void mcp_take_message(struct mcp_session *s, struct mcp_stream *out,
                      const struct json *message)
{
    struct err e = ERR_INIT;
    struct rpc in;
    struct buf b = BUF_INIT(8 << 10);
    if (rpc_read(message, &in, &e) < 0) {
        out->waiting++;
        out->status = 400;
        rpc_put_error(&b, in.id, RPC_INVALID, str_of(e.text), NULL);
        mcp_stream_put(out, buf_str(&b), true);
    } else if (in.kind == RPC_NOTIFICATION) {
        mcp_notified(s->m, s, &in);
    } else if (in.kind == RPC_REQUEST) {
        mcp_take_request(s, out, &in);
    }
    buf_release(&b);
}
