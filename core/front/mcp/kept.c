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

#include <stdio.h>
#include <stdlib.h>

enum { KEY_SPACE = 64, ONE_MAX = 4 << 20 };

static struct str key_of(const struct mcp_kept *p, char space[KEY_SPACE])
{
    int n = snprintf(space, KEY_SPACE, "mcp/c/%s", p->key);
    return str_n(space, (size_t)n);
}

static void put(struct mcp *m, struct mcp_kept *p, const struct json *j)
{
    char space[KEY_SPACE];
    struct buf b = BUF_INIT(ONE_MAX);
    if (json_print(&b, j) < 0 || m->kept - p->bytes + b.n > MCP_KEPT_BYTES) {
        log_warn("a call of MCP is too large to be kept over a restart");
        buf_reset(&b);
    }
    hold_put(m->en->hold, key_of(p, space), buf_str(&b));
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
    char space[KEY_SPACE];
    if (!p)
        return;
    if (p->bytes > 0)
        hold_put(m->en->hold, key_of(p, space), STR(""));
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

static struct json *head_of(const struct mcp_call *k)
{
    struct json *j = json_object();
    json_put_z(j, "session", k->session->id);
    json_put_z(j, "stream", k->out->name);
    json_put(j, "id", json_copy(k->id));
    return j;
}

void mcp_call_keep(struct mcp_call *k)
{
    if (!k->session)
        return;
    struct json *j = head_of(k);
    k->kept = kept_new(k->out, k->c.key, k->id);
    if (k->token)
        json_put(j, "token", json_copy(k->token));
    json_put_z(j, "tool", k->c.tool->name);
    json_put(j, "args", json_copy(k->c.args));
    json_put_str(j, "notes", buf_str(&k->c.notes));
    json_put_int(j, "since", k->c.since_ms);
    json_put_int(j, "revision", k->revision);
    json_put_int(j, "level", k->level);
    json_put_bool(j, "structured", k->structured);
    json_put_int(j, "wait", k->c.client.max_wait_s);
    json_put_int(j, "bytes", (int64_t)k->c.client.answer_max);
    json_put_bool(j, "sse", k->out->sse);
    put(k->m, k->kept, j);
    json_free(j);
}

void mcp_answer_keep(struct mcp_call *k, uint64_t number, struct str answer)
{
    if (!k->kept)
        return;
    struct json *j = head_of(k);
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

/* Drops an entry that cannot be used. */
static void forget(struct mcp *m, const char *key)
{
    struct mcp_kept p = {.bytes = 0};
    char space[KEY_SPACE];
    snprintf(p.key, sizeof(p.key), "%s", key);
    hold_put(m->en->hold, key_of(&p, space), STR(""));
}

static void load_call(struct mcp_call *k, const struct json *j)
{
    const struct json *token = json_get(j, "token"), *args = json_get(j, "args");
    struct str notes = json_str(j, "notes", "");
    k->id = json_copy(json_get(j, "id"));
    k->token = token ? json_copy(token) : NULL;
    k->c.args = args ? json_copy(args) : json_object();
    buf_adds(&k->c.notes, notes);
    k->c.since_ms = json_int(j, "since", k->c.since_ms);
    k->c.again = true;
    k->revision = (enum mcp_revision)json_int(j, "revision", MCP_LEGACY);
    k->level = (int)json_int(j, "level", -1);
    k->structured = json_bool(j, "structured", false);
    k->c.client.max_wait_s = (int)json_int(j, "wait", 50);
    k->c.client.answer_max = (size_t)json_int(j, "bytes", TOOL_ANSWER);
    snprintf(k->c.client.credential, sizeof(k->c.client.credential), "%s",
             k->session->credential);
}

void mcp_call_load(struct mcp *m, struct str key, struct str state)
{
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
        forget(m, name);
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
