/* SPDX-License-Identifier: MIT */
/*
 * A message of the Model Context Protocol: it is a request, a notification or an answer,
 * or a refusal with words; its params are arguments of a tool, which fit what the
 * tool takes once they are straightened; and a patch is one, or none with a sentence.
 */
#include "base/log.h"
#include "front/mcp/rpc.h"
#include "front/mcp/tools/patch.h"
#include "front/mcp/tools/straight.h"

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
    } else {
        BUG_ON(!e.code);
    }
    straighten(message);
    json_free(message);
    return 0;
}
