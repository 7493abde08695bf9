/* SPDX-License-Identifier: MIT */
/*
 * MCP's messages: JSON-RPC 2.0 objects, and the revisions of the protocol.
 *
 * Revisions up to 2025-11-25 are legacy: they begin with initialize. 2026-07-28 is
 * modern: each request has its revision in params._meta, and there is no session.
 */
#ifndef OD_FRONT_MCP_RPC_H
#define OD_FRONT_MCP_RPC_H

#include "base/buf.h"
#include "base/json.h"

enum mcp_revision {
    MCP_UNKNOWN = -1,
    MCP_2024_11_05,
    MCP_2025_03_26,
    MCP_2025_06_18,
    MCP_2025_11_25,
    MCP_2026_07_28,
    MCP_REVISIONS
};
#define MCP_LEGACY MCP_2025_11_25 /* the newest revision with sessions */

enum mcp_revision mcp_revision_of(struct str name);
const char *mcp_revision_name(enum mcp_revision r);

enum {
    RPC_PARSE = -32700,
    RPC_INVALID = -32600,
    RPC_METHOD = -32601,
    RPC_PARAMS = -32602,
    RPC_INTERNAL = -32603,
    RPC_NO_RESOURCE = -32002, /* legacy only */
    RPC_NO_SESSION = -32001,
    RPC_HEADER = -32020, /* modern: a header differs from the body */
    RPC_CAPABILITY = -32021,
    RPC_REVISION = -32022
};

/* Members of _meta in a modern request, by the name after "io.modelcontextprotocol/". */
#define MCP_META "io.modelcontextprotocol/"

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

/* A parsed message; everything is borrowed from it. */
struct rpc {
    enum rpc_kind kind;
    const struct json *id;     /* id of a request or response: a string or an integer */
    struct str method;         /* "" of a response */
    const struct json *params; /* an object, or NULL */
    const struct json *meta;   /* params._meta, an object, or NULL */
};

/* Returns 0; -1 and sets *e if it is not a message. out->id is its id, if it has one. */
int rpc_read(const struct json *message, struct rpc *out, struct err *e);

/* Appends an answer. id NULL: the request's id is not known, and the answer has none. */
void rpc_put_result(struct buf *out, const struct json *id, const struct json *result);
/* data may be NULL. */
void rpc_put_error(struct buf *out, const struct json *id, int code, struct str text,
                   const struct json *data);
/* Appends {"jsonrpc":"2.0","method":…,"params":…}. params may be NULL. */
void rpc_put_notification(struct buf *out, const char *method, const struct json *params);
/* Whether two ids, or progress tokens, are the same value of the same type. */
bool rpc_same_id(const struct json *a, const struct json *b);

#endif
