/* SPDX-License-Identifier: MIT */
#include "front/mcp/rpc.h"

static const char *const revisions[MCP_REVISIONS] = {
    [MCP_2024_11_05] = "2024-11-05", [MCP_2025_03_26] = "2025-03-26",
    [MCP_2025_06_18] = "2025-06-18", [MCP_2025_11_25] = "2025-11-25",
    [MCP_2026_07_28] = "2026-07-28",
};

enum mcp_revision mcp_revision_of(struct str name)
{
    for (int i = 0; i < MCP_REVISIONS; i++) {
        if (str_eq(name, str_of(revisions[i])))
            return (enum mcp_revision)i;
    }
    return MCP_UNKNOWN;
}

const char *mcp_revision_name(enum mcp_revision r)
{
    return r >= 0 && r < MCP_REVISIONS ? revisions[r] : "";
}

static bool is_id(const struct json *v)
{
    if (!json_is_number(v))
        return json_is_string(v);
    double d = json_num_value(v, 0.5);
    return d > -0x1p63 && d < 0x1p63 && d == (double)(int64_t)d;
}

int rpc_read(const struct json *m, struct rpc *out, struct err *e)
{
    const struct json *method = json_get(m, "method"), *id = json_get(m, "id");
    *out = (struct rpc){.kind = RPC_REQUEST};
    if (!json_is_object(m))
        return err_set(e, ERR_INVALID, "a message is a JSON object");
    if (is_id(id))
        out->id = id;
    if (!str_eq(json_str(m, "jsonrpc", ""), STR("2.0")))
        return err_set(e, ERR_INVALID, "jsonrpc must be \"2.0\"");
    if (id && !out->id && !(json_has(m, "error") && json_is_null(id)))
        return err_set(e, ERR_INVALID, "id must be a string or an integer");
    if (!method && (json_has(m, "result") || json_has(m, "error"))) {
        out->kind = RPC_RESPONSE;
        return 0;
    }
    if (!json_is_string(method))
        return err_set(e, ERR_INVALID, "method must be a string");
    out->kind = out->id ? RPC_REQUEST : RPC_NOTIFICATION;
    out->method = json_str_value(method, "");
    const struct json *params = json_get(m, "params");
    if (params && !json_is_object(params) && !json_is_null(params))
        return err_set(e, ERR_INVALID, "params must be an object");
    out->params = json_is_object(params) ? params : NULL;
    const struct json *meta = json_get(params, "_meta");
    out->meta = json_is_object(meta) ? meta : NULL;
    return 0;
}

static void begin(struct buf *out, const struct json *id)
{
    buf_addz(out, "{\"jsonrpc\":\"2.0\"");
    if (id) {
        buf_addz(out, ",\"id\":");
        json_print(out, id);
    }
}

void rpc_put_result(struct buf *out, const struct json *id, const struct json *result)
{
    begin(out, id);
    buf_addz(out, ",\"result\":");
    json_print(out, result);
    buf_addc(out, '}');
}

void rpc_put_error(struct buf *out, const struct json *id, int code, struct str text,
                   const struct json *data)
{
    begin(out, id);
    buf_addf(out, ",\"error\":{\"code\":%d,\"message\":", code);
    json_quote(out, text);
    if (data) {
        buf_addz(out, ",\"data\":");
        json_print(out, data);
    }
    buf_addz(out, "}}");
}

void rpc_put_notification(struct buf *out, const char *method, const struct json *params)
{
    buf_addf(out, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"", method);
    if (params) {
        buf_addz(out, ",\"params\":");
        json_print(out, params);
    }
    buf_addc(out, '}');
}

bool rpc_same_id(const struct json *a, const struct json *b)
{
    if (json_is_string(a))
        return json_is_string(b) && str_eq(json_str_value(a, ""), json_str_value(b, ""));
    return json_is_number(a) && json_is_number(b) &&
           json_num_value(a, 0) == json_num_value(b, 0);
}
