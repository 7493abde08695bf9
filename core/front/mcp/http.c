/* SPDX-License-Identifier: MIT */
/*
 * /mcp: MCP's Streamable HTTP, both eras on one endpoint.
 *
 *   POST   a message. Of the modern era if its params._meta names a revision; else of a
 *          session, which initialize begins. A batch only at 2025-03-26.
 *   GET    a session's own stream, or one that is resumed by Last-Event-ID
 *   DELETE ends a session
 *
 * access/judge.c has checked the key already. A session accepts only the key that began
 * it.
 */
#include "front/mcp/own.h"

#include "base/limits.h"
#include "http/httpd.h"

#include <stdio.h>

static const char json_type[] = "application/json";
#define SESSION_FIELD  "Mcp-Session-Id"
#define REVISION_FIELD "MCP-Protocol-Version"

/* ---- refusals ---- */

static void refuse(struct req *r, int status, int code, const struct json *id,
                   const char *text)
{
    struct buf b = BUF_INIT(8 << 10);
    rpc_put_error(&b, id, code, str_of(text), NULL);
    req_answer_take(r, status, json_type, &b);
}

static void fail(struct req *r, int status, const char *text)
{
    if (status == 401)
        req_header_add(r, "WWW-Authenticate", "Bearer");
    refuse(r, status, status == 404 ? RPC_METHOD : RPC_INVALID, NULL, text);
}

/* ---- the client ---- */

/* Writes what identifies r's sender, the same after a restart: the name of its key; "" if
 * r needs none. */
static void credential_of(const struct req *r, char out[65])
{
    snprintf(out, 65, "%s%s", req_key(r)[0] ? "key:" : "", req_key(r));
}

/* Reads the client's settings from the query. Returns 0; -1 and sets *e. */
static int read_wish(struct req *r, struct mcp_wish *w, struct err *e)
{
    struct buf b = BUF_INIT(2000);
    uint64_t n;
    int rc = 0;
    if (req_query(r, "tools", &b) > 0)
        rc = mcp_wish_tools(w, buf_str(&b), e);
    buf_reset(&b);
    if (req_query(r, "structured", &b) > 0)
        w->structured = str_eq(buf_str(&b), STR("1")) || str_eq(buf_str(&b), STR("true"));
    buf_reset(&b);
    if (rc == 0 && req_query(r, "max_wait", &b) > 0) {
        rc = str_to_u64(buf_str(&b), &n) == 0 && n >= 1 && n <= 600 ? 0 : -1;
        if (rc < 0)
            err_set(e, ERR_INVALID, "max_wait is a number of seconds, 1 to 600");
        w->max_wait_s = rc < 0 ? 0 : (int64_t)n;
    }
    buf_reset(&b);
    if (rc == 0 && req_query(r, "answer_bytes", &b) > 0) {
        rc = str_to_u64(buf_str(&b), &n) == 0 && n >= 2000 && n <= TOOL_ANSWER_MAX ? 0
                                                                                   : -1;
        if (rc < 0)
            err_set(e, ERR_INVALID, "answer_bytes is a number from 2000 to %d",
                    TOOL_ANSWER_MAX);
        w->answer = rc < 0 ? 0 : (int64_t)n;
    }
    buf_release(&b);
    return rc;
}

static bool takes_streams(const struct req *r)
{
    struct str accept = req_header(r, "Accept");
    return str_find(accept, STR("text/event-stream")) >= 0;
}

/* ---- modern ---- */

static const struct json *modern_revision(const struct rpc *in)
{
    return json_get(in->meta, MCP_META "protocolVersion");
}

static void ask_modern(struct mcp *m, struct req *r, const struct rpc *in)
{
    struct mcp_wish wish = m->wish;
    struct err e = ERR_INIT;
    char credential[65];
    if (in->kind != RPC_REQUEST) {
        req_answer(r, 202, NULL, STR(""));
        return;
    }
    credential_of(r, credential);
    if (read_wish(r, &wish, &e) < 0) {
        refuse(r, 400, RPC_PARAMS, in->id, e.text);
        return;
    }
    mcp_ask_modern(m, r, in, &wish, credential, takes_streams(r));
}

/* ---- legacy ---- */

/* Returns the session of r; NULL after answering r with an error. */
static struct mcp_session *session_of(struct mcp *m, struct req *r)
{
    struct str id = req_header(r, SESSION_FIELD);
    char credential[65];
    if (!id.p) {
        refuse(r, 400, RPC_INVALID, NULL,
               SESSION_FIELD " is missing: initialize begins a session");
        return NULL;
    }
    credential_of(r, credential);
    struct mcp_session *s = mcp_session_find(m, id, credential);
    if (!s)
        refuse(r, 404, RPC_NO_SESSION, NULL,
               "there is no such session: initialize again");
    return s;
}

static bool check_revision(struct req *r)
{
    struct str name = req_header(r, REVISION_FIELD);
    enum mcp_revision v = mcp_revision_of(name);
    if (!name.p || (v != MCP_UNKNOWN && v <= MCP_LEGACY))
        return true;
    refuse(r, 400, RPC_INVALID, NULL, "this " REVISION_FIELD " is not supported here");
    return false;
}

static void begin_session(struct mcp *m, struct req *r, const struct rpc *in)
{
    char credential[65];
    struct err e = ERR_INIT;
    struct mcp_wish wish = m->wish;
    credential_of(r, credential);
    if (read_wish(r, &wish, &e) < 0) {
        refuse(r, 400, RPC_PARAMS, in->id, e.text);
        return;
    }
    struct mcp_session *s = mcp_session_new(m, credential);
    if (!s) {
        refuse(r, 503, RPC_INTERNAL, in->id, "too many sessions have running requests");
        return;
    }
    s->wish = wish;
    req_header_add(r, SESSION_FIELD, s->id);
    struct mcp_stream *out = mcp_stream_new(m, s, r);
    mcp_take_request(s, out, in);
    mcp_stream_settle(out);
}

static void ask_legacy(struct mcp *m, struct req *r, const struct json *body)
{
    struct mcp_session *s = check_revision(r) ? session_of(m, r) : NULL;
    bool batch = json_is_array(body), sse = takes_streams(r);
    if (!s)
        return;
    if (batch && (s->revision != MCP_2025_03_26 || json_count(body) == 0 ||
                  json_count(body) > MCP_BATCH_MAX)) {
        refuse(r, 400, RPC_INVALID, NULL,
               "a batch is not accepted: send each message by itself");
        return;
    }
    struct mcp_stream *out = mcp_session_stream_made(s, STR(""));
    mcp_stream_read(out, r);
    out->batch = batch;
    out->sse = sse;
    out->ids = true;
    if (!batch)
        mcp_take_message(s, out, body);
    else
        for (const struct json *v = json_first(body); v; v = json_next(v))
            mcp_take_message(s, out, v);
    mcp_stream_settle(out);
}

/* ---- routes ---- */

static void take_post(struct mcp *m, struct req *r, const struct json *body)
{
    struct err e = ERR_INIT;
    struct rpc in;
    bool message = rpc_read(body, &in, &e) == 0;
    if (message && modern_revision(&in))
        ask_modern(m, r, &in);
    else if (str_eq(req_header(r, REVISION_FIELD), STR("2026-07-28")))
        refuse(r, 400, RPC_PARAMS, message ? in.id : NULL,
               "params._meta must name " MCP_META "protocolVersion");
    else if (!message && !json_is_array(body))
        refuse(r, 400, RPC_INVALID, in.id, e.text);
    else if (!message || !str_eq(in.method, STR("initialize")))
        ask_legacy(m, r, body);
    else if (in.kind != RPC_REQUEST)
        refuse(r, 400, RPC_INVALID, NULL, "initialize needs an id: it is a request");
    else if (check_revision(r))
        begin_session(m, r, &in);
}

static void post(struct req *r)
{
    struct mcp *m = req_arg(r);
    struct err e = ERR_INIT;
    engine_touch(m->en);
    struct json *body = json_parse(req_body(r), &e);
    if (body)
        take_post(m, r, body);
    else
        refuse(r, 400, RPC_PARSE, NULL, e.text);
    json_free(body);
}

static void get(struct req *r)
{
    struct mcp *m = req_arg(r);
    struct str last = req_header(r, "Last-Event-ID");
    uint64_t since = 0;
    engine_touch(m->en);
    if (!takes_streams(r)) {
        req_header_add(r, "Allow", "POST, DELETE");
        refuse(r, 405, RPC_INVALID, NULL, "a GET is for text/event-stream");
        return;
    }
    struct mcp_session *s = check_revision(r) ? session_of(m, r) : NULL;
    if (!s)
        return;
    struct str number = last, name = str_cut(&number, '-');
    struct mcp_stream *t = NULL;
    if (last.p && str_to_u64(number, &since) < 0)
        name = STR("");
    if (!last.p || str_eq(name, STR("standing")))
        t = mcp_session_own_stream(s);
    else
        t = mcp_session_stream(s, name);
    if (!t)
        refuse(r, 400, RPC_INVALID, NULL, "this Last-Event-ID is not known");
    else
        mcp_stream_resume(t, r, since);
    if (t && t->standing)
        mcp_listeners_read(m, s);
}

static void end_session(struct req *r)
{
    struct mcp *m = req_arg(r);
    struct mcp_session *s = session_of(m, r);
    if (!s)
        return;
    mcp_session_free(s);
    req_answer(r, 204, NULL, STR(""));
}

/* Answers 404 where clients look for the metadata of an OAuth server. */
static void no_metadata(struct req *r)
{
    req_answer(r, 404, json_type, STR("{\"error\":\"not_found\"}"));
}

static const struct param metadata_query[] = {
    {.name = "name", .type = PARAM_STRING, .about = "The document"}, {0}};

#define METADATA(at) \
    { \
        .methods = HTTP_GET, .path = at, .run = no_metadata, \
        .about = "404: this server's keys are not those of OAuth", \
        .query = metadata_query, .answers = metadata_answers \
    }

static const struct route_answer post_answers[] = {
    {.status = 200, .about = "The answers", .schema = "RpcAnswer"},
    {.status = 200, .type = "text/event-stream"},
    {.status = 202, .type = "", .about = "It was a notification or an answer"},
    {0}};
static const struct route_answer get_answers[] = {
    {.status = 200, .type = "text/event-stream", .about = "Messages"}, {0}};
static const struct route_answer delete_answers[] = {
    {.status = 204, .type = "", .about = "The session has ended"}, {0}};
static const struct route_answer metadata_answers[] = {
    {.status = 404,
     .about = "There is none",
     .value = &(
         const struct member){.type = MEMBER_OBJECT,
                              .members = (const struct member[]){{.name = "error",
                                                                  .type = MEMBER_STRING,
                                                                  .about = "not_found"},
                                                                 {0}}}},
    {0}};

static const struct route routes[] = {
    {.methods = HTTP_POST,
     .path = "/mcp",
     .run = post,
     .body_max = MCP_MESSAGE_MAX,
     .about = "A message of the Model Context Protocol; the answer is JSON or an event "
              "stream",
     .answers = post_answers},
    {.methods = HTTP_GET,
     .path = "/mcp",
     .run = get,
     .about = "The event stream of a session of the Model Context Protocol",
     .answers = get_answers},
    {.methods = HTTP_DELETE,
     .path = "/mcp",
     .run = end_session,
     .about = "Ends a session of the Model Context Protocol",
     .answers = delete_answers},
    METADATA("/.well-known/{name}"),
    METADATA("/.well-known/{name}/mcp"),
};

const struct http_front mcp_bare_front = {.routes = routes,
                                          .nroutes = sizeof(routes) / sizeof(routes[0]),
                                          .fail = fail,
                                          .challenge = true,
                                          .error = "RpcError"};
