/* SPDX-License-Identifier: MIT */
#include "front/connect/connect.h"

#include "action/log.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "front/backend/hello.h"
#include "front/backend/secret.h"
#include "front/backend/words.h"
#include "http/dial.h"
#include "http/httpc.h"
#include "net/backoff.h"

#include <stdio.h>
#include <stdlib.h>

enum connect_state { IDLE, WAIT, DIAL, ASK, HELLO, UP };

enum { FIRST_WAIT_MS = 500, SAY_AGAIN_MS = 600000, HELLO_MAX = 16 << 10 };

/* The options of od serve; owned. */
struct connect_given {
    char *url, *fields, *token_file, *ca, *cert, *key;
    struct buf token;        /* the latest one that could be read */
    struct proxy plain, tls; /* for ws and wss */
    bool has_plain, has_tls;
    int timeout_ms, ping_ms;
};

struct connect {
    struct engine *en; /* borrowed, as are these */
    struct events *events;
    char *version; /* owned: of this server */
    struct connect_given given;
    char sandbox[SANDBOX_ID_SIZE];
    char known[SANDBOX_ID_SIZE]; /* the id at the keeper; "": none */

    enum connect_state state;
    struct ask ask;
    struct dial *dial;        /* DIAL */
    struct tls_client *tls;   /* DIAL; NULL: without TLS */
    struct httpc http;        /* ASK */
    struct stream stream;     /* between ASK and HELLO */
    struct events_link *link; /* HELLO, UP */
    struct timer timer;       /* WAIT: the next try; ASK, HELLO: the deadline */
    struct backoff backoff;
    int64_t up_ms, next_ms; /* begin of UP; time of the next try */

    uint64_t links, tries, failures[CONNECT_OUTCOMES];
    enum connect_outcome last;
    struct err error; /* the reason of `last`; code ERR_NONE: nothing failed yet */
    int64_t failed_ms, said_ms; /* when it failed; when it was last logged */
};

static void go(struct connect *c);

/* ---- ends ---- */

static void where(const struct connect *c, struct buf *out)
{
    struct ask a;
    if (ask_begin(&a, str_of(c->given.url), NULL) == 0)
        ask_print(&a, out);
}

static void on_wait(struct timer *t)
{
    struct connect *c = container_of(t, struct connect, timer);
    struct err e = ERR_INIT;
    c->tries++;
    if (ask_begin(&c->ask, str_of(c->given.url), &e) == 0)
        go(c);
}

/* Repeated messages are logged only at the debug level. */
static void say(struct connect *c, const struct err *before, int64_t wait_ms)
{
    struct buf to = BUF_INIT(1024);
    int64_t now = clock_ms();
    bool again = backend_same_words(before->text, c->error.text) &&
                 now - c->said_ms < SAY_AGAIN_MS;
    where(c, &to);
    buf_addf(&to, ": %s; again in %.1f s [%s]", c->error.text, (double)wait_ms / 1000,
             connect_outcome_name(c->last));
    if (again) {
        log_debug("dial-out to %s", buf_z(&to));
    } else {
        log_warn("dial-out to %s", buf_z(&to));
        c->said_ms = now;
    }
    buf_release(&to);
}

/*
 * Records how the try ended, whose parts are all freed, and begins the wait for the next.
 */
static void failed(struct connect *c, enum connect_outcome o, const struct err *e,
                   int64_t later_ms)
{
    struct err before = c->error;
    int64_t wait = backoff_next(&c->backoff);
    if (wait < later_ms)
        wait = later_ms;
    c->failures[o]++;
    c->last = o;
    c->error = *e;
    c->failed_ms = clock_ms();
    c->next_ms = c->failed_ms + wait;
    c->state = WAIT;
    timer_begin(c->en->loop, &c->timer, wait, on_wait);
    say(c, &before, wait);
}

static void on_late(struct timer *t)
{
    struct connect *c = container_of(t, struct connect, timer);
    struct err e;
    bool hello = c->state == HELLO;
    err_set(&e, ERR_TIMEOUT, "the backend %s for %d ms",
            hello ? "accepted the link, but has not sent {\"since\":N}"
                  : "accepted the connection, but has not answered",
            c->given.timeout_ms);
    if (hello)
        events_link_close(c->link, WS_POLICY, STR("no {\"since\":N} came"));
    else
        httpc_release(&c->http);
    c->link = NULL;
    failed(c, CONNECT_SILENT, &e, 0);
}

/* ---- UP ---- */

/* The answer to our hello was not {"since":N}, or was about another log. */
static void not_since(struct connect *c, const struct err *e)
{
    bool future = e->code == ERR_NOTFOUND;
    struct err why;
    err_set(&why, e->code, "the backend %s: %s",
            future ? "asks for events that do not exist yet"
                   : "did not answer our hello with {\"since\":N}",
            e->text);
    events_link_close(c->link, WS_POLICY,
                      future ? STR("there is no such event yet")
                             : STR("{\"since\":N} was expected"));
    c->link = NULL;
    failed(c, future ? CONNECT_FUTURE : CONNECT_GARBAGE, &why, 0);
}

static void on_since(void *arg, uint64_t since, const struct err *e)
{
    struct connect *c = arg;
    struct buf to = BUF_INIT(400);
    timer_stop(&c->timer);
    if (e) {
        not_since(c, e);
        return;
    }
    where(c, &to);
    c->state = UP;
    c->up_ms = clock_ms();
    c->links++;
    c->en->clients++;
    engine_touch(c->en);
    log_info("dial-out to %s: linked, after try %llu; it asks for events after %llu",
             buf_z(&to), (unsigned long long)c->tries, (unsigned long long)since);
    buf_release(&to);
}

static enum connect_outcome end_of(int code, struct str reason)
{
    if (code == WS_LOST)
        return str_find(reason, STR("silent")) >= 0 ? CONNECT_DEAD : CONNECT_CUT;
    if (code == WS_PROTOCOL || code == WS_BAD_TEXT || code == WS_TOO_LONG ||
        code == WS_UNSUPPORTED)
        return CONNECT_GARBAGE;
    return CONNECT_CLOSED;
}

static void on_gone(void *arg, int code, struct str reason)
{
    static const char *const words[CONNECT_OUTCOMES] = {
        [CONNECT_CUT] = "the connection ended without a Close",
        [CONNECT_DEAD] = "the backend gives no sign of life",
        [CONNECT_GARBAGE] = "the backend violates the protocol",
        [CONNECT_CLOSED] = "the backend closed the link",
    };
    struct connect *c = arg;
    struct err e;
    enum connect_outcome o = end_of(code, reason);
    err_set(&e, o == CONNECT_GARBAGE ? ERR_INVALID : ERR_GONE, "%s (%d%s%.*s)", words[o],
            code, reason.n > 0 ? ": " : "",
            (int)(reason.n < WS_REASON_MAX ? reason.n : WS_REASON_MAX), reason.p);
    c->link = NULL;
    timer_stop(&c->timer);
    if (c->state == UP) {
        c->en->clients--;
        engine_touch(c->en);
        /* A backend that accepts a link and closes it at once counts as a failure, too.
         */
        if (clock_ms() - c->up_ms >= c->backoff.most_ms)
            backoff_reset(&c->backoff);
    }
    failed(c, o, &e, 0);
}

/* ---- HELLO ---- */

static void on_data(struct stream *s) { (void)s; }

static void on_end(struct stream *s, int errnum)
{
    (void)s;
    (void)errnum;
}

/* For the short time between two owners of a stream. */
static const struct stream_events stream_calls = {.on_data = on_data, .on_end = on_end};

static void greet(struct connect *c)
{
    struct buf hello = BUF_INIT(HELLO_MAX);
    backend_hello(c->en, c->sandbox, c->version, actions_next_id(c->en->actions), true,
                  &hello);
    struct events_link_opts opts = {.hello = buf_str(&hello),
                                    .wait_since = true,
                                    .ping_ms = c->given.ping_ms,
                                    .dead_ms = 3 * c->given.ping_ms,
                                    .on_since = on_since,
                                    .on_gone = on_gone,
                                    .arg = c};
    httpc_leave(&c->http, &c->stream, &stream_calls);
    c->state = HELLO;
    timer_begin(c->en->loop, &c->timer, c->given.timeout_ms, on_late);
    c->link = events_link_open(c->events, &c->stream, WS_CLIENT, &opts);
    buf_release(&hello);
}

/* ---- ASK ---- */

static void judge(struct connect *c, struct str body)
{
    struct ask_result r;
    int rc = ask_judge(&c->ask, &c->http.head, body, &r);
    timer_stop(&c->timer);
    if (rc > 0) {
        greet(c);
        return;
    }
    httpc_release(&c->http);
    if (rc == 0)
        go(c);
    else
        failed(c, r.outcome, &r.e, r.later_ms);
}

/* Only the first piece of the body is shown. */
static size_t on_body(struct httpc *h, struct str piece)
{
    judge(container_of(h, struct connect, http), piece);
    return piece.n;
}

static void on_answer(struct httpc *h, const struct err *e)
{
    struct connect *c = container_of(h, struct connect, http);
    if (!e) {
        judge(c, STR(""));
        return;
    }
    struct err why = *e;
    enum connect_outcome o = why.code == ERR_GONE || why.code == ERR_IO ? CONNECT_CUT
                                                                        : CONNECT_GARBAGE;
    timer_stop(&c->timer);
    httpc_release(&c->http);
    failed(c, o, &why, 0);
}

static const struct httpc_events http_calls = {.on_body = on_body, .on_done = on_answer};

static void ask(struct connect *c, struct stream *s)
{
    struct buf fields = BUF_INIT(ASK_FIELDS_MAX + BACKEND_SECRET_MAX + 1024);
    char agent[80];
    struct err e = ERR_INIT;
    snprintf(agent, sizeof(agent), "od/%s", c->version);
    c->state = ASK;
    httpc_start(&c->http, s, -1, &http_calls);
    timer_begin(c->en->loop, &c->timer, c->given.timeout_ms, on_late);
    int rc = ask_fields(&c->ask, agent, buf_str(&c->given.token), str_of(c->given.fields),
                        &fields, &e);
    struct httpc_request q = {.method = "GET",
                              .target = c->ask.at.target,
                              .host = c->ask.at.authority,
                              .fields = buf_str(&fields)};
    if (rc == 0)
        rc = httpc_send(&c->http, &q, &e);
    buf_release(&fields);
    if (rc < 0) {
        timer_stop(&c->timer);
        httpc_release(&c->http);
        failed(c, CONNECT_LOCAL, &e, 0);
    }
}

/* ---- DIAL ---- */

static enum connect_outcome dial_outcome(const struct connect *c, enum dial_step step,
                                         const struct err *e)
{
    bool proxied = c->ask.at.tls ? c->given.has_tls : c->given.has_plain;
    if (e->code == ERR_LIMIT)
        return CONNECT_LOCAL;
    switch (step) {
    case DIAL_RESOLVE:
        return proxied ? CONNECT_PROXY : CONNECT_NO_ADDRESS;
    case DIAL_CONNECT:
        return proxied ? CONNECT_PROXY : CONNECT_UNREACHABLE;
    case DIAL_TUNNEL:
        return CONNECT_PROXY;
    case DIAL_GREET:
        break;
    }
    return e->code == ERR_TIMEOUT ? CONNECT_SILENT : CONNECT_TLS;
}

static void end_dial(struct connect *c)
{
    tls_client_free(c->tls);
    c->tls = NULL;
    c->dial = NULL;
}

static void on_dialled(struct dial *d, struct stream *s, const struct err *e)
{
    struct connect *c = dial_owner(d);
    if (s) {
        ask(c, s);
        end_dial(c);
        return;
    }
    struct err why = *e;
    enum connect_outcome o = dial_outcome(c, dial_step(d), e);
    end_dial(c);
    failed(c, o, &why, 0);
}

/* Files are read for each try, so a corrected one needs no restart. */
static int make_tls(struct connect *c, struct err *e)
{
    const struct connect_given *g = &c->given;
    c->tls = backend_tls(g->ca, g->cert, g->key, e);
    return c->tls ? 0 : -1;
}

static void hide_token(const struct connect *c)
{
    struct err e = ERR_INIT;
    if (actions_secret(c->en->actions, buf_str(&c->given.token), &e) < 0)
        log_warn("dial-out: the token can be seen in events: %s", e.text);
}

/* Reads the token again. The previous one stays in use if its file cannot be read. */
static void refresh_token(struct connect *c)
{
    struct err e = ERR_INIT;
    struct buf now = BUF_INIT(BACKEND_SECRET_MAX), *token = &c->given.token;
    if (!c->given.token_file[0])
        return;
    if (backend_read_secret(c->given.token_file, false, &now, &e) < 0) {
        log_debug("dial-out: %s; the previous token is used", e.text);
    } else if (!str_eq(buf_str(&now), buf_str(token))) {
        buf_reset(token);
        buf_adds(token, buf_str(&now));
        hide_token(c);
    }
    buf_release(&now);
}

/* Dials the address of c->ask. */
static void go(struct connect *c)
{
    const struct connect_given *g = &c->given;
    bool tls = c->ask.at.tls;
    struct err e = ERR_INIT;
    c->state = DIAL;
    refresh_token(c);
    if (tls && make_tls(c, &e) < 0) {
        failed(c, CONNECT_LOCAL, &e, 0);
        return;
    }
    const struct proxy *proxy = tls ? (g->has_tls ? &g->tls : NULL)
                                    : (g->has_plain ? &g->plain : NULL);
    struct dial_spec spec = {.host = c->ask.at.host,
                             .port = c->ask.at.port,
                             .tls = c->tls,
                             .proxy = proxy,
                             .timeout_ms = g->timeout_ms,
                             .in_max = EVENTS_LINK_IN,
                             .out_max = EVENTS_LINK_OUT,
                             .on_done = on_dialled,
                             .owner = c};
    c->dial = dial_start(c->en->loop, &spec, &e);
    if (!c->dial) {
        end_dial(c);
        failed(c, CONNECT_LOCAL, &e, 0);
    }
}

/* ---- interface ---- */

static char *copy(const struct json *o, const char *name)
{
    struct str s = json_str(o, name, "");
    return xstrndup(s.p, s.n);
}

static bool take_proxy(const struct json *o, const char *name, struct proxy *p)
{
    struct json *j = json_get(o, name);
    struct str host = json_str(j, "host", ""), auth = json_str(j, "auth", "");
    if (!j || host.n >= sizeof(p->host) || auth.n >= sizeof(p->auth))
        return false;
    memcpy(p->host, host.p, host.n + 1);
    memcpy(p->auth, auth.p, auth.n + 1);
    p->port = (uint16_t)json_int(j, "port", 80);
    return true;
}

struct connect *connect_open(struct engine *en, struct events *events,
                             const struct json *options)
{
    struct json *o = json_get(options, "connect");
    if (!o)
        return NULL;
    struct connect *c = xnew(struct connect);
    struct connect_given *g = &c->given;
    c->en = en;
    c->events = events;
    c->version = copy(options, "version");
    g->url = copy(o, "url");
    g->fields = copy(o, "fields");
    g->token_file = copy(o, "token_file");
    g->ca = copy(o, "ca");
    g->cert = copy(o, "cert");
    g->key = copy(o, "key");
    buf_init(&g->token, BACKEND_SECRET_MAX);
    buf_adds(&g->token, json_str(o, "token", ""));
    g->has_plain = take_proxy(o, "proxy_ws", &g->plain);
    g->has_tls = take_proxy(o, "proxy_wss", &g->tls);
    g->timeout_ms = (int)json_int(o, "timeout_ms", LIMIT_DIAL_MS);
    g->ping_ms = (int)json_int(o, "ping_ms", LIMIT_WS_PING_MS);
    backend_take_env(o);
    int64_t most = json_int(o, "wait_ms", LIMIT_CONNECT_WAIT_MS);
    c->backoff = (struct backoff){.first_ms = most < FIRST_WAIT_MS ? most : FIRST_WAIT_MS,
                                  .most_ms = most};
    return c;
}

void connect_load(struct connect *c)
{
    if (!c)
        return;
    struct buf *known = map_get(&c->en->states, STR(BACKEND_SANDBOX_KEY));
    if (known && known->n < sizeof(c->known))
        memcpy(c->known, known->p, known->n + 1);
}

void connect_start(struct connect *c)
{
    char dir[sizeof(c->en->state_dir) + 8];
    if (!c || c->state != IDLE)
        return;
    snprintf(dir, sizeof(dir), "%s/events", c->en->state_dir);
    backend_sandbox_id(c->en, str_of(c->known),
                       actions_on_disk(c->en->actions) ? dir : NULL, c->sandbox);
    hide_token(c);
    on_wait(&c->timer);
}

static void release(void *p)
{
    struct connect *c = p;
    struct connect_given *g = &c->given;
    char *const strings[] = {g->url, g->fields, g->token_file, g->ca, g->cert, g->key};
    for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
        free(strings[i]);
    buf_release(&g->token);
    free(c->version);
    free(c);
}

void connect_close(struct connect *c)
{
    if (!c)
        return;
    if (c->dial)
        dial_cancel(c->dial);
    end_dial(c);
    httpc_release(&c->http);
    if (c->state == UP)
        c->en->clients--;
    events_link_close(c->link, WS_GOING_AWAY, STR("od ends or is replaced"));
    timer_stop(&c->timer);
    loop_bury(c->en->loop, c, release);
}

/* ---- metrics and status ---- */

static const char *state_name(enum connect_state s)
{
    static const char *const names[] = {"idle",   "waiting", "dialling",
                                        "asking", "hello",   "up"};
    return names[s];
}

void connect_metrics(const struct connect *c, struct buf *out)
{
    if (!c)
        return;
    buf_addf(out,
             "# HELP od_connect_up Whether the link to the backend of --connect is up.\n"
             "# TYPE od_connect_up gauge\n"
             "od_connect_up %d\n"
             "# HELP od_connect_tries_total Tries to reach the backend.\n"
             "# TYPE od_connect_tries_total counter\n"
             "od_connect_tries_total %llu\n"
             "# HELP od_connect_links_total Links that were up.\n"
             "# TYPE od_connect_links_total counter\n"
             "od_connect_links_total %llu\n"
             "# HELP od_connect_acked The last event that the backend acknowledged.\n"
             "# TYPE od_connect_acked gauge\n"
             "od_connect_acked %llu\n"
             "# HELP od_connect_ends_total Tries that failed and links that ended.\n"
             "# TYPE od_connect_ends_total counter\n",
             c->state == UP, (unsigned long long)c->tries, (unsigned long long)c->links,
             (unsigned long long)(c->link ? events_link_acked(c->link) : 0));
    for (int o = 0; o < CONNECT_OUTCOMES; o++)
        buf_addf(out, "od_connect_ends_total{outcome=\"%s\"} %llu\n",
                 connect_outcome_name((enum connect_outcome)o),
                 (unsigned long long)c->failures[o]);
}

struct json *connect_status(const struct connect *c)
{
    if (!c)
        return NULL;
    struct json *j = json_object(), *last = json_object();
    struct buf to = BUF_INIT(400);
    int64_t now = clock_ms();
    where(c, &to);
    json_put_str(j, "backend", buf_str(&to));
    json_put_z(j, "sandbox", c->sandbox);
    json_put_z(j, "state", state_name(c->state));
    json_put_int(j, "tries", (int64_t)c->tries);
    json_put_int(j, "links", (int64_t)c->links);
    if (c->state == UP)
        json_put_int(j, "up_ms", now - c->up_ms);
    if (c->state == WAIT)
        json_put_int(j, "next_ms", c->next_ms > now ? c->next_ms - now : 0);
    if (c->error.code != ERR_NONE) {
        json_put_z(last, "outcome", connect_outcome_name(c->last));
        json_put_z(last, "error", c->error.text);
        json_put_int(last, "ago_ms", now - c->failed_ms);
        json_put(j, "last", last);
    } else {
        json_free(last);
    }
    buf_release(&to);
    return j;
}
