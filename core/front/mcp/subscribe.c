/* SPDX-License-Identifier: MIT */
/*
 * Subscriptions to resources, of both eras.
 *
 *   resources/subscribe ──▶ the session's listener ──┐
 *   subscriptions/listen ─▶ a listener of its own ───┴▶ mcp_sub ─▶ the kind's watch
 *
 *   mcp_sub:  waiting ── mcp_sub_ready ─▶ answered ── mcp_sub_changed ─▶ an update, and
 *                └── mcp_sub_lost ─▶ refused              at most one more in MCP_CALM_MS
 *
 * An update that cannot be sent yet is remembered once: a client reads the resource after
 * it, and so gets the newest state. Subscriptions of sessions are at the keeper with
 * their session.
 */
#include "front/mcp/own.h"

#include "base/xalloc.h"

#include <stdlib.h>

enum { URI_MAX = 4096, ID_MAX = 256, KEPT_MAX = 2 << 20 };

/* ---- life ---- */

static void sub_free(struct mcp_sub *s)
{
    if (s->kind->unwatch)
        s->kind->unwatch(s);
    timer_stop(&s->calm);
    list_del(&s->node);
    s->listener->nsubs--;
    s->listener->m->nsubs--;
    free(s->uri);
    loop_bury(s->listener->m->en->loop, s, free);
}

static void listener_free(struct mcp_listener *l)
{
    struct list *it, *tmp;
    list_each (it, tmp, &l->subs)
        sub_free(list_entry(it, struct mcp_sub, node));
    list_del(&l->node);
    json_free(l->id);
    l->id = NULL;
    loop_bury(l->m->en->loop, l, free);
}

static struct mcp_listener *listener_new(struct mcp *m, struct mcp_session *s,
                                         struct mcp_stream *out, const struct json *id)
{
    struct mcp_listener *l = xnew(struct mcp_listener);
    *l = (struct mcp_listener){
        .m = m, .session = s, .out = out, .id = id ? json_copy(id) : NULL};
    list_init(&l->subs);
    list_add_tail(&m->listeners, &l->node);
    return l;
}

/*
 * Finds the listener of a session: for resources/subscribe if id is NULL, else for that
 * request.
 */
static struct mcp_listener *find(const struct mcp *m, const struct mcp_session *s,
                                 const struct json *id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &m->listeners) {
        struct mcp_listener *l = list_entry(it, struct mcp_listener, node);
        if (l->session == s && (id ? l->id && rpc_same_id(l->id, id) : !l->id))
            return l;
    }
    return NULL;
}

static struct mcp_sub *find_sub(const struct mcp_listener *l, struct str uri)
{
    struct list *it, *tmp;
    if (!l)
        return NULL;
    list_each (it, tmp, &l->subs) {
        struct mcp_sub *s = list_entry(it, struct mcp_sub, node);
        if (str_eq(uri, str_of(s->uri)))
            return s;
    }
    return NULL;
}

/* Counts the subscriptions of its session, or of the listener if it has none. */
static unsigned nsubs_of(const struct mcp_listener *l)
{
    struct list *it, *tmp;
    unsigned n = 0;
    list_each (it, tmp, &l->m->listeners) {
        const struct mcp_listener *other = list_entry(it, struct mcp_listener, node);
        if (other == l || (l->session && other->session == l->session))
            n += other->nsubs;
    }
    return n;
}

static void keep(const struct mcp_listener *l)
{
    if (l->session)
        mcp_session_keep(l->session);
}

static struct mcp_sub *sub_new(struct mcp_listener *l, const struct mcp_resource *k,
                               struct str uri)
{
    struct mcp_sub *s = xnew(struct mcp_sub);
    *s = (struct mcp_sub){.listener = l, .kind = k, .uri = xstrndup(uri.p, uri.n)};
    list_init(&s->near);
    list_add_tail(&l->subs, &s->node);
    l->nsubs++;
    l->m->nsubs++;
    return s;
}

/*
 * Follows uri for l. asker may be NULL. Returns -1 and sets *e; asker is then unchanged.
 */
static int add(struct mcp_listener *l, struct str uri, struct mcp_pending *asker,
               struct err *e)
{
    const struct mcp_resource *k = mcp_resource_of(uri);
    if (!k || !k->watch)
        return err_set(e, k ? ERR_UNSUPPORTED : ERR_NOTFOUND,
                       "changes of this resource are not reported; those of "
                       "file:///PATH below the working directory and of od://events are");
    bool full = nsubs_of(l) >= MCP_SUBS_MAX;
    if (full || l->m->nsubs >= MCP_SUBS_ALL_MAX)
        return err_set(
            e, ERR_LIMIT,
            "there are subscriptions to %d resources already%s; unsubscribe from one",
            full ? MCP_SUBS_MAX : MCP_SUBS_ALL_MAX, full ? "" : " of all clients");
    struct mcp_sub *s = sub_new(l, k, uri);
    s->asker = asker;
    if (k->watch(s, e) == 0)
        return 0;
    sub_free(s);
    return -1;
}

/* ---- updates ---- */

/* The stream for updates; NULL if no client reads it now. */
static struct mcp_stream *stream_of(const struct mcp_listener *l)
{
    struct mcp_session *s = l->session;
    if (!s)
        return l->out;
    if (s->link)
        return s->link->out;
    return s->standing && s->standing->req ? s->standing : NULL;
}

static void put_id(struct json *params, const struct mcp_listener *l)
{
    struct json *meta = json_object();
    json_put(meta, MCP_META "subscriptionId", json_copy(l->id));
    json_put(params, "_meta", meta);
}

static void on_calm(struct timer *t);

static void send_update(struct mcp_sub *s)
{
    struct mcp_listener *l = s->listener;
    struct mcp_stream *t = stream_of(l);
    struct buf b = BUF_INIT(16 << 10);
    s->dirty = !t;
    if (!t || (s->told && mcp_stream_waits(t, s->told)))
        return;
    struct json *params = json_object();
    json_put_z(params, "uri", s->uri);
    if (l->id)
        put_id(params, l);
    rpc_put_notification(&b, "notifications/resources/updated", params);
    json_free(params);
    timer_begin(l->m->en->loop, &s->calm, MCP_CALM_MS, on_calm);
    mcp_stream_put(t, buf_str(&b), false);
    s->told = t->last;
    buf_release(&b);
}

static void on_calm(struct timer *t)
{
    struct mcp_sub *s = container_of(t, struct mcp_sub, calm);
    if (s->dirty)
        send_update(s);
}

/* Whether updates may be sent: not before the message that grants them. */
static bool is_granted(const struct mcp_sub *s)
{
    return s->ready && (!s->listener->id || s->listener->acknowledged);
}

void mcp_sub_changed(struct mcp_sub *s, bool again)
{
    if (!is_granted(s) || timer_active(&s->calm)) {
        s->dirty = true;
        return;
    }
    send_update(s);
    s->dirty = s->dirty || again;
}

static void send_updates(struct mcp_listener *l)
{
    struct list *it, *tmp;
    list_each (it, tmp, &l->subs) {
        struct mcp_sub *s = list_entry(it, struct mcp_sub, node);
        if (is_granted(s) && s->dirty && !timer_active(&s->calm))
            send_update(s);
    }
}

void mcp_subs_changed(struct mcp *m, const struct mcp_resource *kind)
{
    struct list *it, *tmp, *it2, *tmp2;
    list_each (it, tmp, &m->listeners) {
        struct mcp_listener *l = list_entry(it, struct mcp_listener, node);
        list_each (it2, tmp2, &l->subs) {
            struct mcp_sub *s = list_entry(it2, struct mcp_sub, node);
            if (s->kind == kind)
                mcp_sub_changed(s, false);
        }
    }
}

void mcp_listeners_read(struct mcp *m, const struct mcp_session *s)
{
    struct mcp_listener *l = find(m, s, NULL);
    if (l)
        send_updates(l);
}

/* ---- ready, or not ---- */

/* Sends the first message of subscriptions/listen: what is granted. */
static void acknowledge(struct mcp_listener *l)
{
    struct list *it, *tmp;
    struct buf b = BUF_INIT(KEPT_MAX);
    struct json *params = json_object(), *granted = json_object(), *list = json_array();
    list_each (it, tmp, &l->subs)
        json_push_str(list, str_of(list_entry(it, struct mcp_sub, node)->uri));
    if (json_count(list) > 0)
        json_put(granted, "resourceSubscriptions", list);
    else
        json_free(list);
    json_put(params, "notifications", granted);
    put_id(params, l);
    rpc_put_notification(&b, "notifications/subscriptions/acknowledged", params);
    json_free(params);
    l->acknowledged = true;
    mcp_stream_put(stream_of(l), buf_str(&b), false);
    buf_release(&b);
    keep(l);
    send_updates(l);
}

/* Sends it once, when none of the subscriptions is waiting any more. */
static void acknowledge_if_ready(struct mcp_listener *l)
{
    struct list *it, *tmp;
    if (!l->id || l->acknowledged || l->opening)
        return;
    list_each (it, tmp, &l->subs) {
        if (!list_entry(it, struct mcp_sub, node)->ready)
            return;
    }
    acknowledge(l);
}

void mcp_sub_ready(struct mcp_sub *s)
{
    struct mcp_pending *asker = s->asker;
    s->ready = true;
    s->asker = NULL;
    if (asker) {
        keep(s->listener);
        mcp_pending_result(asker, json_object());
    }
    acknowledge_if_ready(s->listener);
    if (s->dirty && is_granted(s) && !timer_active(&s->calm))
        send_update(s);
}

void mcp_sub_lost(struct mcp_sub *s, const struct err *e)
{
    struct mcp_listener *l = s->listener;
    struct mcp_pending *asker = s->asker;
    s->asker = NULL;
    if (asker) {
        mcp_pending_fail(asker, e);
    } else if (!l->id || l->acknowledged) {
        send_update(s);
        mcp_tell(l->m, l->session, MCP_WARNING, "resources",
                 "the subscription to %.1000s ended: %s", s->uri,
                 e->code ? e->text : "its folder is gone");
    }
    sub_free(s);
    keep(l);
    acknowledge_if_ready(l);
}

/* ---- resources/subscribe ---- */

/* Called when the client left or cancelled the request. */
static void stop_asking(struct mcp_pending *p)
{
    struct mcp_sub *s = find_sub(find(p->m, p->session, NULL), str_of(p->uri));
    if (s && s->asker == p)
        sub_free(s);
}

static void refuse_uri(struct mcp_ask *a)
{
    mcp_error(a, RPC_PARAMS, "uri must be the address of a resource, at most %d bytes",
              URI_MAX);
}

void mcp_subscribe(struct mcp_ask *a)
{
    struct err e = ERR_INIT;
    struct str uri = json_str(a->in->params, "uri", "");
    struct mcp_listener *l = find(a->m, a->session, NULL);
    if (uri.n == 0 || uri.n > URI_MAX) {
        refuse_uri(a);
        return;
    }
    if (find_sub(l, uri)) {
        mcp_result(a, json_object());
        return;
    }
    struct mcp_pending *p = mcp_pending_new(a, uri, NULL, stop_asking);
    if (!p)
        return;
    if (!l)
        l = listener_new(a->m, a->session, NULL, NULL);
    if (add(l, uri, p, &e) < 0)
        mcp_pending_fail(p, &e);
}

void mcp_unsubscribe(struct mcp_ask *a)
{
    struct str uri = json_str(a->in->params, "uri", "");
    struct mcp_sub *s = find_sub(find(a->m, a->session, NULL), uri);
    if (uri.n == 0 || uri.n > URI_MAX) {
        refuse_uri(a);
        return;
    }
    if (s) {
        struct mcp_pending *asker = s->asker;
        s->asker = NULL;
        if (asker)
            mcp_pending_result(asker, json_object());
        sub_free(s);
        mcp_session_keep(a->session);
    }
    mcp_result(a, json_object());
}

/* ---- subscriptions/listen ---- */

static unsigned listens(const struct mcp *m, const struct mcp_session *s)
{
    struct list *it, *tmp;
    unsigned n = 0;
    list_each (it, tmp, &m->listeners)
        n += list_entry(it, struct mcp_listener, node)->session == s;
    return n;
}

/* Adds the resources of the list that can be followed. */
static void add_all(struct mcp_listener *l, const struct json *uris)
{
    for (const struct json *v = json_first(uris); v; v = json_next(v)) {
        struct err e = ERR_INIT;
        struct str uri = json_str_value(v, "");
        if (uri.n > 0 && uri.n <= URI_MAX && !find_sub(l, uri))
            add(l, uri, NULL, &e);
    }
}

/*
 * Lists of this server change only with a call of resources/list, so only subscriptions
 * to resources are granted.
 */
void mcp_listen(struct mcp_ask *a)
{
    const struct json *filter = json_get(a->in->params, "notifications");
    const struct json *uris = json_get(filter, "resourceSubscriptions");
    if (filter && !json_is_object(filter)) {
        mcp_error(a, RPC_PARAMS, "notifications must be an object");
        return;
    }
    if (uris && !json_is_array(uris)) {
        mcp_error(a, RPC_PARAMS, "resourceSubscriptions must be a list of addresses");
        return;
    }
    if (!a->session && !a->out->sse) {
        mcp_error(a, RPC_INVALID,
                  "subscriptions/listen is answered by an event stream: "
                  "Accept must have text/event-stream");
        return;
    }
    if (json_is_string(a->in->id) && json_str_value(a->in->id, "").n > ID_MAX) {
        mcp_error(a, RPC_PARAMS, "the id of a subscription has at most %d bytes", ID_MAX);
        return;
    }
    if (a->session && find(a->m, a->session, a->in->id)) {
        mcp_error(a, RPC_INVALID, "a request with this id is running already");
        return;
    }
    if (a->session && listens(a->m, a->session) >= MCP_LISTENS_MAX) {
        mcp_error(a, RPC_INVALID, "%d subscriptions are open already; cancel one",
                  MCP_LISTENS_MAX);
        return;
    }
    struct mcp_listener *l = listener_new(a->m, a->session, a->session ? NULL : a->out,
                                          a->in->id);
    l->opening = true;
    add_all(l, uris);
    l->opening = false;
    if (a->session)
        mcp_stream_withdraw(
            a->out); /* over the local socket the answer comes at the end */
    keep(l);
    acknowledge_if_ready(l);
}

void mcp_listeners_stop(struct mcp *m, const struct mcp_session *s,
                        const struct mcp_stream *t, const struct json *id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &m->listeners) {
        struct mcp_listener *l = list_entry(it, struct mcp_listener, node);
        if ((s && l->session != s) || (t && l->out != t) ||
            (id && !(l->id && rpc_same_id(l->id, id))))
            continue;
        listener_free(l);
        if (id)
            keep(l);
    }
}

void mcp_listeners_end(struct mcp *m, bool another)
{
    struct list *it, *tmp;
    list_each (it, tmp, &m->listeners) {
        struct mcp_listener *l = list_entry(it, struct mcp_listener, node);
        struct mcp_stream *t = l->id && (l->out || !another) ? stream_of(l) : NULL;
        if (!t)
            continue;
        struct buf b = BUF_INIT(4096);
        struct json *result = json_object();
        mcp_put_modern(m, result);
        rpc_put_result(&b, l->id, result);
        json_free(result);
        t->waiting += l->session != NULL; /* mcp_listen has withdrawn it */
        mcp_stream_put(t, buf_str(&b), true);
        buf_release(&b);
    }
}

/* ---- over restarts ---- */

static struct json *uris_of(const struct mcp_listener *l)
{
    struct json *list = json_array();
    struct list *it, *tmp;
    list_each (it, tmp, &l->subs) {
        const struct mcp_sub *s = list_entry(it, struct mcp_sub, node);
        if (!s->asker)
            json_push_str(list, str_of(s->uri));
    }
    return list;
}

void mcp_listeners_keep(const struct mcp_session *s, struct json *j)
{
    struct list *it, *tmp;
    struct json *all = json_array();
    list_each (it, tmp, &s->m->listeners) {
        const struct mcp_listener *l = list_entry(it, struct mcp_listener, node);
        if (l->session != s || (!l->id && l->nsubs == 0))
            continue;
        struct json *one = json_object();
        if (l->id)
            json_put(one, "id", json_copy(l->id));
        json_put_bool(one, "acknowledged", l->acknowledged);
        json_put(one, "uris", uris_of(l));
        json_push(all, one);
    }
    if (json_count(all) > 0)
        json_put(j, "listeners", all);
    else
        json_free(all);
}

/* The kinds' watches begin with mcp_listeners_start. */
void mcp_listeners_load(struct mcp_session *s, const struct json *j)
{
    for (const struct json *v = json_first(json_get(j, "listeners")); v;
         v = json_next(v)) {
        struct mcp_listener *l = listener_new(s->m, s, NULL, json_get(v, "id"));
        l->acknowledged = json_bool(v, "acknowledged", false);
        for (const struct json *u = json_first(json_get(v, "uris")); u;
             u = json_next(u)) {
            struct str uri = json_str_value(u, "");
            const struct mcp_resource *k = mcp_resource_of(uri);
            if (k && k->watch)
                sub_new(l, k, uri)->dirty = true;
        }
    }
}

void mcp_listeners_start(struct mcp *m)
{
    struct list *it, *tmp, *it2, *tmp2;
    list_each (it, tmp, &m->listeners) {
        struct mcp_listener *l = list_entry(it, struct mcp_listener, node);
        list_each (it2, tmp2, &l->subs) {
            struct mcp_sub *s = list_entry(it2, struct mcp_sub, node);
            struct err e = ERR_INIT;
            if (s->kind->watch(s, &e) < 0)
                mcp_sub_lost(s, &e);
        }
        acknowledge_if_ready(l);
    }
}
