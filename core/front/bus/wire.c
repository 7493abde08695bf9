/* SPDX-License-Identifier: MIT */
#include "front/bus/wire.h"

#include "http/dial.h"

enum { IN_MAX = 64 << 10, OUT_MAX = 4 << 20, SHOWN = 200 };

/* ---- ends ---- */

void wire_close(struct wire *w)
{
    if (w->state == WIRE_CLOSED)
        return;
    if (w->dial)
        dial_cancel(w->dial);
    else if (w->state > WIRE_DIAL)
        stream_close(&w->s);
    w->dial = NULL;
    w->state = WIRE_CLOSED;
    tls_client_free(w->tls);
    w->tls = NULL;
    timer_stop(&w->timer);
}

void wire_fail(struct wire *w, enum bus_outcome o, const struct err *e)
{
    struct err why = *e;
    if (w->state == WIRE_CLOSED)
        return;
    wire_close(w);
    w->calls->gone(w, o, &why);
}

/* Copies the server's error text, without characters that are not fit for a log. */
static void show(struct str text, char out[SHOWN + 1])
{
    size_t n = text.n < SHOWN ? text.n : SHOWN;
    for (size_t i = 0; i < n; i++)
        out[i] = text.p[i];
    for (size_t i = 0; i < n; i++) {
        if (out[i] < ' ' || out[i] >= 0x7f)
            out[i] = '?';
    }
    out[n] = 0;
}

void wire_refused(struct wire *w, const char *what, const struct reply *r)
{
    char text[SHOWN + 1];
    struct err e;
    enum bus_outcome o = bus_outcome_of(reply_text(r));
    show(reply_text(r), text);
    err_set(&e, o == BUS_REFUSED || o == BUS_DENIED ? ERR_DENIED : ERR_IO,
            "the server answers %s with: %s", what, text);
    wire_fail(w, o, &e);
}

void wire_garbage(struct wire *w, const char *what)
{
    struct err e;
    err_set(&e, ERR_INVALID, "the server's answer to %s is of another kind", what);
    wire_fail(w, BUS_GARBAGE, &e);
}

static void on_late(struct timer *t)
{
    struct wire *w = container_of(t, struct wire, timer);
    struct err e;
    bool open = w->state == WIRE_OPEN;
    err_set(&e, ERR_TIMEOUT, "the server %s",
            open ? "gives no sign of life"
                 : "accepted the connection, but does not answer");
    wire_fail(w, open ? BUS_DEAD : BUS_SILENT, &e);
}

void wire_expect(struct wire *w, int ms)
{
    if (ms > 0 && w->state != WIRE_CLOSED)
        timer_begin(w->loop, &w->timer, ms, on_late);
    else
        timer_stop(&w->timer);
}

/* ---- commands ---- */

/*
 * A command is a list of strings ("Sending commands to a Redis server" in the protocol's
 * page).
 */
void wire_put(struct buf *out, const struct str *words, size_t n)
{
    buf_addf(out, "*%zu\r\n", n);
    for (size_t i = 0; i < n; i++) {
        buf_addf(out, "$%zu\r\n", words[i].n);
        buf_adds(out, words[i]);
        buf_addz(out, "\r\n");
    }
}

void wire_add(struct wire *w, const struct str *words, size_t n)
{
    if (w->state > WIRE_DIAL)
        wire_put(&w->s.out, words, n);
}

void wire_send(struct wire *w)
{
    if (w->state > WIRE_DIAL)
        stream_flush(&w->s);
}

void wire_ask(struct wire *w, const struct str *words, size_t n)
{
    wire_add(w, words, n);
    wire_send(w);
}

/* ---- authentication ---- */

static void opened(struct wire *w)
{
    ASSERT(w->state != WIRE_CLOSED &&
           w->state != WIRE_OPEN); /* called once for each dial */
    w->state = WIRE_OPEN;
    wire_expect(w, 0);
    w->calls->open(w);
}

static void ask_select(struct wire *w)
{
    struct buf b = BUF_INIT(16);
    if (w->db == 0 || w->bare) {
        opened(w);
        return;
    }
    w->state = WIRE_SELECT;
    wire_expect(w, w->timeout_ms);
    buf_addf(&b, "%u", w->db);
    wire_ask(w, WIRE_WORDS(STR("SELECT"), buf_str(&b)));
    buf_release(&b);
}

static void ask_auth(struct wire *w)
{
    w->state = WIRE_AUTH;
    wire_expect(w, w->timeout_ms);
    if (w->user.n > 0)
        wire_ask(w, WIRE_WORDS(STR("AUTH"), w->user, w->password));
    else
        wire_ask(w, WIRE_WORDS(STR("AUTH"), w->password));
}

static void ask_hello(struct wire *w)
{
    struct str user = w->user.n > 0 ? w->user : STR("default");
    w->state = WIRE_HELLO;
    wire_expect(w, w->timeout_ms);
    if (w->password.n > 0)
        wire_ask(w, WIRE_WORDS(STR("HELLO"), STR("2"), STR("AUTH"), user, w->password,
                               STR("SETNAME"), w->name));
    else
        wire_ask(w, WIRE_WORDS(STR("HELLO"), STR("2"), STR("SETNAME"), w->name));
}

static void on_login(struct wire *w, const struct reply *r)
{
    bool error = r->kind == REPLY_ERROR;
    if (w->state == WIRE_HELLO && error &&
        bus_outcome_of(reply_text(r)) == BUS_OLD) { /* older than Redis 6 */
        if (w->password.n > 0)
            ask_auth(w);
        else
            ask_select(w);
        return;
    }
    const char *what = w->state == WIRE_HELLO  ? "HELLO"
                       : w->state == WIRE_AUTH ? "AUTH"
                                               : "SELECT";
    if (error)
        wire_refused(w, what, r);
    else if (w->state == WIRE_HELLO ? r->kind != REPLY_LIST : r->kind != REPLY_STATUS)
        wire_garbage(w, what);
    else if (w->state == WIRE_SELECT)
        opened(w);
    else
        ask_select(w);
}

/* ---- replies ---- */

static void take_replies(struct wire *w)
{
    const struct reply *r;
    struct err e = ERR_INIT;
    int rc = 0;
    while (w->state > WIRE_DIAL && (rc = replies_next(w->replies, &r, &e)) > 0) {
        if (w->state == WIRE_OPEN)
            w->calls->reply(w, r);
        else
            on_login(w, r);
    }
    if (rc < 0)
        wire_fail(w, BUS_GARBAGE, &e);
}

static void on_data(struct stream *s)
{
    struct wire *w = container_of(s, struct wire, s);
    struct err e = ERR_INIT;
    if (replies_feed(w->replies, buf_str(&s->in), &e) < 0) {
        wire_fail(w, BUS_GARBAGE, &e);
        return;
    }
    buf_consume(&s->in, s->in.n);
    take_replies(w);
}

static void on_end(struct stream *s, int errnum)
{
    struct wire *w = container_of(s, struct wire, s);
    struct err e;
    const struct err *why = stream_error(s);
    if (why)
        err_set(&e, ERR_IO, "%s", why->text);
    else if (errnum)
        err_sys(&e, errnum, "the connection ended");
    else
        err_set(&e, ERR_GONE, "the server closed the connection");
    wire_fail(w, BUS_CUT, &e);
}

static const struct stream_events stream_calls = {.on_data = on_data, .on_end = on_end};

/* ---- dialling ---- */

static enum bus_outcome dial_outcome(enum dial_step step, const struct err *e)
{
    if (e->code == ERR_LIMIT)
        return BUS_LOCAL;
    if (step == DIAL_RESOLVE)
        return BUS_NO_ADDRESS;
    if (step != DIAL_GREET)
        return BUS_UNREACHABLE;
    return e->code == ERR_TIMEOUT ? BUS_SILENT : BUS_TLS;
}

static void on_dialled(struct dial *d, struct stream *s, const struct err *e)
{
    struct wire *w = dial_owner(d);
    ASSERT(w->state == WIRE_DIAL && w->dial == d); /* never within wire_dial */
    if (!s) {
        struct err why = *e;
        enum bus_outcome o = dial_outcome(dial_step(d), e);
        w->dial = NULL;
        w->state = WIRE_CLOSED;
        tls_client_free(w->tls);
        w->tls = NULL;
        w->calls->gone(w, o, &why);
        return;
    }
    w->dial = NULL;
    replies_free(w->replies);
    w->replies = replies_new();
    stream_move(&w->s, s, &stream_calls);
    tls_client_free(w->tls);
    w->tls = NULL;
    if (!w->bare)
        ask_hello(w);
    else if (w->password.n > 0)
        ask_auth(w);
    else
        opened(w);
}

static void on_no_dial(struct timer *t)
{
    struct wire *w = container_of(t, struct wire, timer);
    struct err e;
    err_set(&e, ERR_LIMIT, "cannot begin a connection: no descriptor or process is left");
    w->state = WIRE_CLOSED;
    tls_client_free(w->tls);
    w->tls = NULL;
    w->calls->gone(w, BUS_LOCAL, &e);
}

void wire_dial(struct wire *w, const struct bus_host *at, struct tls_client *take)
{
    struct dial_spec spec = {.host = str_of(at->name),
                             .port = at->port,
                             .tls = take,
                             .timeout_ms = w->timeout_ms,
                             .in_max = IN_MAX,
                             .out_max = OUT_MAX,
                             .on_done = on_dialled,
                             .owner = w};
    struct err e = ERR_INIT;
    ASSERT(w->state == WIRE_CLOSED && !w->dial && !w->tls); /* takes it */
    w->state = WIRE_DIAL;
    w->tls = take;
    w->dial = dial_start(w->loop, &spec, &e);
    if (!w->dial)
        timer_begin(w->loop, &w->timer, 0, on_no_dial);
}
