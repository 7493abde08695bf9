/* SPDX-License-Identifier: MIT */
/* Formats the answer of a tool for MCP. */
#include "front/mcp/own.h"

#include "base/utf8.h"

static void put_block(struct json *content, struct str text)
{
    struct json *j = json_object();
    json_put_z(j, "type", "text");
    json_put_str(j, "text", text);
    json_push(content, j);
}

static void put_pictures(struct json *content, const struct tool_result *r)
{
    for (unsigned i = 0; i < r->npictures; i++) {
        struct json *j = json_object();
        json_put_z(j, "type", "image");
        json_put_str(j, "data", r->pictures[i].base64);
        json_put_z(j, "mimeType", r->pictures[i].type);
        json_push(content, j);
    }
}

/*
 * Appends text, notes and the state line, each on lines of their own. Some clients do not
 * show a model isError, so an error has a state line, too.
 */
static void put_text(struct buf *out, const struct mcp_call *k,
                     const struct tool_result *r)
{
    struct str text = r->text;
    if (r->failed && text.n > TOOL_ERROR_MAX)
        text = str_sub(text, 0, utf8_cut(text, TOOL_ERROR_MAX));
    buf_adds(out, text);
    bool more = k->c.notes.n > 0 || r->state.n > 0 || r->failed;
    if (text.n > 0 && text.p[text.n - 1] != '\n' && more)
        buf_addc(out, '\n');
    buf_adds(out, buf_str(&k->c.notes));
    struct str state = r->state.n || !r->failed ? r->state : STR("failed");
    if (state.n > 0)
        buf_addf(out, "[%.*s]", STR_ARG(state));
    else if (out->n > 0 && out->p[out->n - 1] == '\n')
        buf_truncate(out, out->n - 1);
}

void mcp_put_modern(const struct mcp *m, struct json *result)
{
    struct json *meta = json_get(result, "_meta"), *server = json_object();
    json_put_z(result, "resultType", "complete");
    if (!meta) {
        meta = json_object();
        json_put(result, "_meta", meta);
    }
    json_put_z(server, "name", MCP_SERVER);
    json_put_z(server, "version", mcp_version(m));
    json_put(meta, MCP_META "serverInfo", server);
}

void mcp_put_tool_result(struct buf *out, const struct mcp_call *k, struct tool_result *r)
{
    struct buf text = BUF_INIT(MCP_ANSWER_BYTES);
    struct json *result = json_object(), *content = json_array();
    struct json *object = r->object ? r->object : json_object(), *meta = json_object();
    put_text(&text, k, r);
    put_block(content, buf_str(&text));
    put_pictures(content, r);
    for (const struct json *v = json_first(r->blocks); v; v = json_next(v))
        json_push(content, json_copy(v));
    json_free(r->blocks);
    r->blocks = NULL;
    json_put(result, "content", content);
    if (k->structured && k->c.tool->output && !r->failed) {
        struct json *s = json_copy(object);
        json_put_str(s, "text", buf_str(&text));
        json_put(result, "structuredContent", s);
    }
    if (r->failed)
        json_put_bool(result, "isError", true);
    json_put(meta, "od/result", object);
    json_put(result, "_meta", meta);
    if (k->revision == MCP_2026_07_28)
        mcp_put_modern(k->m, result);
    rpc_put_result(out, k->id, result);
    json_free(result);
    buf_release(&text);
    r->object = NULL;
}
