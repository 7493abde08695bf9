/* SPDX-License-Identifier: MIT */
/*
 * One connection: a cursor into the log, and the messages of the peer.
 *
 *   [key] ─▶ [since] ─▶ replay ─▶ follow
 *
 * Whenever there is room or something new, lines go from the log to the connection until
 * it is full. Only answers to the peer's own messages are queued here.
 */
#include "front/events/own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "http/sse.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    KEY_MS = 10000,
    KEY_MESSAGE_MAX = 8 * LIMIT_API_KEY_MAX, /* bytes of JSON; a byte may be \u00xx */
    LINK_LOW = 64 << 10
};

/* ---- sending ---- */

static void link_free(void *p)
{
    struct events_link *k = p;
    buf_release(&k->say);
    buf_release(&k->rest);
    free(k);
}

/* Ends the link. Its memory is freed at the end of this turn. */
static void link_end(struct events_link *k)
{
    if (k->over)
        return;
    actions_commit(k->ev->actions);
    k->over = true;
    flows_close(k);
    list_del(&k->node);
    events_ack_leave(&k->reader);
    eventlog_unsubscribe(&k->sub);
    task_cancel(&k->pump);
    timer_stop(&k->key);
    ws_release(&k->ws);
    k->ev->stats.links--;
    loop_bury(k->ev->en->loop, k, link_free);
}

/*
 * Sends the event, at most one, for which an event stream had no room. Returns true if it
 * was sent.
 */
static bool flush_rest(struct events_link *k)
{
    if (k->rest.n > 0)
        buf_consume(&k->rest, req_send(k->req, buf_str(&k->rest)));
    if (k->rest.n > 0)
        return false;
    buf_release(&k->rest);
    return true;
}

static bool send_sse(struct events_link *k, struct str text, uint64_t id)
{
    char number[24];
    struct sse_event e = {.data = text};
    if (!flush_rest(k))
        return false;
    if (id > 0) {
        int n = snprintf(number, sizeof(number), "%llu", (unsigned long long)id);
        e.id = str_n(number, (size_t)n);
    }
    buf_init(&k->rest, 2 * LIMIT_EVENT_MAX);
    if (sse_add_event(&k->rest, &e) == 0)
        flush_rest(k);
    return true;
}

bool link_send(struct events_link *k, struct str text, uint64_t id)
{
    if (k->over)
        return false;
    bool sent = k->req ? send_sse(k, text, id) : ws_send(&k->ws, true, text);
    if (sent) {
        k->ev->stats.sent++;
        k->ev->stats.sent_bytes += text.n;
    }
    k->full = !sent;
    return sent;
}

/* Sends observations that were requested again. Returns false if there is no room now. */
static bool send_repeats(struct events_link *k)
{
    while (k->nrepeats > 0) {
        struct buf line = BUF_INIT(2 * LIMIT_EVENT_MAX),
                   b = BUF_INIT(2 * LIMIT_EVENT_MAX);
        struct event_members l = {.id = k->repeats[0]};
        bool kept = actions_line(k->ev->actions, k->repeats[0], &line) == 0;
        if (kept)
            event_members(buf_str(&line), &l);
        buf_addz(&b, "{\"known\":{");
        if (l.client_id.n > 0) {
            buf_addz(&b, "\"client_id\":");
            buf_adds(&b, l.client_id);
            buf_addf(&b, ",\"id\":%llu,", (unsigned long long)l.cause);
        }
        buf_addf(&b, "\"end\":%llu", (unsigned long long)l.id);
        if (kept) {
            buf_addz(&b, ",\"event\":");
            buf_adds(&b, str_sub(buf_str(&line), 0, line.n - 1));
        }
        buf_addz(&b, "}}");
        bool sent = link_send(k, buf_str(&b), 0);
        buf_release(&line);
        buf_release(&b);
        if (!sent)
            return false;
        k->nrepeats--;
        memmove(k->repeats, k->repeats + 1, k->nrepeats * sizeof(k->repeats[0]));
    }
    return true;
}

/* Sends the lines that wait in `say`. */
static bool send_said(struct events_link *k)
{
    struct str s = buf_str(&k->say);
    size_t used = 0;
    while (used < s.n) {
        struct str rest = str_sub(s, used, s.n), line = str_cut(&rest, '\n');
        if (!link_send(k, line, 0))
            break;
        used += line.n + 1;
    }
    buf_consume(&k->say, used);
    return k->say.n == 0 && send_repeats(k);
}

/* Queues an answer to a message of the peer. Answers are sent before events. */
static void say(struct events_link *k, struct str line)
{
    if (k->say.n + line.n + 1 > SAY_MAX) {
        ws_close(&k->ws, WS_POLICY, STR("you do not read the answers to your messages"));
        return;
    }
    buf_adds(&k->say, line);
    buf_addc(&k->say, '\n');
    send_said(k);
}

static void say_error(struct events_link *k, const struct err *e, struct str client_id)
{
    struct buf b = BUF_INIT(8 << 10);
    events_put_error(&b, e, client_id);
    say(k, buf_str(&b));
    buf_release(&b);
}

void links_error(struct events *ev, const struct err *e, uint64_t cause)
{
    struct buf b = BUF_INIT(8 << 10);
    struct list *it, *tmp;
    events_put_error(&b, e, STR(""));
    buf_truncate(&b, b.n - 1);
    buf_addf(&b, ",\"cause\":%llu}", (unsigned long long)cause);
    list_each (it, tmp, &ev->links) {
        struct events_link *k = list_entry(it, struct events_link, node);
        if (k->begun && !k->req)
            say(k, buf_str(&b));
    }
    buf_release(&b);
}

/* Returns false if the line cannot be sent now. */
static bool send_line(struct events_link *k, const struct batch_line *line)
{
    uint64_t id = line->id;
    bool action = line->members.kind == EVENT_ACTION,
         end = line->members.kind == EVENT_END;
    if (end && !flow_over(k, &line->members))
        return false;
    if (!link_send(k, line->text, id))
        return false;
    k->cursor.next = id + 1;
    if (end)
        flow_end(k, line->members.cause);
    const struct action *a = action ? actions_find(k->ev->actions, id) : NULL;
    if (a && a->running)
        flow_begin(k, a);
    return !k->over;
}

/* Sends the link's next lines of the batch. Returns true if all of them were sent. */
static bool send_batch(struct events_link *k)
{
    const struct batch_line *line;
    for (unsigned i = 0; (line = actions_batch_line(k->ev->actions, i)); i++) {
        if (line->id >= k->cursor.next && !send_line(k, line)) {
            k->cursor.segment = k->cursor.offset = 0;
            return false;
        }
    }
    k->cursor = actions_batch_after(k->ev->actions);
    return true;
}

static void link_pump(struct events_link *k)
{
    if (k->over || !k->begun || !send_said(k))
        return;
    if (!k->joined) {
        k->joined = true;
        flows_join(k);
    }
    /* One batch a turn: links that follow then share each, and it is read once. */
    if (actions_batch(k->ev->actions, &k->cursor) && send_batch(k) &&
        k->cursor.next < actions_next_id(k->ev->actions))
        link_pump_later(k);
}

static void on_pump(struct task *t)
{
    link_pump(container_of(t, struct events_link, pump));
}

void link_pump_later(struct events_link *k)
{
    if (!k->over)
        task_defer(k->ev->en->loop, &k->pump);
}

static void on_wake(struct event_sub *s)
{
    struct events_link *k = container_of(s, struct events_link, sub);
    if (!k->full)
        link_pump(k);
}

static void there_is_room(struct events_link *k)
{
    k->full = false;
    if (!send_said(k))
        return;
    flows_pump(k);
    if (!k->full)
        link_pump(k);
}

/* ---- beginning ---- */

int events_check_since(const struct events *ev, uint64_t since, struct err *e)
{
    uint64_t next = eventlog_next(actions_log(ev->actions));
    if (since < next)
        return 0;
    return err_set(e, ERR_NOTFOUND,
                   "there is no event %llu yet: the last one is %llu, so this is another "
                   "server's or a log that was lost; start again with since 0",
                   (unsigned long long)since, (unsigned long long)next - 1);
}

/* Begins to send events from since on. Returns as events_check_since. */
static int link_begin(struct events_link *k, uint64_t since, struct err *e)
{
    if (events_check_since(k->ev, since, e) < 0)
        return -1;
    k->begun = true;
    k->since = since;
    k->live = eventlog_next(actions_log(k->ev->actions));
    k->cursor = (struct event_cursor){.next = since + 1};
    eventlog_subscribe(actions_log(k->ev->actions), &k->sub, on_wake);
    link_pump_later(k);
    return 0;
}

void link_resume(struct events_link *k, uint64_t cause, uint64_t offset)
{
    if (k->nresumes < RESUMES_MAX)
        k->resumes[k->nresumes++] = (struct resume){cause, offset};
}

/* Sends {"hello":{…}} to a peer that has connected to this server. */
static void say_hello(struct events_link *k, struct str given)
{
    struct buf b = BUF_INIT(1024);
    if (given.n == 0)
        buf_addf(&b,
                 "{\"hello\":{\"protocol\":\"" EVENTS_PROTOCOL
                 "\",\"first\":%llu,\"next\":%llu,\"features\":[\"until\"]}}",
                 (unsigned long long)eventlog_first(actions_log(k->ev->actions)),
                 (unsigned long long)eventlog_next(actions_log(k->ev->actions)));
    else if (given.n < SAY_MAX)
        buf_init(&b, given.n), buf_adds(&b, given);
    say(k, buf_str(&b));
    buf_release(&b);
}

/* ---- messages of the peer ---- */

/* {"CAUSE":OFFSET,…} */
static void take_resumes(struct events_link *k, const struct json *list)
{
    for (struct json *v = json_first(list); v; v = json_next(v)) {
        uint64_t cause;
        int64_t offset = json_int_value(v, -1);
        if (json_name(v) && str_to_u64(str_of(json_name(v)), &cause) == 0 && offset >= 0)
            link_resume(k, cause, (uint64_t)offset);
    }
}

static int want_id(const struct json *m, const char *name, uint64_t *out, struct err *e)
{
    int64_t n = -1;
    if (json_want_int(m, name, &n, e) < 0)
        return -1;
    if (n < 0)
        return err_set(e, ERR_INVALID, "%s must be the id of an event, or 0", name);
    *out = (uint64_t)n;
    return 0;
}

/* Calls on_since, once. */
static void tell_since(struct events_link *k, uint64_t since, const struct err *e)
{
    void (*fn)(void *arg, uint64_t since, const struct err *e) = k->on_since;
    k->on_since = NULL;
    if (fn)
        fn(k->arg, since, e);
}

static int take_since(struct events_link *k, const struct json *m, struct err *e)
{
    uint64_t since;
    if (want_id(m, "since", &since, e) < 0)
        return -1;
    if (k->begun)
        return err_set(e, ERR_INVALID,
                       "the stream has begun: since is sent once, before the first "
                       "event");
    take_resumes(k, json_get(m, "output"));
    if (link_begin(k, since, e) < 0)
        return -1;
    tell_since(k, since, NULL);
    return 0;
}

/* Takes {"ack":N}. The log may drop events that all acknowledging readers have. */
static int take_ack(struct events_link *k, const struct json *m, struct err *e)
{
    uint64_t ack;
    if (k->right == RIGHT_VIEW)
        return err_set(e, ERR_DENIED,
                       "this API key may follow events, not acknowledge them: the log "
                       "may drop what is acknowledged");
    if (want_id(m, "ack", &ack, e) < 0 || events_check_since(k->ev, ack, e) < 0)
        return -1;
    events_ack(k->ev, &k->reader, ack);
    return 0;
}

/*
 * Answers an action that was sent before: with its id, and its observation if that was
 * sent already. The observation is a member of the message, because an event itself comes
 * only once on a link.
 */
static int say_known(struct events_link *k, const struct action_taken *t,
                     struct str client_id, struct err *e)
{
    struct buf b = BUF_INIT(8 * ACTION_CLIENT_MAX + 128);
    if (actions_check_end(t, e) < 0)
        return -1;
    if (t->end && k->cursor.next > t->end) {
        if (k->nrepeats == REPEATS_MAX)
            return err_set(e, ERR_LIMIT,
                           "%d observations are already being sent again; read them",
                           REPEATS_MAX);
        k->repeats[k->nrepeats++] = t->end;
        send_said(k);
        return 0;
    }
    buf_addz(&b, "{\"known\":{\"client_id\":");
    buf_adds(&b, client_id);
    buf_addf(&b, ",\"id\":%llu}}", (unsigned long long)t->id);
    say(k, buf_str(&b));
    buf_release(&b);
    return 0;
}

/* Takes *message, and then sets it to NULL. */
static int take_action(struct events_link *k, struct json **message, struct str client_id,
                       struct err *e)
{
    struct action_taken t;
    struct json *m = *message;
    if (k->right == RIGHT_VIEW)
        return err_set(e, ERR_DENIED, "this API key may follow events, not send actions");
    *message = NULL;
    if (actions_send(k->ev->actions, m, &k->sender, &t, e) < 0)
        return -1;
    return t.repeated ? say_known(k, &t, client_id, e) : 0;
}

static int take_key(struct events_link *k, const struct json *m, struct err *e)
{
    if (!k->with_key)
        return 0; /* the handshake had a key */
    enum late said = guest_says(k->ev->access, &k->guest, m);
    k->right = k->guest.right;
    if (said != LATE_COUNTS) {
        ws_close(&k->ws, said == LATE_WRONG ? WS_POLICY : WS_AGAIN_LATER,
                 said == LATE_WRONG
                     ? STR("Invalid API Key")
                     : STR("Too many wrong API keys. Try again in a second"));
        return 0;
    }
    k->with_key = false;
    if (json_has(m, "page"))
        say_hello(k, STR(""));
    ws_set_max(&k->ws, MESSAGE_MAX);
    timer_stop(&k->key);
    return k->begun || k->since == UINT64_MAX ? 0 : link_begin(k, k->since, e);
}

/* client_id: that of the message, with quotes; or n 0. */
static int take_object(struct events_link *k, struct json **message, struct str client_id,
                       struct err *e)
{
    const struct json *m = *message;
    if (!json_has(m, "action"))
        actions_commit(k->ev->actions);
    if (!json_is_object(m))
        return err_set(e, ERR_INVALID, "a message is a JSON object");
    if (json_has(m, "api_key") || json_has(m, "page"))
        return take_key(k, m, e);
    if (k->with_key) {
        ws_close(&k->ws, WS_POLICY, STR("the first message must be {\"api_key\":…}"));
        return 0;
    }
    if (json_has(m, "action"))
        return take_action(k, message, client_id, e);
    if (json_has(m, "ack"))
        return take_ack(k, m, e);
    if (json_has(m, "since"))
        return take_since(k, m, e);
    return err_set(
        e, ERR_INVALID,
        "a message has a member \"action\", \"ack\", \"since\" or \"api_key\"");
}

static void on_message(struct ws *w, bool text, struct str message)
{
    struct events_link *k = container_of(w, struct events_link, ws);
    struct err e = ERR_INIT;
    struct json *m = text ? json_parse(message, &e) : NULL;
    struct buf id = BUF_INIT(ACTION_CLIENT_MAX * 8);
    struct str client = json_str(m, "client_id", "");
    if (!k->with_key)
        engine_touch(k->ev->en);
    if (!text)
        err_set(&e, ERR_UNSUPPORTED, "a message is text; bytes go into it as base64");
    if (client.n > 0 && client.n <= ACTION_CLIENT_MAX)
        json_quote(&id, client);
    if (m ? take_object(k, &m, buf_str(&id), &e) < 0 : !k->over) {
        if (k->with_key)
            ws_close(w, WS_POLICY, STR("the first message must be {\"api_key\":…}"));
        else
            say_error(k, &e, buf_str(&id));
        tell_since(k, 0, &e);
    }
    buf_release(&id);
    json_free(m);
}

static void on_taken(struct ws *w)
{
    actions_commit(container_of(w, struct events_link, ws)->ev->actions);
}

/* The log has refused an action that was sent with others. */
static void on_refused(struct action_sender *s, struct str client_id, const struct err *e)
{
    struct events_link *k = container_of(s, struct events_link, sender);
    struct buf id = BUF_INIT(ACTION_CLIENT_MAX * 8);
    if (client_id.n > 0)
        json_quote(&id, client_id);
    say_error(k, e, buf_str(&id));
    tell_since(k, 0, e);
    buf_release(&id);
}

static void on_room(struct ws *w)
{
    there_is_room(container_of(w, struct events_link, ws));
}

static void on_close(struct ws *w, int code, struct str reason)
{
    struct events_link *k = container_of(w, struct events_link, ws);
    void (*fn)(void *arg, int code, struct str reason) = k->on_gone;
    void *arg = k->arg;
    link_end(k);
    if (fn)
        fn(arg, code, reason);
}

static const struct ws_events ws_calls = {.on_message = on_message,
                                          .on_room = on_room,
                                          .on_close = on_close,
                                          .on_taken = on_taken};

/* ---- life ---- */

static void on_key_late(struct timer *t)
{
    struct events_link *k = container_of(t, struct events_link, key);
    ws_close(&k->ws, WS_POLICY, STR("no {\"api_key\":…} came in time"));
}

static struct events_link *link_new(struct events *ev, const struct events_link_opts *o)
{
    struct events_link *k = xnew(struct events_link);
    k->ev = ev;
    k->base64 = o->base64;
    k->right = o->right;
    if (o->guest)
        k->guest = *o->guest;
    k->on_since = o->wait_since ? o->on_since : NULL;
    k->on_gone = o->on_gone;
    k->arg = o->arg;
    k->sub.wake = on_wake;
    k->sender.refused = on_refused;
    list_init(&k->sub.node);
    list_init(&k->flows);
    task_init(&k->pump, on_pump);
    buf_init(&k->say, 2 * SAY_MAX);
    buf_init(&k->rest, 2 * LIMIT_EVENT_MAX);
    list_add_tail(&ev->links, &k->node);
    ev->stats.links++;
    return k;
}

struct events_link *events_link_open(struct events *ev, struct stream *take,
                                     enum ws_role role, const struct events_link_opts *o)
{
    struct events_link *k = link_new(ev, o);
    struct ws_opts opts = {.role = role,
                           .message_max = o->with_key ? KEY_MESSAGE_MAX : MESSAGE_MAX,
                           .ping_ms = o->ping_ms,
                           .dead_ms = o->dead_ms};
    struct err e = ERR_INIT;
    ws_start(&k->ws, take, &opts, &ws_calls);
    k->ws.s.out.max = EVENTS_LINK_OUT;
    k->ws.s.low = LINK_LOW;
    k->with_key = o->with_key;
    k->since = o->wait_since ? UINT64_MAX : o->since;
    if (!k->with_key)
        say_hello(k, o->hello);
    if (k->with_key)
        timer_begin(ev->en->loop, &k->key, KEY_MS, on_key_late);
    else if (!o->wait_since && link_begin(k, o->since, &e) < 0)
        say_error(k, &e, STR(""));
    return k;
}

static void on_sse_room(struct req *r, void *owner)
{
    (void)r;
    struct events_link *k = owner;
    if (flush_rest(k))
        there_is_room(k);
}

static void on_sse_gone(struct req *r, void *owner)
{
    (void)r;
    link_end(owner);
}

struct events_link *link_open_sse(struct events *ev, struct req *take,
                                  const struct events_link_opts *o)
{
    struct events_link *k = link_new(ev, o);
    struct err e = ERR_INIT;
    k->req = take;
    req_own(take, k, on_sse_gone);
    char last[24];
    snprintf(last, sizeof(last), "%llu", (unsigned long long)o->since);
    req_header_add(take, "Cache-Control", "no-cache");
    req_header_add(take, "Last-Event-ID", last);
    req_begin(take, 200, "text/event-stream", -1);
    sse_add_comment(&k->rest, STR("")); /* sends the head before the first event */
    flush_rest(k);
    req_on_room(take, on_sse_room);
    link_begin(k, o->since, &e); /* since was checked before */
    return k;
}

void events_link_close(struct events_link *k, enum ws_code code, struct str reason)
{
    if (!k || k->over)
        return;
    k->on_since = NULL;
    k->on_gone = NULL;
    ws_close(&k->ws, code, reason);
}

uint64_t events_link_acked(const struct events_link *k) { return k->reader.acked; }
