/* SPDX-License-Identifier: MIT */
/*
 * The routes of the event stream.
 *
 *   GET /events    upgraded: a WebSocket. Accept: text/event-stream: an event stream.
 *                  Else a page of events, at once or when there are any (?wait=SECONDS).
 *   POST /events   one action; answers with its observation, or, when ?wait=SECONDS have
 *                  passed, with its id and why there is none yet
 *   GET /metrics   see front/events/metrics.c
 *   GET /openapi.json   see openapi.c
 *   GET /client.py, /client.ts   see client_http.c
 */
#include "front/events/own.h"

#include "base/limits.h"
#include "base/member.h"
#include "base/param.h"
#include "base/xalloc.h"
#include "front/events/openapi.h"
#include "http/ws_hello.h"
#include "shell/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_MAX = 1 << 20, WAIT_MAX_MS = 3600000, ACTION_MAX = MESSAGE_MAX };

static const char json_type[] = "application/json";

/* ---- errors ---- */

void events_put_error(struct buf *out, const struct err *e, struct str client_id)
{
    buf_addf(out, "{\"error\":{\"code\":\"%s\",\"message\":", err_name(e->code));
    json_quote(out, str_of(e->text));
    buf_addc(out, '}');
    if (client_id.n > 0) {
        buf_addz(out, ",\"client_id\":");
        buf_adds(out, client_id);
    }
    buf_addc(out, '}');
}

void events_http_refuse(struct req *r, const struct err *e)
{
    struct buf b = BUF_INIT(8 << 10);
    events_put_error(&b, e, STR(""));
    req_answer_take(r, err_words(e->code)->http, json_type, &b);
}

void events_http_fail(struct req *r, int status, const char *text)
{
    struct err e = {.code = ERR_INVALID};
    struct buf b = BUF_INIT(8 << 10);
    snprintf(e.text, sizeof(e.text), "%s", text);
    events_put_error(&b, &e, STR(""));
    req_answer_take(r, status, json_type, &b);
}

/* ---- queries ---- */

struct query {
    uint64_t since;
    uint64_t newest; /* number of newest events, instead of since; 0: not given */
    bool has_since, base64;
    int64_t wait_ms; /* -1: not given */
    struct resume resumes[RESUMES_MAX];
    unsigned nresumes;
};

static int query_id(const char *name, struct str text, uint64_t *out, struct err *e)
{
    if (str_to_u64(text, out) == 0)
        return 0;
    return err_set(e, ERR_INVALID, "%s must be the id of an event, or 0, not \"%.*s\"",
                   name, (int)(text.n < 60 ? text.n : 60), text.p);
}

/* CAUSE:OFFSET,… */
static int query_output(struct query *q, struct str text, struct err *e)
{
    while (text.n > 0) {
        struct str one = str_cut(&text, ','), cause = str_cut(&one, ':');
        struct resume *to = &q->resumes[q->nresumes];
        if (q->nresumes == RESUMES_MAX || str_to_u64(cause, &to->cause) < 0 ||
            str_to_u64(one, &to->offset) < 0)
            return err_set(e, ERR_INVALID,
                           "output must be CAUSE:OFFSET, at most %d of them with commas",
                           RESUMES_MAX);
        q->nresumes++;
    }
    return 0;
}

static int read_query(struct req *r, struct query *q, struct err *e)
{
    struct buf b = BUF_INIT(4096);
    struct str last = req_header(r, "Last-Event-ID");
    int rc = 0;
    *q = (struct query){.wait_ms = -1};
    if (last.p && str_to_u64(last, &q->since) == 0)
        q->has_since = true;
    else if (req_query(r, "since", &b) > 0) {
        struct str text = buf_str(&b);
        if (str_starts(text, STR("-")))
            rc = query_id("since", str_sub(text, 1, text.n), &q->newest, e);
        else
            rc = query_id("since", text, &q->since, e);
        q->has_since = true;
    }
    buf_reset(&b);
    if (rc == 0 && req_query(r, "wait", &b) > 0 &&
        (str_to_ms(buf_str(&b), &q->wait_ms) < 0 || q->wait_ms > WAIT_MAX_MS))
        rc = err_set(e, ERR_INVALID, "wait must be seconds, at most %d",
                     WAIT_MAX_MS / 1000);
    buf_reset(&b);
    if (rc == 0 && req_query(r, "output", &b) > 0)
        rc = query_output(q, buf_str(&b), e);
    buf_reset(&b);
    q->base64 = req_query(r, "encoding", &b) > 0 && str_eq(buf_str(&b), STR("base64"));
    buf_release(&b);
    return rc;
}

/* ---- waiting requests ---- */

struct wait {
    struct list node;
    struct events *ev;
    struct req *req;
    uint64_t cause;    /* POST: the action; 0: waits for events */
    bool bare;         /* answers with the observation's extras, not the event */
    char session[256]; /* of the action; "": not known */
    struct event_cursor cursor;
    struct event_sub sub;
    struct timer timer;
};

static void wait_free(struct wait *w)
{
    list_del(&w->node);
    eventlog_unsubscribe(&w->sub);
    timer_stop(&w->timer);
    loop_bury(w->ev->en->loop, w, free);
}

static void on_wait_gone(struct req *r, void *owner)
{
    (void)r;
    wait_free(owner);
}

static struct wait *wait_new(struct events *ev, struct req *r)
{
    struct wait *w = xnew(struct wait);
    w->ev = ev;
    w->req = r;
    list_init(&w->sub.node);
    list_add_tail(&ev->waits, &w->node);
    req_own(r, w, on_wait_gone);
    return w;
}

/* ---- a page of events ---- */

/*
 * Answers {"events":[…],"next":N}; next is the next request's since. Returns false,
 * without an answer, if there are no events, unless even_none.
 */
static bool answer_page(struct events *ev, struct req *r, struct event_cursor *c,
                        bool even_none)
{
    struct buf lines = BUF_INIT(PAGE_MAX + 2 * LIMIT_EVENT_MAX);
    struct buf out = BUF_INIT(PAGE_MAX + 2 * LIMIT_EVENT_MAX + 64);
    struct event_line line;
    if (eventlog_read(actions_log(ev->actions), c, &lines, PAGE_MAX, NULL) <= 0 &&
        !even_none) {
        buf_release(&lines);
        return false;
    }
    buf_addz(&out, "{\"events\":[");
    for (struct str s = buf_str(&lines);
         s.n > 0 && event_line(s, &line) == EVENT_LINE_GOOD;) {
        if (out.n > 0 && out.p[out.n - 1] != '[')
            buf_addz(&out, ",\n");
        buf_adds(&out, str_sub(s, 0, line.n - 1));
        s = str_sub(s, line.n, s.n);
    }
    buf_addf(&out, "],\"last\":%llu}\n", (unsigned long long)c->next - 1);
    buf_release(&lines);
    req_answer_take(r, 200, json_type, &out);
    return true;
}

static void on_wait_wake(struct event_sub *s)
{
    struct wait *w = container_of(s, struct wait, sub);
    if (answer_page(w->ev, w->req, &w->cursor, false))
        wait_free(w);
}

static void on_wait_late(struct timer *t)
{
    struct wait *w = container_of(t, struct wait, timer);
    answer_page(w->ev, w->req, &w->cursor, true);
    wait_free(w);
}

static void page(struct events *ev, struct req *r, const struct query *q)
{
    struct event_cursor c = {.next = q->since + 1};
    bool wait = q->wait_ms > 0;
    if (answer_page(ev, r, &c, !wait))
        return;
    struct wait *w = wait_new(ev, r);
    w->cursor = c;
    eventlog_subscribe(actions_log(ev->actions), &w->sub, on_wait_wake);
    timer_begin(ev->en->loop, &w->timer, q->wait_ms, on_wait_late);
}

/* ---- GET ---- */

static const struct stream_events no_calls;

/* If false, this is a WebSocket whose first message must be the key. */
static bool has_key(const struct req *r) { return req_right(r) != RIGHT_NONE; }

static void upgrade(struct events *ev, struct req *r, const struct query *q)
{
    static const char *const protocols[] = {EVENTS_PROTOCOL, NULL};
    char accept[WS_ACCEPT_SIZE];
    struct err e = ERR_INIT;
    struct stream s;
    const char *chosen;
    int status = ws_check_req(r, protocols, &chosen, accept, &e);
    if (status) {
        events_http_fail(r, status, e.text);
        return;
    }
    req_header_add(r, "Sec-WebSocket-Accept", accept);
    if (chosen)
        req_header_add(r, "Sec-WebSocket-Protocol", chosen);
    struct guest guest;
    access_guest(ev->access, &door_native, r, &guest);
    struct events_link_opts o = {
        .since = q->has_since ? q->since : eventlog_next(actions_log(ev->actions)) - 1,
        .with_key = !has_key(r),
        .right = req_right(r),
        .guest = &guest,
        .base64 = q->base64};
    if (req_upgrade(r, "websocket", &s, &no_calls) < 0) {
        events_http_fail(r, 400,
                         "a WebSocket begins with a GET of HTTP/1.1, without a body");
        return;
    }
    struct events_link *k = events_link_open(ev, &s, WS_SERVER, &o);
    for (unsigned i = 0; i < q->nresumes; i++)
        link_resume(k, q->resumes[i].cause, q->resumes[i].offset);
}

/* Sets since for ?since=-N, the newest N of the kept events. */
static void settle_since(const struct events *ev, struct query *q)
{
    uint64_t next = eventlog_next(actions_log(ev->actions));
    uint64_t first = eventlog_first(actions_log(ev->actions));
    if (q->newest > 0)
        q->since = next - first > q->newest ? next - 1 - q->newest : first - 1;
}

static void get_events(struct req *r)
{
    struct events *ev = req_arg(r);
    struct err e = ERR_INIT;
    struct query q;
    bool known = has_key(r);
    if (known)
        engine_touch(ev->en);
    bool read = read_query(r, &q, &e) == 0;
    settle_since(ev, &q);
    /* Without a key, a request learns nothing about the log. */
    if (!read || (known && events_check_since(ev, q.since, &e) < 0)) {
        events_http_refuse(r, &e);
    } else if (http_has_token(req_header(r, "Upgrade"), "websocket")) {
        upgrade(ev, r, &q);
    } else if (str_find(req_header(r, "Accept"), STR("text/event-stream")) >= 0) {
        struct events_link_opts o = {
            .since = q.has_since ? q.since : eventlog_next(actions_log(ev->actions)) - 1,
            .base64 = q.base64};
        struct events_link *k = link_open_sse(ev, r, &o);
        for (unsigned i = 0; i < q.nresumes; i++)
            link_resume(k, q.resumes[i].cause, q.resumes[i].offset);
    } else {
        page(ev, r, &q);
    }
}

/* ---- POST ---- */

static void answer_line(struct events *ev, struct req *r, uint64_t id)
{
    struct buf b = BUF_INIT(2 * LIMIT_EVENT_MAX);
    struct err e = {.code = ERR_GONE, .text = "the observation is no longer kept"};
    if (actions_line(ev->actions, id, &b) == 0)
        req_answer_take(r, 200, json_type, &b);
    else
        events_http_refuse(r, &e);
    buf_release(&b);
}

/*
 * Answers with an observation's extras, or its error, for an action with a route of its
 * own.
 */
static void answer_bare(struct events *ev, struct req *r, uint64_t id)
{
    struct buf b = BUF_INIT(2 * LIMIT_EVENT_MAX);
    struct err e = ERR_INIT;
    struct json *m = actions_observation(ev->actions, id, NULL, &e);
    struct json *extras = json_get(m, "extras");
    struct str text = json_str(m, "content", "");
    if (extras && text.n > 0)
        json_put_str(extras, "content", text);
    if (!extras || json_print(&b, extras) < 0)
        events_http_refuse(r, &e);
    else
        req_answer_take(r, 200, json_type, &b);
    json_free(m);
    buf_release(&b);
}

static void answer_end(struct events *ev, struct req *r, uint64_t id, bool bare)
{
    if (bare)
        answer_bare(ev, r, id);
    else
        answer_line(ev, r, id);
}

void waits_end(struct events *ev, uint64_t cause, uint64_t end)
{
    struct list *it, *tmp;
    list_each (it, tmp, &ev->waits) {
        struct wait *w = list_entry(it, struct wait, node);
        if (w->cause != cause)
            continue;
        answer_end(ev, w->req, end, w->bare);
        wait_free(w);
    }
}

void waits_fail(struct events *ev, uint64_t cause, const struct err *e)
{
    struct list *it, *tmp;
    list_each (it, tmp, &ev->waits) {
        struct wait *w = list_entry(it, struct wait, node);
        if (w->cause != cause)
            continue;
        events_http_refuse(w->req, e);
        wait_free(w);
    }
}

/* message: why there is no observation; "": that was not asked for. */
static void answer_id(struct req *r, uint64_t id, const char *message)
{
    struct buf b = BUF_INIT(4096);
    struct json *o = json_object();
    json_put_int(o, "id", (int64_t)id);
    if (message[0])
        json_put_z(o, "message", message);
    json_print(&b, o);
    json_free(o);
    req_answer_take(r, 202, json_type, &b);
}

/* The time of ?wait has passed: says what the action's session does. */
static void on_end_late(struct timer *t)
{
    struct wait *w = container_of(t, struct wait, timer);
    struct session *s = session_find(w->ev->en, str_of(w->session));
    struct json *now = s ? session_json(s) : NULL;
    struct str command = json_str(now, "command", "");
    struct look look = {0};
    struct buf b = BUF_INIT(2048);
    buf_addf(&b,
             "action %llu has not ended; its observation will be the event with this "
             "cause",
             (unsigned long long)w->cause);
    if (command.n > 0)
        buf_addf(&b, "; session %s runs: %.*s", w->session,
                 (int)(command.n > 300 ? 300 : command.n), command.p);
    if (command.n > 0 && session_looked(s, &look) && look.state == LOOK_YES)
        buf_addf(&b, "; %s (pid %d) waits for input", look.comm, (int)look.pid);
    answer_id(w->req, w->cause, buf_z(&b));
    buf_release(&b);
    json_free(now);
    wait_free(w);
}

static void post_events(struct req *r)
{
    struct events *ev = req_arg(r);
    struct err e = ERR_INIT;
    struct action_taken t;
    struct query q;
    engine_touch(ev->en);
    struct json *m = read_query(r, &q, &e) < 0 ? NULL : json_parse(req_body(r), &e);
    if (m && !json_has(m, "action"))
        err_set(&e, ERR_INVALID, "the body must be an action: an object with \"action\"");
    bool valid = m && !e.code;
    char session[sizeof(((struct wait *)NULL)->session)];
    buf_fill(session, sizeof(session), "%.*s", STR_ARG(json_str(m, "session", "main")));
    if (!valid)
        json_free(m);
    if (!valid || actions_do(ev->actions, m, NULL, &t, &e) < 0 ||
        actions_check_end(&t, &e) < 0) {
        events_http_refuse(r, &e);
    } else if (t.end) {
        answer_line(ev, r, t.end);
    } else if (q.wait_ms == 0) {
        answer_id(r, t.id, "");
    } else {
        struct wait *w = wait_new(ev, r);
        w->cause = t.id;
        memcpy(w->session, session, sizeof(session));
        if (q.wait_ms > 0)
            timer_begin(ev->en->loop, &w->timer, q.wait_ms, on_end_late);
    }
}

void events_http_act(struct events *ev, struct req *r, struct json *take, bool wait)
{
    struct err e = ERR_INIT;
    struct action_taken t;
    if (actions_do(ev->actions, take, NULL, &t, &e) < 0 ||
        actions_check_end(&t, &e) < 0) {
        events_http_refuse(r, &e);
    } else if (t.end) {
        answer_bare(ev, r, t.end);
    } else if (wait) {
        struct wait *w = wait_new(ev, r);
        w->cause = t.id;
        w->bare = true;
    } else {
        answer_id(r, t.id, "");
    }
}

static const struct param since_query[] = {
    {.name = "since",
     .type = PARAM_INT,
     .ranged = true,
     .min = -1000000,
     .about = "Events after this id; -N: the newest N; without it new events, for a "
              "page all"},
    {.name = "wait",
     .type = PARAM_NUMBER,
     .ranged = true,
     .max = WAIT_MAX_MS / 1000,
     .dflt = "0",
     .about = "For a page: how many seconds to wait for an event"},
    {.name = "output",
     .type = PARAM_STRING,
     .about = "CAUSE:OFFSET, separated by commas: output that the client already has"},
    {.name = "encoding",
     .type = PARAM_STRING,
     .choices = "text base64",
     .dflt = "\"text\"",
     .about = "Form of output in deltas: text, or the exact bytes as base64"},
    {0}};

static const struct param post_query[] = {
    {.name = "wait",
     .type = PARAM_NUMBER,
     .ranged = true,
     .max = WAIT_MAX_MS / 1000,
     .about = "How many seconds to wait for the observation; after that the answer is "
              "the action's id; without it until the observation is there"},
    {0}};

static const struct route_answer get_answers[] = {
    {.status = 101, .type = "", .about = "A WebSocket of " EVENTS_PROTOCOL},
    {.status = 200, .about = "A page of events", .schema = "Events"},
    {.status = 200, .type = "text/event-stream", .about = "A page or a stream of events"},
    {0}};

static const struct route_answer post_answers[] = {
    {.status = 200, .about = "The observation", .schema = "Observation"},
    {.status = 202,
     .about = "After wait: the action's id, and why there is no observation yet",
     .schema = "Accepted"},
    {0}};

static const struct route_answer metrics_answers[] = {
    {.status = 200, .type = "text/plain", .about = "The figures"}, {0}};
static const struct route_answer openapi_answers[] = {
    {.status = 200,
     .about = "This description",
     .value = &(const struct member){.type = MEMBER_OBJECT}},
    {0}};
static const struct route_answer python_answers[] = {
    {.status = 200, .type = "text/x-python", .about = "The client"}, {0}};
static const struct route_answer typescript_answers[] = {
    {.status = 200, .type = "text/plain", .about = "The client"}, {0}};

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/events",
     .run = get_events,
     .marks = ROUTE_MESSAGE | ROUTE_PAGE,
     .right = RIGHT_VIEW,
     .about = "Follows the event stream: a WebSocket if upgraded, server-sent events if "
              "accepted, else a page of events",
     .query = since_query,
     .answers = get_answers},
    {.methods = HTTP_POST,
     .path = "/events",
     .run = post_events,
     .marks = ROUTE_PAGE,
     .body_max = ACTION_MAX,
     .about = "Does one action; answers with its observation",
     .query = post_query,
     .schema = "Action",
     .answers = post_answers},
    {.methods = HTTP_GET,
     .path = "/metrics",
     .run = events_metrics,
     .right = RIGHT_VIEW,
     .about = "Metrics of the server, in the format of Prometheus",
     .answers = metrics_answers},
    {.methods = HTTP_GET,
     .path = "/openapi.json",
     .run = openapi_get,
     .right = RIGHT_VIEW,
     .about = "Describes every route and action of this server (OpenAPI 3.1)",
     .answers = openapi_answers},
    {.methods = HTTP_GET,
     .path = "/client.py",
     .run = events_client_python,
     .right = RIGHT_VIEW,
     .about = "Sends a client of this server in one file of Python",
     .answers = python_answers},
    {.methods = HTTP_GET,
     .path = "/client.ts",
     .run = events_client_typescript,
     .right = RIGHT_VIEW,
     .about = "Sends a client of this server in one file of TypeScript",
     .answers = typescript_answers},
};
const struct http_front events_bare_front = {.routes = routes,
                                             .nroutes = sizeof(routes) /
                                                        sizeof(routes[0]),
                                             .fail = events_http_fail};
