/* SPDX-License-Identifier: MIT */
/* MCP as a front-end of od serve (front/front.h). */
#include "front/mcp/own.h"

#include "base/clock.h"
#include "base/metrics.h"
#include "base/xalloc.h"
#include "front/mcp/tools/told.h"

/* ---- options ---- */

static int check_tools(struct str value, struct err *e)
{
    struct mcp_wish w = {.structured = false};
    return mcp_wish_tools(&w, value, e);
}

static const struct option_row rows[] = {
    {.name = "mcp-tools",
     .type = OPTION_TEXT,
     .value = "LIST",
     .env = "OD_MCP_TOOLS",
     .member = "tools",
     .dflt = "default",
     .check = check_tools,
     .about = "the tools of /mcp: names, and the sets default, core, shell, readonly, "
              "skills, patch, process, files, events and all, with commas"},
    {.name = NULL},
};

static const struct option_table options_mcp = {
    .heading = "Model Context Protocol", .section = "mcp", .rows = rows};

/* ---- life ---- */

static void on_ended(struct action_watch *w, uint64_t cause, uint64_t end,
                     const struct err *e)
{
    mcp_calls_ended(container_of(w, struct mcp, watch), cause, end, e);
}

static void on_tick(struct timer *t)
{
    struct mcp *m = container_of(t, struct mcp, tick);
    struct list *it, *tmp, *it2, *tmp2;
    int64_t now = clock_ms();
    list_each (it, tmp, &m->streams)
        mcp_stream_tick(list_entry(it, struct mcp_stream, node), now);
    list_each (it, tmp, &m->sessions) {
        struct mcp_session *s = list_entry(it, struct mcp_session, node);
        list_each (it2, tmp2, &s->streams)
            mcp_stream_tick(list_entry(it2, struct mcp_stream, node), now);
    }
    mcp_sessions_expire(m);
    mcp_tick(m);
}

void mcp_tick(struct mcp *m)
{
    if (!timer_active(&m->tick) && !(list_empty(&m->streams) && list_empty(&m->sessions)))
        timer_begin(m->en->loop, &m->tick, MCP_COMMENT_MS / 3, on_tick);
}

static void on_key_gone(struct access_watch *w, const char *key)
{
    mcp_sessions_end(container_of(w, struct mcp, keys), key);
}

static void *open_mcp(struct fronts *all, const struct json *options)
{
    struct mcp *m = xnew(struct mcp);
    struct err e = ERR_INIT;
    m->en = fronts_engine(all);
    m->actions = m->en->actions;
    m->fronts = all;
    m->front = mcp_bare_front;
    m->front.arg = m;
    m->watch.ended = on_ended;
    m->keys.gone = on_key_gone;
    access_on_gone(fronts_access(all), &m->keys);
    list_init(&m->sessions);
    list_init(&m->streams);
    list_init(&m->calls);
    list_init(&m->pendings);
    list_init(&m->listeners);
    list_init(&m->folders);
    map_init(&m->by_id);
    map_init(&m->tolds);
    mcp_wish_tools(&m->wish, json_str(json_get(options, "mcp"), "tools", "default"), &e);
    actions_watch(m->actions, &m->watch);
    return m;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct mcp *m = f;
    return i > 0 ? NULL : m ? &m->front : &mcp_bare_front;
}

static void load(void *f)
{
    mcp_tolds_load(f);
    mcp_sessions_load(f);
    mcp_links_load(f);
    mcp_calls_load(f);
}

/* Continues what the previous worker had begun. */
static void start(void *f)
{
    struct mcp *m = f;
    struct list *it, *tmp;
    list_each (it, tmp, &m->calls)
        mcp_call_start(list_entry(it, struct mcp_call, node));
    mcp_tell_start(m);
    mcp_listeners_start(m);
    mcp_tell(m, NULL, MCP_WARNING, "server",
             "the server's worker was started again: shells, kernels and tool calls "
             "go on; other requests that were running must be sent again");
}

/* Closes the connections of streams that can be resumed, and ends subscriptions, which
 * would never end by themselves. */
static void close_mcp(void *f, bool another)
{
    struct mcp *m = f;
    struct list *it, *tmp, *it2, *tmp2;
    m->closed = true;
    mcp_tell_stop(m);
    mcp_listeners_end(m, another);
    list_each (it, tmp, &m->sessions) {
        struct mcp_session *s = list_entry(it, struct mcp_session, node);
        list_each (it2, tmp2, &s->streams) {
            struct mcp_stream *t = list_entry(it2, struct mcp_stream, node);
            if (t->begun)
                mcp_stream_detach(t);
        }
    }
}

static void metrics(const void *f, struct buf *out)
{
    const struct mcp *m = f;
    metrics_gauge(out, "mcp_sessions", "Sessions of the Model Context Protocol.",
                  m->nsessions);
    metrics_gauge(out, "mcp_calls", "Tool calls that are running.", m->ncalls);
    metrics_gauge(out, "mcp_subscriptions", "Subscriptions to resources.", m->nsubs);
    metrics_gauge(out, "mcp_kept_bytes", "Calls and their answers at the keeper.",
                  (double)m->kept);
}

static void format(struct buf *out) { buf_addz(out, "mcp 2"); }

static const char *const claims[] = {"mcp/", NULL};

const struct front front_mcp = {
    .name = "mcp",
    .options = &options_mcp,
    .claims = claims,
    .format = format,
    .open = open_mcp,
    .http = http,
    .native = true,
    .load = load,
    .start = start,
    .close = close_mcp,
    .metrics = metrics,
};
