/* SPDX-License-Identifier: MIT */
/* Messages: what is one, and how answers are written. */
#include "front/mcp/rpc.h"

#include "t.h"

static struct json *message;
static struct rpc in;
static struct err e;

static int read_text(const char *text)
{
    struct err bad = ERR_INIT;
    json_free(message);
    e = (struct err)ERR_INIT;
    message = json_parse(str_of(text), &bad);
    if (!message)
        T_FAIL("%s: %s", text, bad.text);
    return rpc_read(message, &in, &e);
}

TEST(kinds)
{
    CHECK_INT(read_text("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}"), 0);
    CHECK_INT(in.kind, RPC_REQUEST);
    CHECK_INT(read_text("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":null}"), 0);
    CHECK_INT(in.kind, RPC_NOTIFICATION);
    CHECK(!in.params);
    CHECK_INT(read_text("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}"), 0);
    CHECK_INT(in.kind, RPC_RESPONSE);
    CHECK_INT(read_text("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1}}"), 0);
    CHECK_INT(in.kind, RPC_RESPONSE);
    CHECK_INT(read_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\","
                        "\"params\":{\"_meta\":{\"a\":1}}}"),
              0);
    CHECK_INT(json_int(in.meta, "a", 0), 1);
    json_free(message);
    message = NULL;
}

TEST(bad)
{
    static const struct {
        const char *text;
        bool id;
    } all[] = {
        {"[]", false},
        {"7", false},
        {"{}", false},
        {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", true},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"m\"}", false},
        {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", true},
        {"{\"jsonrpc\":\"2.0\",\"id\":1}", true},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[]}", true},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        CHECK_INT(read_text(all[i].text), -1);
        CHECK(e.text[0]);
        CHECK_INT(in.id != NULL, all[i].id);
    }
    json_free(message);
    message = NULL;
}

TEST(answers)
{
    static const char *const ids[] = {"0", "9007199254740991", "-3", "\"a\\\"b\\u00e9\"",
                                      "\"\""};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct buf b = BUF_INIT(1000), wanted = BUF_INIT(1000);
        struct err bad = ERR_INIT;
        struct json *id = json_parse(str_of(ids[i]), &bad), *result = json_object();
        rpc_put_result(&b, id, result);
        struct json *back = json_parse(buf_str(&b), &bad);
        CHECK(back && rpc_same_id(json_get(back, "id"), id));
        buf_addf(&wanted, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}",
                 i == 3 ? "\"a\\\"b\xc3\xa9\"" : ids[i]);
        CHECK_STR(buf_z(&b), buf_z(&wanted));
        json_free(back);
        json_free(id);
        json_free(result);
        buf_release(&b);
        buf_release(&wanted);
    }
    struct buf b = BUF_INIT(1000);
    rpc_put_error(&b, NULL, RPC_PARSE, STR("no \"text\""), NULL);
    CHECK_STR(buf_z(&b), "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":"
                         "\"no \\\"text\\\"\"}}");
    buf_release(&b);
}

TEST(ids_differ_by_type)
{
    struct err bad = ERR_INIT;
    struct json *n = json_parse(STR("1"), &bad), *s = json_parse(STR("\"1\""), &bad);
    CHECK(!rpc_same_id(n, s));
    CHECK(!rpc_same_id(s, n));
    CHECK(rpc_same_id(s, s));
    json_free(n);
    json_free(s);
}

TEST(revisions)
{
    CHECK_INT(mcp_revision_of(STR("2025-11-25")), MCP_2025_11_25);
    CHECK_INT(mcp_revision_of(STR("2025-11-2")), MCP_UNKNOWN);
    CHECK_STR(mcp_revision_name(MCP_2026_07_28), "2026-07-28");
    CHECK_STR(mcp_revision_name(MCP_UNKNOWN), "");
}

T_MAIN
