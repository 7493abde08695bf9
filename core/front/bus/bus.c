/* SPDX-License-Identifier: MIT */
/*
 *   WAITS ─▶ [ASKS ─▶] DIALS ─▶ ROLE ─▶ HELLO ─▶ STREAM ─▶ GROUP ─▶ MULTI ─▶ UP
 *     ▲                  ▲ │       a try: the commands of README.md, in order
 *     │                  └─┤ MOVED, at most HOPS_MAX times
 *     └────────────────────┘ each end has a name; then again, forever
 *
 * A link has two connections: one for events, and one that waits for actions. When one
 * ends, so does the other. Without a link nothing is lost: events are in the log, actions
 * in their stream.
 */
#include "front/bus/own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "front/backend/secret.h"
#include "front/backend/words.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_WAIT_MS = 500, SAY_AGAIN_MS = 600000, HELLO_MAX = 16 << 10, HOPS_MAX = 5 };

static void begin_try(struct bus *b);

/* ---- ends ---- */

void bus_print(const struct bus *b, struct buf *out)
{
    const struct bus_where *w = &b->given.where;
    buf_addf(out, "redis%s://", w->tls ? "s" : "");
    bus_host_print(b->at.name[0] ? &b->at : &w->hosts[0], out);
}

static void on_wait(struct timer *t)
{
    struct bus *b = container_of(t, struct bus, wait);
    b->tries++;
    b->hops = 0;
    begin_try(b);
}

/* Repeated messages are logged only at the debug level. */
static void say(struct bus *b, const struct err *before, int64_t wait_ms)
{
    struct buf to = BUF_INIT(400);
    int64_t now = clock_ms();
    bool again = backend_same_words(before->text, b->error.text) &&
                 now - b->said_ms < SAY_AGAIN_MS;
    bus_print(b, &to);
    buf_addf(&to, ": %s; again in %.1f s [%s]", b->error.text, (double)wait_ms / 1000,
             bus_outcome_name(b->last));
    if (again) {
        log_debug("bus at %s", buf_z(&to));
    } else {
        log_warn("bus at %s", buf_z(&to));
        b->said_ms = now;
    }
    buf_release(&to);
}

/* Frees everything that belongs to the link or try. */
static void let_go(struct bus *b)
{
    if (b->state == BUS_UP) {
        b->en->clients--;
        engine_touch(b->en);
        /* A server that accepts a link and closes it at once counts as a failure, too. */
        if (clock_ms() - b->up_ms >= b->backoff.most_ms)
            backoff_reset(&b->backoff);
    }
    b->state = BUS_WAITS;
    publish_end(b);
    take_end(b);
    wire_close(&b->wire);
}

void bus_fail(struct bus *b, enum bus_outcome o, const struct err *e)
{
    struct err before = b->error, why = *e;
    if (b->closed || b->state == BUS_WAITS || b->state == BUS_IDLE)
        return;
    let_go(b);
    int64_t wait = backoff_next(&b->backoff);
    b->ends[o]++;
    b->last = o;
    b->error = why;
    b->failed_ms = clock_ms();
    b->next_ms = b->failed_ms + wait;
    b->host = (b->host + 1) % b->given.where.n;
    timer_begin(b->en->loop, &b->wait, wait, on_wait);
    say(b, &before, wait);
}

void bus_fail_text(struct bus *b, enum bus_outcome o, enum err_code code,
                   const char *text)
{
    struct err e;
    err_set(&e, code, "%s", text);
    bus_fail(b, o, &e);
}

/* Reads "MOVED SLOT HOST:PORT"; an empty host means the server that answers. */
static bool moved_to(const struct bus *b, struct str text, struct bus_host *to)
{
    str_cut(&text, ' ');
    str_cut(&text, ' ');
    if (text.n == 0 || str_chr(text, ' ') >= 0)
        return false;
    if (text.p[0] != ':')
        return bus_host(to, text, 6379) == 0;
    uint64_t port;
    *to = b->at;
    if (str_to_u64(str_sub(text, 1, text.n), &port) < 0 || port == 0 || port > 65535)
        return false;
    to->port = (uint16_t)port;
    return true;
}

void bus_refused(struct bus *b, struct wire *w, const char *what, const struct reply *r)
{
    struct bus_host to;
    if (bus_outcome_of(reply_text(r)) != BUS_MOVED || b->hops >= HOPS_MAX ||
        !moved_to(b, reply_text(r), &to)) {
        wire_refused(w, what, r);
        return;
    }
    let_go(b);
    b->hops++;
    b->ends[BUS_MOVED]++;
    b->at = to;
    b->state = BUS_DIALS;
    struct buf at = BUF_INIT(400);
    bus_print(b, &at);
    log_info("bus: the keys are at %s", buf_z(&at));
    buf_release(&at);
    bus_dial(b, &b->wire);
}

/* ---- the setup ---- */

static void ask_stream(struct bus *b)
{
    b->state = BUS_SETUP_STREAM;
    wire_ask(&b->wire, WIRE_WORDS(STR("XINFO"), STR("STREAM"), str_of(b->events_key)));
}

static void ask_hello(struct bus *b)
{
    struct buf hello = BUF_INIT(HELLO_MAX);
    char key[KEY_MAX];
    if (b->given.no_index) {
        ask_stream(b);
        return;
    }
    b->state = BUS_SETUP_HELLO;
    snprintf(key, sizeof(key), "%s:{%.2s}:hello", b->given.where.prefix, b->sandbox);
    backend_hello(b->en, b->sandbox, b->version, actions_next_id(b->en->actions),
                  b->given.deltas, &hello);
    wire_ask(&b->wire,
             WIRE_WORDS(STR("HSET"), str_of(key), str_of(b->sandbox), buf_str(&hello)));
    buf_release(&hello);
}

static void on_role(struct bus *b, const struct reply *r)
{
    const struct reply *role = reply_at(r, 0);
    struct str word = reply_text(role);
    if (!role || role->kind != REPLY_STRING)
        wire_garbage(&b->wire, "ROLE");
    else if (!str_eq(word, STR("master")))
        bus_fail_text(b, BUS_REPLICA, ERR_UNSUPPORTED,
                      "the server is not a master, so it takes no events");
    else
        ask_hello(b);
}

/*
 * Reads two ids: of the last event that was ever in the stream, and of the oldest that is
 * in it.
 */
static void on_stream(struct bus *b, const struct reply *r, uint64_t ids[2])
{
    const struct reply *length = reply_member(r, STR("length"));
    const struct reply *first = reply_member(r, STR("first-entry"));
    bool good = length && length->kind == REPLY_INT &&
                reply_stream_id(reply_member(r, STR("last-generated-id")), &ids[0]) == 0;
    if (good && length->number > 0)
        good = reply_stream_id(reply_at(first, 0), &ids[1]) == 0 && ids[1] <= ids[0];
    if (!good) {
        wire_garbage(&b->wire, "XINFO");
        return;
    }
    if (ids[0] >= actions_next_id(b->en->actions)) {
        struct err e;
        err_set(
            &e, ERR_EXISTS,
            "the stream has an event %llu, but the last one of the log is %llu: it is "
            "another log's, and nothing is written",
            (unsigned long long)ids[0],
            (unsigned long long)actions_next_id(b->en->actions) - 1);
        bus_fail(b, BUS_FUTURE, &e);
    }
}

static void ask_group(struct bus *b)
{
    b->state = BUS_SETUP_GROUP;
    wire_ask(&b->wire, WIRE_WORDS(STR("XGROUP"), STR("CREATE"), str_of(b->actions_key),
                                  STR("od"), STR("0"), STR("MKSTREAM")));
}

static void ask_multi(struct bus *b)
{
    b->state = BUS_SETUP_MULTI;
    b->out.replies = 0;
    wire_add(&b->wire, WIRE_WORDS(STR("MULTI")));
    wire_ask(&b->wire, WIRE_WORDS(STR("EXEC")));
}

static void linked(struct bus *b)
{
    struct buf to = BUF_INIT(400);
    bus_print(b, &to);
    b->state = BUS_UP;
    b->up_ms = clock_ms();
    b->links++;
    b->en->clients++;
    b->hops = 0;
    engine_touch(b->en);
    log_info("bus at %s: linked, after try %llu; it has events up to %llu", buf_z(&to),
             (unsigned long long)b->tries, (unsigned long long)b->out.found);
    buf_release(&to);
    publish_begin(b, b->out.found, b->out.oldest);
    take_begin(b);
}

static void on_setup(struct bus *b, const struct reply *r)
{
    static const char *const commands[] = {[BUS_SETUP_ROLE] = "ROLE",
                                           [BUS_SETUP_HELLO] = "HSET",
                                           [BUS_SETUP_STREAM] = "XINFO",
                                           [BUS_SETUP_GROUP] = "XGROUP"};
    struct str text = reply_text(r);
    uint64_t ids[2] = {0, 0};
    bool error = r->kind == REPLY_ERROR;
    wire_expect(&b->wire, b->given.timeout_ms);
    if (b->state == BUS_SETUP_MULTI) { /* without MULTI events are sent one by one */
        if (b->out.replies++ == 0) {
            b->out.one = error;
        } else {
            wire_expect(&b->wire, 0);
            linked(b);
        }
        return;
    }
    if (error && b->state == BUS_SETUP_STREAM &&
        str_starts(text, STR("ERR no such key"))) {
        b->out.found = b->out.oldest = 0;
        ask_group(b);
    } else if (error && b->state == BUS_SETUP_GROUP &&
               str_starts(text, STR("BUSYGROUP"))) {
        ask_multi(b);
    } else if (error) {
        bus_refused(b, &b->wire, commands[b->state], r);
    } else if (b->state == BUS_SETUP_ROLE) {
        on_role(b, r);
    } else if (b->state == BUS_SETUP_HELLO) {
        ask_stream(b);
    } else if (b->state == BUS_SETUP_STREAM) {
        on_stream(b, r, ids);
        b->out.found = ids[0];
        b->out.oldest = ids[1];
        if (b->state == BUS_SETUP_STREAM)
            ask_group(b);
    } else {
        ask_multi(b);
    }
}

/* ---- a sentinel ---- */

static void on_master(struct bus *b, const struct reply *r)
{
    struct str host = reply_text(reply_at(r, 0)), port = reply_text(reply_at(r, 1));
    uint64_t n;
    if (r->kind == REPLY_NIL) {
        bus_fail_text(b, BUS_NO_MASTER, ERR_NOTFOUND,
                      "the sentinel does not know a master of that name");
        return;
    }
    if (r->kind == REPLY_ERROR) {
        bus_refused(b, &b->wire, "SENTINEL", r);
        return;
    }
    if (host.n == 0 || host.n >= sizeof(b->at.name) || memchr(host.p, 0, host.n) ||
        str_to_u64(port, &n) < 0 || n == 0 || n > 65535) {
        wire_garbage(&b->wire, "SENTINEL");
        return;
    }
    wire_close(&b->wire);
    memcpy(b->at.name, host.p, host.n);
    b->at.name[host.n] = 0;
    b->at.port = (uint16_t)n;
    b->state = BUS_DIALS;
    bus_dial(b, &b->wire);
}

/* ---- the main connection ---- */

static void on_open(struct wire *w)
{
    struct bus *b = container_of(w, struct bus, wire);
    wire_expect(w, b->given.timeout_ms);
    if (b->state == BUS_ASKS) {
        wire_ask(w, WIRE_WORDS(STR("SENTINEL"), STR("GET-MASTER-ADDR-BY-NAME"),
                               str_of(b->given.where.master)));
        return;
    }
    b->state = BUS_SETUP_ROLE;
    wire_ask(w, WIRE_WORDS(STR("ROLE")));
}

static void on_reply(struct wire *w, const struct reply *r)
{
    struct bus *b = container_of(w, struct bus, wire);
    if (b->state == BUS_UP)
        publish_reply(b, r);
    else if (b->state == BUS_ASKS)
        on_master(b, r);
    else
        on_setup(b, r);
}

static void on_gone(struct wire *w, enum bus_outcome o, const struct err *e)
{
    bus_fail(container_of(w, struct bus, wire), o, e);
}

static const struct wire_calls calls = {on_open, on_reply, on_gone};

/* ---- dialling ---- */

static void hide_password(const struct bus *b, const struct bus_secret *s)
{
    if (s->text.n > 0)
        actions_own_secret(b->en->actions, buf_str(&s->text),
                           s == &b->given.sentinel ? "the password of --bus' sentinels"
                                                   : "the password of --bus");
}

/* Reads a password again. The previous one stays in use if its file cannot be read. */
static void refresh_password(struct bus *b, struct bus_secret *s)
{
    struct err e = ERR_INIT;
    struct buf now = BUF_INIT(BACKEND_SECRET_MAX);
    if (!s->file[0])
        return;
    if (backend_read_secret(s->file, false, &now, &e) < 0) {
        log_debug("bus: %s; the previous password is used", e.text);
    } else if (!str_eq(buf_str(&now), buf_str(&s->text))) {
        buf_reset(&s->text);
        buf_adds(&s->text, buf_str(&now));
        hide_password(b, s);
    }
    buf_release(&now);
}

int bus_dial(struct bus *b, struct wire *w)
{
    const struct bus_given *g = &b->given;
    struct tls_client *tls = NULL;
    struct err e = ERR_INIT;
    if (!g->where.tls && !g->insecure && !bus_host_is_near(&b->at)) {
        struct buf at = BUF_INIT(300);
        bus_host_print(&b->at, &at);
        err_set(&e, ERR_DENIED,
                "%s is another machine, and without TLS everybody on the way reads and "
                "writes; use rediss://, or allow it with --bus-insecure",
                buf_z(&at));
        buf_release(&at);
        bus_fail(b, BUS_CLEAR, &e);
        return -1;
    }
    /* Files are read for each try, so a corrected one needs no restart. */
    if (g->where.tls && !(tls = backend_tls(g->ca, g->cert, g->key, &e))) {
        bus_fail(b, BUS_LOCAL, &e);
        return -1;
    }
    w->bare = b->state == BUS_ASKS;
    w->timeout_ms = g->timeout_ms;
    w->user = str_of(w->bare ? g->sentinel_user : g->where.user);
    w->password = buf_str(w->bare ? &g->sentinel.text : &g->password.text);
    w->name = str_of(b->client);
    w->db = g->where.db;
    wire_dial(w, &b->at, tls);
    return 0;
}

static void begin_try(struct bus *b)
{
    const struct bus_where *w = &b->given.where;
    refresh_password(b, &b->given.password);
    refresh_password(b, &b->given.sentinel);
    b->at = w->hosts[b->host];
    b->state = w->sentinel ? BUS_ASKS : BUS_DIALS;
    bus_dial(b, &b->wire);
}

/* ---- the end of the server ---- */

static void flushed(struct bus *b)
{
    void (*fn)(void *arg) = b->flushed;
    if (!fn)
        return;
    timer_stop(&b->flush);
    bus_close(b);
    b->flushed = NULL;
    fn(b->flushed_arg);
}

static void on_flush_late(struct timer *t)
{
    struct bus *b = container_of(t, struct bus, flush);
    log_warn("bus: the server ends, and %llu events are only in its own log",
             (unsigned long long)publish_waiting(b));
    flushed(b);
}

void bus_check_flushed(struct bus *b)
{
    if (b->flushed && publish_waiting(b) == 0)
        flushed(b);
}

void bus_flush(struct bus *b, void (*fn)(void *arg), void *arg)
{
    ASSERT(fn && !b->flushed); /* once */
    b->flushed = fn;
    b->flushed_arg = arg;
    timer_begin(b->en->loop, &b->flush, LIMIT_BUS_FLUSH_MS, on_flush_late);
    if (publish_waiting(b) > 0)
        log_info("bus: the server ends when %llu events are published, or in %d s",
                 (unsigned long long)publish_waiting(b), LIMIT_BUS_FLUSH_MS / 1000);
    bus_check_flushed(b);
}

/* ---- interface ---- */

static char *copy(const struct json *o, const char *name)
{
    struct str s = json_str(o, name, "");
    return xstrndup(s.p, s.n);
}

static void take_secret(struct bus_secret *s, const struct json *o, const char *file,
                        const char *text, const char *dflt)
{
    s->file = copy(o, file);
    buf_init(&s->text, BACKEND_SECRET_MAX);
    buf_adds(&s->text, json_str(o, text, dflt));
}

struct bus *bus_open(struct engine *en, struct events *events, const struct json *options)
{
    struct json *o = json_get(options, "bus");
    struct err e = ERR_INIT;
    if (!o)
        return NULL;
    struct bus *b = xnew(struct bus);
    struct bus_given *g = &b->given;
    b->en = en;
    b->events = events;
    b->version = copy(options, "version");
    if (bus_where(&g->where, json_str(o, "url", ""), &e) < 0)
        log_error("bus: %s", e.text); /* od serve has checked the URL */
    g->ca = copy(o, "ca");
    g->cert = copy(o, "cert");
    g->key = copy(o, "key");
    g->sentinel_user = copy(o, "sentinel_user");
    take_secret(&g->password, o, "password_file", "password", g->where.password);
    take_secret(&g->sentinel, o, "sentinel_password_file", "sentinel_password", "");
    g->deltas = json_bool(o, "deltas", false);
    g->insecure = json_bool(o, "insecure", false);
    g->no_index = json_bool(o, "no_index", false);
    g->timeout_ms = (int)json_int(o, "timeout_ms", LIMIT_DIAL_MS);
    backend_take_env(o);
    int64_t most = json_int(o, "wait_ms", LIMIT_CONNECT_WAIT_MS);
    b->backoff = (struct backoff){.first_ms = most < FIRST_WAIT_MS ? most : FIRST_WAIT_MS,
                                  .most_ms = most};
    b->wire.loop = en->loop;
    b->wire.calls = &calls;
    publish_init(b);
    return b;
}

void bus_load(struct bus *b)
{
    struct buf *known = map_get(&b->en->states, STR(BACKEND_SANDBOX_KEY));
    if (known && known->n < sizeof(b->known))
        memcpy(b->known, known->p, known->n + 1);
}

void bus_start(struct bus *b)
{
    char dir[sizeof(b->en->state_dir) + 8];
    const char *prefix = b->given.where.prefix;
    if (b->state != BUS_IDLE || b->given.where.n == 0)
        return;
    snprintf(dir, sizeof(dir), "%s/events", b->en->state_dir);
    backend_sandbox_id(b->en, str_of(b->known),
                       actions_on_disk(b->en->actions) ? dir : NULL, b->sandbox);
    snprintf(b->client, sizeof(b->client), "od-%s", b->sandbox);
    snprintf(b->events_key, KEY_MAX, "%s:{%.2s}:%s:events", prefix, b->sandbox,
             b->sandbox);
    snprintf(b->actions_key, KEY_MAX, "%s:{%.2s}:%s:actions", prefix, b->sandbox,
             b->sandbox);
    snprintf(b->delta_key, KEY_MAX, "%s:{%.2s}:%s:delta", prefix, b->sandbox, b->sandbox);
    take_init(b);
    hide_password(b, &b->given.password);
    hide_password(b, &b->given.sentinel);
    on_wait(&b->wait);
}

void bus_close(struct bus *b)
{
    if (b->closed)
        return;
    let_go(b);
    b->closed = true;
    events_ack_leave(&b->out.acks);
    timer_stop(&b->wait);
    timer_stop(&b->flush);
}
