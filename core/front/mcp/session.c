/* SPDX-License-Identifier: MIT */
/*
 * Sessions of the legacy era. Each is bound to the key that began it and ends with it. It
 * is kept at the keeper as "mcp/s/ID", so that it outlives the worker. Above a limit
 * the one that was idle longest ends.
 */
#include "front/mcp/own.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/state.h"

#include <stdio.h>
#include <stdlib.h>

enum { STREAMS_MAX = 64, STATE_MAX = 2 << 20 };

static const char prefix[] = "mcp/s/";

static bool is_at_work(const struct mcp_session *s)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->streams) {
        const struct mcp_stream *t = list_entry(it, struct mcp_stream, node);
        if (t->waiting > 0 || t->req || (t->link && t->link->ev))
            return true;
    }
    return false;
}

/* The list of sessions is in the order of their last use. */
static void make_room(struct mcp *m)
{
    struct list *it, *tmp;
    list_each (it, tmp, &m->sessions) {
        struct mcp_session *s = list_entry(it, struct mcp_session, node);
        if (m->nsessions < MCP_SESSIONS_MAX)
            return;
        if (!is_at_work(s))
            mcp_session_free(s);
    }
}

static struct mcp_session *session_new(struct mcp *m, const char *credential)
{
    struct mcp_session *s = xnew(struct mcp_session);
    *s = (struct mcp_session){.m = m,
                              .revision = MCP_LEGACY,
                              .level = -1,
                              .wish = m->wish,
                              .used_ms = clock_ms()};
    snprintf(s->credential, sizeof(s->credential), "%s", credential);
    list_init(&s->streams);
    list_add_tail(&m->sessions, &s->node);
    m->nsessions++;
    mcp_tick(m);
    return s;
}

struct mcp_session *mcp_session_new(struct mcp *m, const char *credential)
{
    char id[MCP_ID + 1];
    random_hex(id, MCP_ID);
    return mcp_session_named(m, credential, str_n(id, MCP_ID));
}

struct mcp_session *mcp_session_named(struct mcp *m, const char *credential,
                                      struct str id)
{
    make_room(m);
    if (m->nsessions >= MCP_SESSIONS_MAX)
        return NULL;
    struct mcp_session *s = session_new(m, credential);
    memcpy(s->id, id.p, MCP_ID);
    map_put(&m->by_id, str_of(s->id), s);
    return s;
}

struct mcp_session *mcp_session_by_id(const struct mcp *m, struct str id)
{
    return map_get(&m->by_id, id);
}

struct mcp_session *mcp_session_find(struct mcp *m, struct str id, const char *credential)
{
    struct mcp_session *s = mcp_session_by_id(m, id);
    if (!s || strcmp(s->credential, credential) != 0)
        return NULL;
    s->used_ms = clock_ms();
    list_del(&s->node);
    list_add_tail(&m->sessions, &s->node);
    return s;
}

struct mcp_stream *mcp_session_stream(const struct mcp_session *s, struct str name)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->streams) {
        struct mcp_stream *t = list_entry(it, struct mcp_stream, node);
        if (str_eq(name, str_of(t->name)))
            return t;
    }
    return NULL;
}

/* Frees the oldest of the finished streams. */
static void forget_streams(struct mcp_session *s)
{
    struct list *it, *tmp;
    unsigned n = 0;
    list_each (it, tmp, &s->streams)
        n++;
    list_each (it, tmp, &s->streams) {
        struct mcp_stream *t = list_entry(it, struct mcp_stream, node);
        if (n >= STREAMS_MAX && t->waiting == 0 && !t->req && !t->standing) {
            mcp_stream_free(t);
            n--;
        }
    }
}

struct mcp_stream *mcp_session_stream_made(struct mcp_session *s, struct str name)
{
    struct mcp_stream *t = name.n ? mcp_session_stream(s, name) : NULL;
    if (t)
        return t;
    forget_streams(s);
    t = mcp_stream_new(s->m, s, NULL);
    if (name.n == MCP_STREAM)
        memcpy(t->name, name.p, MCP_STREAM);
    return t;
}

struct mcp_stream *mcp_session_own_stream(struct mcp_session *s)
{
    if (s->link)
        return s->link->out;
    if (!s->standing) {
        s->standing = mcp_session_stream_made(s, STR(""));
        s->standing->standing = true;
    }
    return s->standing;
}

void mcp_session_free(struct mcp_session *s)
{
    struct mcp *m = s->m;
    struct list *it, *tmp;
    mcp_calls_stop(m, s, NULL, TOOL_LEFT);
    mcp_listeners_stop(m, s, NULL, NULL);
    if (s->link)
        mcp_link_free(s->link);
    list_each (it, tmp, &s->streams)
        mcp_stream_free(list_entry(it, struct mcp_stream, node));
    state_drop(m->en, prefix, s->id);
    map_del(&m->by_id, str_of(s->id));
    list_del(&s->node);
    m->nsessions--;
    loop_bury(m->en->loop, s, free);
}

void mcp_sessions_end(struct mcp *m, const char *key)
{
    char credential[65];
    struct list *it, *tmp;
    snprintf(credential, sizeof(credential), "key:%s", key);
    list_each (it, tmp, &m->sessions) {
        struct mcp_session *s = list_entry(it, struct mcp_session, node);
        if (strcmp(s->credential, credential) == 0)
            mcp_session_free(s);
    }
}

/* ---- over restarts ---- */

static const struct state_field kept[] = {STATE_ROW(struct mcp_session, credential),
                                          STATE_ROW(struct mcp_session, revision),
                                          STATE_ROW(struct mcp_session, client),
                                          STATE_ROW(struct mcp_session, level),
                                          STATE_ROW(struct mcp_session, lines),
                                          {.name = NULL}};
static const struct state_field kept_wish[] = {
    STATE_ROW(struct mcp_wish, structured), STATE_ROW(struct mcp_wish, here),
    STATE_ROW(struct mcp_wish, answer),
    STATE_ROW_AS("max_wait", struct mcp_wish, max_wait_s), {.name = NULL}};

static struct json *wish_json(const struct mcp_wish *w)
{
    struct json *j = state_json(kept_wish, w), *tools = json_array();
    for (size_t i = 0; tool_at(i); i++) {
        if (w->tools[i])
            json_push_str(tools, str_of(tool_at(i)->name));
    }
    json_put(j, "tools", tools);
    return j;
}

static void wish_load(struct mcp_wish *w, struct json *j)
{
    *w = (struct mcp_wish){0};
    state_read(kept_wish, w, j);
    for (struct json *v = json_first(json_get(j, "tools")); v; v = json_next(v)) {
        for (size_t i = 0; tool_at(i); i++)
            w->tools[i] |= str_eq(json_str_value(v, ""), str_of(tool_at(i)->name));
    }
}

void mcp_session_keep(struct mcp_session *s)
{
    struct buf b = BUF_INIT(STATE_MAX);
    struct json *j = state_json(kept, s);
    json_put(j, "wish", wish_json(&s->wish));
    mcp_listeners_keep(s, j);
    if (json_print(&b, j) == 0)
        state_put_text(s->m->en, prefix, s->id, buf_str(&b));
    else
        log_warn("a session of MCP is too large to be kept: the next worker has it as it "
                 "was");
    json_free(j);
    buf_release(&b);
}

static void load_one(void *arg, struct str id, struct json *j)
{
    struct mcp *m = arg;
    if (id.n != MCP_ID)
        return;
    struct mcp_session *s = session_new(m, json_str(j, "credential", "").p);
    memcpy(s->id, id.p, id.n);
    map_put(&m->by_id, str_of(s->id), s);
    state_read(kept, s, j);
    wish_load(&s->wish, json_get(j, "wish"));
    s->resumed = true;
    if (s->lines)
        mcp_link_new(s)->lost_ms = clock_ms();
    mcp_listeners_load(s, j);
}

void mcp_sessions_load(struct mcp *m) { state_each(m->en, prefix, load_one, m); }

void mcp_sessions_expire(struct mcp *m)
{
    struct list *it, *tmp;
    int64_t now = clock_ms();
    list_each (it, tmp, &m->sessions) {
        struct mcp_session *s = list_entry(it, struct mcp_session, node);
        bool gone = s->link && !s->link->ev && now - s->link->lost_ms > MCP_GONE_MS;
        bool idle = !s->link && now - s->used_ms > MCP_IDLE_MS && !is_at_work(s);
        if (gone || idle)
            mcp_session_free(s);
    }
}
