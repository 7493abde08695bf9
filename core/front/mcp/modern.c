/* SPDX-License-Identifier: MIT */
/*
 * Requests of the modern era over HTTP, without a session. Headers repeat parts of the
 * body for proxies; a request is refused if they differ. Closing the connection cancels
 * the request (stream.c).
 */
#include "front/mcp/own.h"

#include "base/enc.h"

/* ---- headers ---- */

/* Returns the value of a header; =?base64?…?= is decoded into space. */
static struct str decoded(struct str v, struct buf *space)
{
    struct str head = STR("=?base64?"), tail = STR("?=");
    if (!str_starts(v, head) || !str_ends(v, tail) || v.n < head.n + tail.n)
        return v;
    v = str_sub(v, head.n, v.n - head.n - tail.n);
    return dec_base64(space, v) == 0 ? buf_str(space) : STR("");
}

static bool agrees(struct mcp_ask *a, const struct req *r, const char *header,
                   struct str wanted)
{
    struct buf space = BUF_INIT(8 << 10);
    struct str given = req_header(r, header);
    bool same = given.p && str_eq(decoded(given, &space), wanted);
    buf_release(&space);
    if (!same)
        mcp_error(a, RPC_HEADER, "the header %s %s", header,
                  given.p ? "differs from the message" : "is missing");
    return same;
}

static bool check_headers(struct mcp_ask *a, const struct req *r)
{
    const struct rpc *in = a->in;
    struct str version = json_str(in->meta, MCP_META "protocolVersion", "");
    bool by_uri = str_eq(in->method, STR("resources/read"));
    bool by_name = str_eq(in->method, STR("tools/call")) ||
                   str_eq(in->method, STR("prompts/get"));
    if (!agrees(a, r, "MCP-Protocol-Version", version) ||
        !agrees(a, r, "Mcp-Method", in->method))
        return false;
    if (!by_uri && !by_name)
        return true;
    return agrees(a, r, "Mcp-Name", json_str(in->params, by_uri ? "uri" : "name", ""));
}

/* ---- the request ---- */

void mcp_ask_modern(struct mcp *m, struct req *r, const struct rpc *in,
                    const struct mcp_wish *wish, const char *credential, bool sse)
{
    struct mcp_ask a = {.m = m,
                        .revision = MCP_2026_07_28,
                        .wish = wish,
                        .credential = credential,
                        .in = in};
    mcp_client_name(a.client, json_get(in->meta, MCP_META "clientInfo"));
    a.out = mcp_stream_new(m, NULL, r);
    a.out->sse = sse;
    a.out->waiting = 1;
    if (check_headers(&a, r) && mcp_modern_check(&a))
        mcp_method(&a);
    mcp_stream_settle(a.out);
}
