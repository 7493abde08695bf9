/* SPDX-License-Identifier: MIT */
/*
 * A poll loop over at most three descriptors: the connection, the input, the
 * signals. Output is written when it is received, so a slow reader of our
 * output delays only this connection, and the server catches up from the
 * spool.
 */
#include "ipc/call.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define INPUT_READ     (64u << 10)
#define PAUSE_FIRST_MS 10
#define PAUSE_MOST_MS  1000
#define STEADY_MS      5000 /* a connection that lasted so long counts as good */

void call_init(struct call *c, struct client *client, const struct json *request,
               const struct call_events *ev)
{
    *c = (struct call){
        .client = client,
        .request = request,
        .ev = ev,
        .input = -1,
        .signals = -1,
        .kept = BUF_INIT(FRAME_MAX),
    };
    random_hex(c->id, sizeof(c->id) - 1);
}

void call_release(struct call *c)
{
    buf_release(&c->kept);
    json_free(c->result);
    c->result = NULL;
}

void call_leave(struct call *c, int64_t ms)
{
    int64_t at = clock_ms() + ms;
    if (!c->left || at < c->leave_at)
        c->leave_at = at;
    c->left = true;
}

void call_send(struct call *c, char type, const struct json *j)
{
    if (c->client->fd >= 0)
        frame_add_json(&c->client->out, type, j);
}

/*
 * Sends the request with the members of this attempt, which are appended to its
 * text: the request itself is borrowed and not changed.
 */
static int send_request(struct call *c, struct err *e)
{
    struct buf text = BUF_INIT(FRAME_MAX);
    int bad = json_print(&text, c->request);
    if (bad == 0) {
        buf_truncate(&text, text.n - 1);
        bad |= buf_addf(&text, ",\"id\":\"%s\"", c->id);
        if (c->out[0].known)
            bad |= buf_addf(&text, ",\"output_from\":%llu",
                            (unsigned long long)c->out[0].next);
        bad |= buf_addc(&text, '}');
    }
    bad = bad || frame_add(&c->client->out, 'Q', buf_str(&text)) < 0;
    buf_release(&text);
    return bad ? err_set(e, ERR_LIMIT, "the request is longer than %u bytes", FRAME_MAX)
               : 0;
}

static void send_input(struct call *c)
{
    if (c->client->fd < 0)
        return;
    struct buf *out = &c->client->out;
    struct str open = str_sub(buf_str(&c->kept), 0, FRAME_INPUT_WINDOW);
    while (c->sent < c->kept_at + open.n) {
        struct str piece = str_sub(open, (size_t)(c->sent - c->kept_at), INPUT_READ);
        if (frame_add_bytes(out, 'I', c->sent, piece) < 0)
            return;
        c->sent += piece.n;
    }
    if (c->input_ended && !c->end_sent && !c->left && open.n == c->kept.n)
        c->end_sent = frame_add_bytes(out, 'I', c->sent, (struct str){NULL, 0}) == 0;
}

/* Output or input made progress: earlier losses no longer count. */
static void got_on(struct call *c)
{
    c->lost_at = 0;
    c->pause_ms = 0;
}

static void lost(struct call *c)
{
    int64_t now = clock_ms();
    if (c->answered && now - c->connected_at >= STEADY_MS)
        got_on(c);
    if (c->lost_at == 0)
        c->lost_at = now;
    c->answered = false;
    c->retry_at = now + c->pause_ms;
    c->pause_ms = c->pause_ms == 0 ? PAUSE_FIRST_MS : c->pause_ms * 2;
    if (c->pause_ms > PAUSE_MOST_MS)
        c->pause_ms = PAUSE_MOST_MS;
    client_close(c->client);
}

/* Returns 0 if connected, or another try is due later; -1 if the call has failed. */
static int reconnect(struct call *c, struct err *e)
{
    if (client_reopen(c->client, e) < 0) {
        if (e->code != ERR_BUSY)
            return -1;
        snprintf(c->why, sizeof(c->why), "%.299s", e->text);
        if (!c->client->refused)
            c->refused_at = 0;
        else if (!c->refused_at)
            c->refused_at = clock_ms();
        lost(c);
        return 0;
    }
    c->connected_at = clock_ms();
    c->refused_at = 0;
    c->asked = false;
    c->sent = c->kept_at;
    c->end_sent = false;
    if (send_request(c, e) < 0)
        return -1;
    send_input(c);
    return 0;
}

static int take_output(struct call *c, bool error, struct str payload)
{
    uint64_t offset;
    struct str bytes;
    if (frame_bytes(payload, &offset, &bytes) < 0)
        return 0;
    struct call_stream *s = &c->out[error];
    if (!s->known || offset > s->next)
        *s = (struct call_stream){true, offset};
    c->started = true;
    if (offset + bytes.n <= s->next)
        return 0;
    got_on(c);
    bytes = str_sub(bytes, (size_t)(s->next - offset), bytes.n);
    s->next += bytes.n;
    return c->ev && c->ev->on_output ? c->ev->on_output(c, error, bytes) : 0;
}

static void take_note(struct call *c, struct str payload)
{
    struct json *note = json_parse(payload, NULL);
    if (!note)
        return;
    struct str kind = json_str(note, "note", "");
    if (str_eq(kind, STR("started"))) {
        c->started = true;
        int64_t from = json_int(note, "from", -1);
        if (from >= 0 && !c->out[0].known)
            c->out[0] = (struct call_stream){true, (uint64_t)from};
    }
    if (c->ev && c->ev->on_note)
        c->ev->on_note(c, note);
    json_free(note);
}

static void take_window(struct call *c, struct str payload)
{
    uint64_t to;
    struct str rest;
    if (frame_bytes(payload, &to, &rest) < 0 || to <= c->kept_at)
        return;
    if (to > c->sent)
        to = c->sent;
    buf_consume(&c->kept, (size_t)(to - c->kept_at));
    c->kept_at = to;
    got_on(c);
    send_input(c);
}

static int take_frame(struct call *c, const struct frame *f, struct err *e)
{
    c->heard = clock_ms();
    c->answered = c->answered_ever = true;
    switch (f->type) {
    case 'O':
    case 'E':
        if (take_output(c, f->type == 'E', f->payload) < 0)
            return err_sys(e, errno, "cannot write the output");
        return 0;
    case 'N':
        take_note(c, f->payload);
        return 0;
    case 'W':
        take_window(c, f->payload);
        return 0;
    case 'R':
        c->result = json_parse(f->payload, e);
        return c->result ? 0 : -1;
    default:
        return 0; /* a frame of a later version */
    }
}

/* Returns -1 if the call has failed. A lost connection is not a failure. */
static int on_connection(struct call *c, struct err *e)
{
    int got = client_read(c->client);
    struct frame f;
    while (!c->result) {
        int whole = client_frame(c->client, &f);
        if (whole < 0)
            return err_set(e, ERR_INVALID, "the answer is not that of an od server");
        if (whole == 0)
            break;
        if (take_frame(c, &f, e) < 0)
            return -1;
    }
    if (got < 0 && !c->result)
        lost(c);
    return 0;
}

static void take_signals(struct call *c)
{
    unsigned char signo;
    while (read(c->signals, &signo, 1) == 1) {
        if (c->ev && c->ev->on_signal)
            c->ev->on_signal(c, signo);
    }
}

int call_put(struct call *c, struct str bytes)
{
    if (buf_adds(&c->kept, bytes) < 0) {
        buf_resume(&c->kept);
        return -1;
    }
    c->input_ended |= bytes.n == 0;
    if (c->began) /* input follows the request */
        send_input(c);
    return 0;
}

static void take_input(struct call *c)
{
    if (c->ev && c->ev->on_readable) {
        c->ev->on_readable(c);
        return;
    }
    size_t room = FRAME_INPUT_WINDOW - c->kept.n;
    size_t want = room < INPUT_READ ? room : INPUT_READ;
    char *at = buf_reserve(&c->kept, want);
    ssize_t n = at ? read(c->input, at, want) : -1;
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    c->input_ended = n <= 0;
    size_t keep = n <= 0 ? 0 : (size_t)n;
    if (c->ev && c->ev->on_input)
        keep = c->ev->on_input(c, at, keep);
    buf_commit(&c->kept, keep);
    send_input(c);
}

/* The next moment at which something has to be done; 0: none. */
static int64_t earliest(int64_t a, int64_t b)
{
    return b != 0 && (a == 0 || b < a) ? b : a;
}

/* Returns 0 and sets *until to the next deadline; -1 if one has passed. */
static int deadlines(const struct call *c, int64_t *until, struct err *e)
{
    int64_t now = clock_ms();
    int64_t limit = c->limit_ms ? c->began + c->limit_ms + CALL_GUARD_MS : 0;
    int64_t idle = c->idle_ms && c->started ? c->heard + c->idle_ms + CALL_GUARD_MS : 0;
    int64_t patience = c->answered_ever ? CALL_LOST_MS : CALL_FIRST_MS;
    int64_t back = c->lost_at && !c->answered ? c->lost_at + patience : 0;
    if (c->hasty && c->refused_at)
        back = earliest(back, c->refused_at + CALL_FIRST_MS);
    if (c->left && now >= c->leave_at)
        return err_set(e, ERR_CANCELLED, "not waited for any longer");
    if ((limit && now >= limit) || (idle && now >= idle))
        return err_set(e, ERR_TIMEOUT,
                       "the server is stuck: it did not answer at the time limit");
    if (back && now >= back && !c->answered_ever)
        return err_set(e, ERR_GONE,
                       "the server at %s ends each connection without an answer: it is "
                       "not an od server, or it refuses this user",
                       c->client->server.path);
    if (back && now >= back)
        return err_set(e, ERR_GONE,
                       "the connection to the server was lost, and %d s "
                       "of trying did not bring it back%s%s",
                       (int)((now - c->lost_at) / 1000), c->why[0] ? ": " : "", c->why);
    *until = earliest(earliest(limit, idle), earliest(back, c->left ? c->leave_at : 0));
    if (c->client->fd < 0)
        *until = earliest(*until, c->retry_at);
    else if (!c->answered && !c->asked && !c->left)
        *until = earliest(*until, c->connected_at + CALL_SILENT_MS);
    return 0;
}

int call_check_server(const struct client *client, struct err *e)
{
    struct err why = ERR_INIT;
    struct json *q = json_object();
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", "info");
    struct json *r = call_simple(client->server.path, q, CALL_ASKED_MS, &why);
    bool silent = !r && why.code == ERR_CANCELLED;
    json_free(q);
    json_free(r);
    if (silent && client_is_remote(client))
        return err_set(e, ERR_TIMEOUT,
                       "the server at %s takes connections and does not answer",
                       client->server.path);
    return silent ? err_set(e, ERR_TIMEOUT,
                            "the server at %s does not answer; process %d runs",
                            client->server.path, (int)client->server.pid)
                  : 0;
}

/*
 * Checks whether the server of a silent connection is slow or stopped. This may block,
 * since there is no output to write. Returns -1 if the server does not answer at all.
 */
static int check_silence(struct call *c, struct err *e)
{
    if (c->client->fd < 0 || c->answered || c->asked || c->left ||
        clock_ms() < c->connected_at + CALL_SILENT_MS)
        return 0;
    c->asked = true;
    return call_check_server(c->client, e);
}

static int wait_ms(int64_t until)
{
    if (until == 0)
        return -1;
    int64_t left = until - clock_ms();
    return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

/* Whether there is somebody to pass input to. */
static bool may_read(const struct call *c)
{
    return c->client->fd >= 0 || !c->ev || !c->ev->on_readable;
}

static int turn(struct call *c, struct err *e)
{
    if (c->client->fd < 0 && clock_ms() >= c->retry_at && reconnect(c, e) < 0)
        return -1;
    /* A write that fails is handled as the end of the connection. */
    if (c->client->fd >= 0 && client_flush(c->client) < 0)
        buf_reset(&c->client->out);
    int64_t until = 0;
    if (check_silence(c, e) < 0)
        return -1;
    bool over = deadlines(c, &until, e) < 0;
    bool input = c->input >= 0 && !c->input_ended && c->kept.n < FRAME_INPUT_WINDOW &&
                 may_read(c);
    struct pollfd p[3] = {
        {.fd = c->client->fd,
         .events = (short)(POLLIN | (c->client->out.n ? POLLOUT : 0))},
        {.fd = c->signals, .events = POLLIN},
        {.fd = input ? c->input : -1, .events = POLLIN},
    };
    if (poll(p, 3, over ? 0 : wait_ms(until)) < 0)
        return errno == EINTR ? 0 : err_sys(e, errno, "cannot wait");
    /* A slow reader of our output may have delayed us: handle what has arrived first. */
    if (over && (e->code == ERR_CANCELLED || !p[0].revents))
        return -1;
    if (p[1].revents)
        take_signals(c);
    if (p[0].revents & ~POLLOUT && on_connection(c, e) < 0)
        return -1;
    if (p[2].revents && !c->result && may_read(c))
        take_input(c);
    return 0;
}

struct json *call_run(struct call *c, struct err *e)
{
    c->began = c->heard = c->connected_at = clock_ms();
    int ok = 0;
    if (c->client->fd < 0)
        lost(c);
    else if ((ok = send_request(c, e)) == 0)
        send_input(c);
    while (ok == 0 && !c->result)
        ok = turn(c, e);
    if (ok < 0 && c->client->fd >= 0) {
        frame_add(&c->client->out, 'X', (struct str){NULL, 0});
        client_flush(c->client);
    }
    struct json *result = c->result;
    c->result = NULL;
    return result;
}

int call_write(struct call *c, int fd, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(fd, bytes.p, bytes.n);
        if (n >= 0) {
            bytes = str_sub(bytes, (size_t)n, bytes.n);
        } else if (errno == EAGAIN) {
            struct pollfd p[2] = {{.fd = fd, .events = POLLOUT},
                                  {.fd = c->signals, .events = POLLIN}};
            poll(p, 2, -1);
        } else if (errno != EINTR) {
            return -1;
        }
        if (bytes.n == 0 || c->signals < 0)
            continue;
        int saved = errno;
        take_signals(c);
        errno = saved;
        if (c->left && clock_ms() >= c->leave_at) {
            errno = ECANCELED;
            return -1;
        }
    }
    return 0;
}

struct json *call_simple(const char *socket, const struct json *request, int64_t ms,
                         struct err *e)
{
    struct client client;
    struct json *result = NULL;
    if (client_open(&client, socket, false, e) == 0) {
        struct call c;
        call_init(&c, &client, request, NULL);
        call_leave(&c, ms);
        result = call_run(&c, e);
        call_release(&c);
    }
    client_close(&client);
    return result;
}
