/* SPDX-License-Identifier: MIT */
/*
 * Calls of sessions at the keeper: "mcp/c/KEY" has the request, so that the next worker
 * starts it again. When the call has its answer, the entry has the answer instead, until
 * the stream is freed.
 */
#include "front/mcp/own.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/state.h"

#include <stdio.h>
#include <stdlib.h>

enum { ONE_MAX = 4 << 20 };

static const char prefix[] = "mcp/c/";

static const struct state_field kept[] = {
    STATE_ROW(struct mcp_call, id),
    STATE_ROW(struct mcp_call, token),
    STATE_ROW_AS("args", struct mcp_call, c.args),
    STATE_ROW_AS("since", struct mcp_call, c.since_ms),
    STATE_ROW(struct mcp_call, revision),
    STATE_ROW(struct mcp_call, level),
    STATE_ROW(struct mcp_call, structured),
    STATE_ROW_AS("wait", struct mcp_call, c.client.max_wait_s),
    STATE_ROW_AS("bytes", struct mcp_call, c.client.answer_max),
    {.name = NULL},
};

static void put(struct mcp *m, struct mcp_kept *p, const struct json *j)
{
    struct buf b = BUF_INIT(ONE_MAX);
    if (json_print(&b, j) < 0 || m->kept - p->bytes + b.n > MCP_KEPT_BYTES) {
        log_warn("a call of MCP is too large to be kept over a restart");
        buf_reset(&b);
    }
    state_put_text(m->en, prefix, p->key, buf_str(&b));
    m->kept = m->kept - p->bytes + b.n;
    p->bytes = b.n;
    buf_release(&b);
}

static struct mcp_kept *kept_new(struct mcp_stream *t, const char *key,
                                 const struct json *id)
{
    struct mcp_kept *p = xnew(struct mcp_kept);
    snprintf(p->key, sizeof(p->key), "%s", key);
    p->id = json_copy(id);
    list_add_tail(&t->kept, &p->node);
    return p;
}

void mcp_kept_free(struct mcp *m, struct mcp_kept *p)
{
    if (!p)
        return;
    if (p->bytes > 0)
        state_drop(m->en, prefix, p->key);
    m->kept -= p->bytes;
    list_del(&p->node);
    json_free(p->id);
    free(p);
}

bool mcp_kept_has(const struct mcp_stream *t, const struct json *id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &t->kept) {
        if (rpc_same_id(list_entry(it, struct mcp_kept, node)->id, id))
            return true;
    }
    return false;
}

static void put_place(struct json *j, const struct mcp_call *k)
{
    json_put_z(j, "session", k->session->id);
    json_put_z(j, "stream", k->out->name);
}

void mcp_call_keep(struct mcp_call *k)
{
    if (!k->session)
        return;
    struct json *j = state_json(kept, k);
    k->kept = kept_new(k->out, k->c.key, k->id);
    put_place(j, k);
    json_put_z(j, "tool", k->c.tool->name);
    json_put_str(j, "notes", buf_str(&k->c.notes));
    json_put_bool(j, "sse", k->out->sse);
    put(k->m, k->kept, j);
    json_free(j);
}

void mcp_answer_keep(struct mcp_call *k, uint64_t number, struct str answer)
{
    if (!k->kept)
        return;
    struct json *j = json_object();
    put_place(j, k);
    json_put(j, "id", json_copy(k->id));
    json_put_int(j, "number", (int64_t)number);
    json_put_str(j, "answer", answer);
    put(k->m, k->kept, j);
    k->kept->number = number;
    json_free(j);
}

void mcp_kept_drop(struct mcp *m, struct mcp_stream *t)
{
    struct list *it, *tmp;
    list_each (it, tmp, &t->kept)
        mcp_kept_free(m, list_entry(it, struct mcp_kept, node));
}

void mcp_kept_drop_answer(struct mcp *m, struct mcp_stream *t, uint64_t number)
{
    struct list *it, *tmp;
    list_each (it, tmp, &t->kept) {
        struct mcp_kept *p = list_entry(it, struct mcp_kept, node);
        if (p->number == number)
            mcp_kept_free(m, p);
    }
}

/* ---- in the next worker ---- */

static void load_call(struct mcp_call *k, struct json *j)
{
    state_read(kept, k, j);
    buf_adds(&k->c.notes, json_str(j, "notes", ""));
    k->c.resumed = true;
    snprintf(k->c.client.credential, sizeof(k->c.client.credential), "%s",
             k->session->credential);
}

static void load_one(void *arg, struct str key, struct str state)
{
    struct mcp *m = arg;
    struct err e = ERR_INIT;
    char name[ACTION_KEY + 1] = "";
    struct json *j = json_parse_kept(state, &e);
    struct mcp_session *s = mcp_session_by_id(m, json_str(j, "session", ""));
    const struct tool *t = NULL;
    struct str tool = json_str(j, "tool", ""), answer = json_str(j, "answer", "");
    for (size_t i = 0; tool.n > 0 && (t = tool_at(i)) && !str_eq(tool, str_of(t->name));)
        i++;
    memcpy(name, key.p, key.n < ACTION_KEY ? key.n : ACTION_KEY);
    if (!s || !json_get(j, "id") || (!t && answer.n == 0)) {
        state_drop(m->en, prefix, name); /* it cannot be used */
        json_free(j);
        return;
    }
    struct mcp_stream *out = mcp_session_stream_made(s, json_str(j, "stream", ""));
    struct mcp_kept *p = kept_new(out, name, json_get(j, "id"));
    p->bytes = state.n;
    m->kept += state.n;
    out->waiting++;
    out->ids = out->settled = true;
    out->sse = json_bool(j, "sse", true);
    if (t) {
        struct mcp_call *k = mcp_call_new(m, s, out);
        k->c.tool = t;
        k->kept = p;
        memcpy(k->c.key, name, sizeof(name));
        load_call(k, j);
    } else {
        p->number = (uint64_t)json_int(j, "number", 1);
        mcp_stream_put_numbered(out, answer, true, p->number);
    }
    json_free(j);
}

void mcp_calls_load(struct mcp *m) { state_each_text(m->en, prefix, load_one, m); }
