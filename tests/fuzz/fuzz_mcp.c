/* SPDX-License-Identifier: MIT */
/*
 * A message of the Model Context Protocol: it is a request, a notification or an answer,
 * or a refusal with words; its params are arguments of a tool, which fit what the tool
 * takes once they are straightened; they have a cursor of a list, and the address of a
 * file; and a patch is one, or none with a sentence.
 */
#include "base/log.h"
#include "front/mcp/own.h"
#include "front/mcp/tools/patch.h"
#include "front/mcp/tools/straight.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct param rows[] = {
    {.name = "command", .type = PARAM_STRING, .required = true, .about = "Text"},
    {.name = "wait_s",
     .type = PARAM_NUMBER,
     .ranged = true,
     .max = 600,
     .dflt = "30",
     .about = "Wait"},
    {.name = "offset", .type = PARAM_INT, .about = "Line"},
    {.name = "enter", .type = PARAM_BOOL, .dflt = "true", .about = "Enter"},
    {.name = "signal", .type = PARAM_STRING, .choices = "INT TERM", .about = "Signal"},
    {.name = "range", .type = PARAM_INTS, .dflt = "null", .about = "Lines"},
    {0}};
static const struct param_list takes = {.about = "A tool", .params = rows};
static const struct tool tool = {.name = "any",
                                 .takes = &takes,
                                 .also = "cmd=command timeout=wait_s line=offset",
                                 .keeps = "command"};

static void straighten(const struct json *args)
{
    struct err e = ERR_INIT;
    struct buf notes = BUF_INIT(TOOL_ERROR_MAX);
    struct json *fit = tool_straighten(&tool, args, 50, &notes, &e);
    BUG_ON(!fit && !e.code);
    if (fit) {
        BUG_ON(!json_is_string(json_get(fit, "command")));
        BUG_ON(params_check("any", &takes, fit, NULL, &e) < 0);
        BUG_ON(json_num(fit, "wait_s", 0) < 0 || json_num(fit, "wait_s", 0) > 600);
    }
    json_free(fit);
    buf_release(&notes);
}

/* Any text: it is a patch, or none with a sentence. */
static void read_patch(struct str text)
{
    struct err e = ERR_INIT;
    struct patch p;
    int rc = patch_read(&p, text, &e);
    BUG_ON(rc < 0 && !e.code);
    BUG_ON(rc == 0 && p.n == 0);
    for (unsigned i = 0; i < p.n && rc == 0; i++) {
        const struct patch_step *s = &p.steps[i];
        BUG_ON(s->path[0] == 0 || (s->kind == PATCH_MOVE) != (s->to != NULL));
        BUG_ON(s->kind == PATCH_REPLACE && s->old.n == 0 && s->new.n == 0);
    }
    patch_release(&p);
}

/* A page of a list, or status 400; nobody reads the stream, which keeps nothing then. */
static void page(const struct rpc *in)
{
    static struct mcp m;
    struct mcp_stream out = {.m = &m};
    struct mcp_ask a = {.m = &m, .out = &out, .revision = MCP_2026_07_28, .in = in};
    const struct json *cursor = json_get(in->params, "cursor");
    bool none = !cursor || json_is_null(cursor) ||
                (json_is_string(cursor) && json_str_value(cursor, "").n == 0);
    for (int sorted = 0; sorted < 2; sorted++) {
        struct json *items = json_array();
        for (int i = 0; i < 3 * MCP_PAGE; i++) {
            struct json *j = json_object();
            char name[16];
            snprintf(name, sizeof(name), "%03d", i);
            json_put_z(j, "name", name);
            json_push(items, j);
        }
        out.status = 0;
        mcp_page(&a, "things", "name", sorted, items, 0);
        BUG_ON(out.status != 0 && out.status != 400);
        BUG_ON(none && out.status != 0);
        BUG_ON(cursor && !none && !json_is_string(cursor) && out.status != 400);
    }
}

static void path(struct str uri)
{
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT(4096);
    const struct mcp_resource *k = mcp_resource_of(uri);
    if (k == &mcp_resource_file && mcp_file_path(uri, &b, &e) == 0)
        BUG_ON(b.n == 0 || b.p[0] != '/' || memchr(b.p, 0, b.n));
    else
        BUG_ON(k == &mcp_resource_file && !e.code);
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    read_patch(str_n((const char *)data, n));
    struct err e = ERR_INIT;
    struct json *message = json_parse(str_n((const char *)data, n), &e);
    struct rpc in;
    if (!message)
        return 0;
    if (rpc_read(message, &in, &e) == 0) {
        struct buf b = BUF_INIT(SIZE_MAX);
        BUG_ON(in.kind == RPC_REQUEST && !in.id);
        BUG_ON(in.id && !rpc_same_id(in.id, in.id));
        rpc_put_error(&b, in.id, RPC_PARAMS, in.method, in.params);
        struct json *again = json_parse(buf_str(&b), NULL);
        BUG_ON(!json_is_object(again));
        json_free(again);
        buf_release(&b);
        straighten(in.params);
        page(&in);
        path(json_str(in.params, "uri", ""));
        mcp_level(json_str(in.params, "level", ""));
    } else {
        BUG_ON(!e.code);
    }
    straighten(message);
    json_free(message);
    return 0;
}
