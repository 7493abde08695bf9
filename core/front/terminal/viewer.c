/* SPDX-License-Identifier: MIT */
/*
 * One connection.
 *
 *   first message ─▶ hello ─▶ picture, or output after `since` ─▶ pieces …
 *
 * A viewer who is more than TERMINAL_WINDOW behind misses its next piece and gets a
 * picture of the current screen instead, once the previous one is acknowledged. So a
 * viewer costs the text of its own messages, and at most one unread picture.
 */
#include "front/terminal/own.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "http/ws_hello.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    FIRST_MS = 10000,
    SAID_MAX = 64 << 10,
    LOW = 64 << 10,
    FIRST_MAX = 8 * LIMIT_API_KEY_MAX,
    LOG_MS = 1000
};

/* ---- the end ---- */

static void viewer_bury(void *p)
{
    struct watcher *v = p;
    buf_release(&v->said);
    buf_release(&v->input);
    free(v);
}

static void viewer_end(struct watcher *v)
{
    if (v->over)
        return;
    v->over = true;
    viewer_log_input(v);
    replay_end(v);
    timer_stop(&v->first);
    timer_stop(&v->log);
    v->t->nviewers -= v->counted;
    if (v->feed)
        feed_leave(v->feed, v);
    else
        list_del(&v->node);
    ws_release(&v->ws);
    loop_bury(v->t->en->loop, v, viewer_bury);
}

void viewer_shut(struct watcher *v, enum ws_code code, struct str reason)
{
    ws_close(&v->ws, code, reason);
}

/* ---- to the client ---- */

static bool send_said(struct watcher *v)
{
    size_t used = 0;
    struct str s = buf_str(&v->said);
    while (used < s.n) {
        struct str rest = str_sub(s, used, s.n), line = str_cut(&rest, '\n');
        if (!ws_send(&v->ws, true, line))
            break;
        used += line.n + 1;
    }
    buf_consume(&v->said, used);
    v->full = v->said.n > 0;
    return !v->full;
}

void viewer_say(struct watcher *v, struct json *take)
{
    struct buf b = BUF_INIT(SAID_MAX);
    ASSERT(take);
    json_print(&b, take);
    json_free(take);
    if (v->begun && v->said.n + b.n + 1 > SAID_MAX) {
        ws_close(&v->ws, WS_POLICY, STR("messages to this client are not read"));
    } else if (v->begun) {
        buf_adds(&v->said, buf_str(&b));
        buf_addc(&v->said, '\n');
        send_said(v);
    }
    buf_release(&b);
}

static void say_error(struct watcher *v, const struct err *e)
{
    struct json *j = json_object(), *error = json_object();
    json_put_z(error, "code", err_name(e->code));
    json_put_z(error, "message", e->text);
    json_put(j, "error", error);
    viewer_say(v, j);
}

void viewer_bye(struct watcher *v, const char *why, int status)
{
    struct json *j = json_object(), *bye = json_object();
    json_put_z(bye, "why", why);
    json_put_int(bye, "status", status);
    json_put(j, "bye", bye);
    viewer_say(v, j);
    ws_close(&v->ws, WS_NORMAL, STR(""));
}

static bool send_frame(struct watcher *v, struct buf *b)
{
    bool sent = ws_send(&v->ws, false, buf_str(b));
    v->full = !sent;
    return sent;
}

static bool send_size(struct watcher *v, int rows, int cols, const char *by)
{
    struct json *j = json_object(), *size = json_object();
    json_put_int(size, "rows", rows);
    json_put_int(size, "cols", cols);
    if (by[0])
        json_put_z(size, "by", by);
    json_put(j, "size", size);
    viewer_say(v, j);
    v->rows = rows;
    v->cols = cols;
    return !v->full;
}

/* Sends the current screen. */
static bool send_picture(struct watcher *v)
{
    struct feed *f = v->feed;
    struct buf b = BUF_INIT(TERMINAL_OUT - WS_OUT_MIN);
    bool secrets = actions_has_secrets(v->t->en->actions);
    int rows, cols;
    picture_size(f->pic, &rows, &cols);
    bool told = v->rows == rows && v->cols == cols;
    if (v->live && !told && !send_size(v, rows, cols, ""))
        return false;
    terminal_put_u64(&b, 2, f->at);
    picture_paint(f->pic, &b, secrets ? terminal_secret : NULL, v->t);
    bool sent = send_frame(v, &b);
    buf_release(&b);
    if (!sent)
        return false;
    v->live = v->unpainted = true;
    v->behind = false;
    v->next = NULL;
    v->sent = v->acked = f->at;
    return true;
}

static struct list *after(const struct feed *f, struct list *node)
{
    return node->next == &f->pieces ? NULL : node->next;
}

static bool send_gap(struct watcher *v, const struct piece *x)
{
    struct json *j = json_object(), *gap = json_object();
    json_put_int(gap, "from", (int64_t)x->from);
    json_put_int(gap, "to", (int64_t)x->end);
    json_put_z(gap, "reason", "budget");
    json_put(j, "gap", gap);
    viewer_say(v, j);
    v->next = NULL;
    v->behind = true;
    return !v->full;
}

/* Sends the bytes of successive pieces in one frame. */
static bool send_bytes(struct watcher *v)
{
    struct buf b = BUF_INIT(TERMINAL_OUT - WS_OUT_MIN);
    struct list *at = v->next;
    const struct piece *x = list_entry(at, struct piece, node);
    uint64_t end = x->end;
    terminal_put_u64(&b, 1, 0);
    while (at && b.n < TERMINAL_FRAME) {
        x = list_entry(at, struct piece, node);
        if (x->kind != PIECE_BYTES)
            break;
        buf_add(&b, x->bytes, x->n);
        end = x->end;
        at = after(v->feed, at);
    }
    for (int i = 0; i < 8; i++)
        b.p[1 + i] = (char)(end >> (8 * (7 - i)));
    bool sent = b.n == 9 || send_frame(v, &b);
    buf_release(&b);
    if (sent) {
        v->next = at;
        v->sent = end;
    }
    return sent;
}

void viewer_pump(struct watcher *v)
{
    const struct feed *f = v->feed;
    if (v->over || !f || v->full || !ws_is_open(&v->ws))
        return;
    while (v->live && !v->behind && v->next && v->sent - v->acked < TERMINAL_WINDOW) {
        const struct piece *x = list_entry(v->next, struct piece, node);
        if (x->kind == PIECE_GAP) {
            if (!send_gap(v, x))
                return;
        } else if (x->kind == PIECE_SIZE) {
            /* Each terminal rewraps lines in its own way: a picture follows. */
            bool sent = send_size(v, x->rows, x->cols, x->by);
            v->next = NULL;
            v->behind = true;
            if (!sent)
                return;
        } else if (!send_bytes(v)) {
            return;
        }
    }
    if (v->behind && !v->unpainted && v->sent - v->acked < TERMINAL_WINDOW &&
        feed_ready(f))
        send_picture(v);
}

/* ---- what a driver types ---- */

void viewer_log_input(struct watcher *v)
{
    timer_stop(&v->log);
    if (v->typed == 0 || !v->feed)
        return;
    struct json *extras = json_object();
    json_put_int(extras, "bytes", (int64_t)v->typed);
    v->typed = 0;
    terminal_note(v->feed, "human_input", v->name[0] ? v->name : v->id, extras);
}

static void on_log(struct timer *t)
{
    viewer_log_input(container_of(t, struct watcher, log));
}

/* Is the shell starting? It would lose input, which therefore waits for the first
 * prompt. */
static bool starts(const struct session *s)
{
    struct json *j = session_json(s);
    bool is = str_eq(json_str(j, "state", ""), STR("starting"));
    json_free(j);
    return is;
}

void viewer_typing(struct watcher *v)
{
    struct session *s = v->feed ? feed_session(v->feed) : NULL;
    if (v->input.n == 0)
        return;
    if (!s || v->feed->driver != v) {
        buf_reset(&v->input);
    } else if (!starts(s) && session_type(s, buf_str(&v->input))) {
        v->typed += v->input.n;
        buf_reset(&v->input);
        if (!timer_active(&v->log))
            timer_begin(v->t->en->loop, &v->log, LOG_MS, on_log);
    } else {
        ws_pause(&v->ws); /* resumes when the session has room */
        return;
    }
    ws_resume(&v->ws);
}

static void take_input(struct watcher *v, struct str bytes)
{
    struct err e = ERR_INIT;
    if (bytes.n == 0 || bytes.p[0] != 0) {
        err_set(&e, ERR_INVALID, "a binary message is 00 and the input");
        say_error(v, &e);
    } else if (v->feed->driver != v) {
        err_set(&e, ERR_DENIED, "only the driver may type; send {\"drive\":true}");
        say_error(v, &e);
    } else if (bytes.n > 1) {
        engine_touch(v->t->en);
        v->feed->typed = bytes.n == 2 ? bytes.p[1] : 0;
        buf_adds(&v->input, str_sub(bytes, 1, bytes.n));
        viewer_typing(v);
    }
}

/* ---- messages ---- */

static int may_drive(const struct watcher *v, struct err *e)
{
    return v->guest.right == RIGHT_USE
               ? 0
               : err_set(e, ERR_DENIED, "this key or login may only view");
}

static int take_drive(struct watcher *v, const struct json *m, struct err *e)
{
    const struct json *drive = json_get(m, "drive");
    bool steal = str_eq(json_str_value(drive, ""), STR("steal"));
    if (!steal && !json_is_bool(drive))
        return err_set(e, ERR_INVALID, "drive is true, false or \"steal\"");
    if (!steal && !json_bool(m, "drive", false)) {
        if (v->feed->driver == v)
            feed_give_back(v->feed, "give");
        return 0;
    }
    return may_drive(v, e) < 0 ? -1 : feed_drive(v->feed, v, steal, e);
}

static int take_resize(struct watcher *v, const struct json *q, struct err *e)
{
    int64_t rows = 0, cols = 0;
    if (json_want_int(q, "rows", &rows, e) < 0 || json_want_int(q, "cols", &cols, e) < 0)
        return -1;
    if (v->feed->driver != v)
        return err_set(e, ERR_DENIED, "only the driver may change the size");
    if (rows < 1 || rows > PICTURE_ROWS_MAX || cols < 2 || cols > PICTURE_COLS_MAX)
        return err_set(e, ERR_INVALID,
                       "a terminal here has 1 to %d rows and 2 to %d "
                       "columns",
                       PICTURE_ROWS_MAX, PICTURE_COLS_MAX);
    return feed_resize(v->feed, v, (int)rows, (int)cols, e);
}

static int take_offset(const struct json *m, const char *name, uint64_t *out,
                       struct err *e)
{
    int64_t n = -1;
    if (json_want_int(m, name, &n, e) < 0)
        return -1;
    if (n < 0)
        return err_set(e, ERR_INVALID, "%s is an offset, 0 or more", name);
    *out = (uint64_t)n;
    return 0;
}

static int take_object(struct watcher *v, const struct json *m, struct err *e)
{
    uint64_t n;
    if (!json_is_object(m))
        return err_set(e, ERR_INVALID, "a message is a JSON object");
    if (json_has(m, "drive"))
        return take_drive(v, m, e);
    if (json_has(m, "resize"))
        return take_resize(v, json_get(m, "resize"), e);
    if (json_has(m, "ack")) {
        if (take_offset(m, "ack", &n, e) < 0)
            return -1;
        if (n > v->sent)
            return err_set(e, ERR_INVALID, "%llu was not sent yet",
                           (unsigned long long)n);
        if (n >= v->acked) {
            v->acked = n;
            v->unpainted = false;
        }
        viewer_pump(v);
        return 0;
    }
    if (json_has(m, "since")) {
        if (take_offset(m, "since", &n, e) < 0)
            return -1;
        replay_begin(v, n, json_bool(m, "picture", false));
        return 0;
    }
    return err_set(e, ERR_INVALID,
                   "a message has a member \"drive\", \"resize\", \"ack\" or \"since\"");
}

/* Returns the session of the request; for a driver, makes it if there is none. */
static struct session *find_session(const struct watcher *v, bool make, struct err *e)
{
    struct engine *en = v->t->en;
    struct session_opts none = {.rows = 0};
    struct session *s = session_find(en, str_of(v->session));
    if (!s && make && v->guest.right == RIGHT_USE)
        return session_get(en, str_of(v->session), &none, e);
    if (!s)
        err_set(e, ERR_NOTFOUND, "there is no session %s", v->session);
    return s;
}

static void begin(struct watcher *v, const struct json *m)
{
    struct json *j = json_object(), *hello = json_object();
    struct err e = ERR_INIT;
    bool wants = json_str(m, "drive", "").n > 0 || json_bool(m, "drive", false);
    struct session *s = find_session(v, wants, &e);
    struct str name = json_str(m, "name", ""), token = json_str(m, "resume", "");
    v->begun = true;
    v->since = UINT64_MAX;
    if (json_has(m, "since") && take_offset(m, "since", &v->since, &e) < 0)
        s = NULL;
    if (!s) {
        json_free(j);
        json_free(hello);
        say_error(v, &e);
        viewer_bye(v, "session", 0);
        return;
    }
    name.n = utf8_cut(name, name.n < TERMINAL_NAME ? name.n : TERMINAL_NAME);
    memcpy(v->name, name.p, name.n);
    random_hex(v->token, TERMINAL_TOKEN);
    if (token.n == TERMINAL_TOKEN)
        memcpy(v->token, token.p, token.n);
    snprintf(v->id, sizeof(v->id), "v%llu", (unsigned long long)++v->t->next_id);
    struct feed *f = feed_of(v->t, s, v->since);
    list_del(&v->node);
    feed_join(f, v);
    feed_hello(f, v, hello);
    json_put(j, "hello", hello);
    viewer_say(v, j);
    if (wants && take_drive(v, m, &e) < 0)
        say_error(v, &e);
    viewer_pump(v);
}

static void take_first(struct watcher *v, bool text, struct str message)
{
    struct err e = ERR_INIT;
    struct json *m = text ? json_parse(message, &e) : NULL;
    if (!json_is_object(m)) {
        ws_close(&v->ws, WS_POLICY, STR("the first message must be a JSON object"));
        json_free(m);
        return;
    }
    if (v->with_key) {
        enum late said = guest_says(v->t->access, &v->guest, m);
        if (said != LATE_COUNTS) {
            ws_close(&v->ws, said == LATE_WRONG ? WS_POLICY : WS_AGAIN_LATER,
                     said == LATE_WRONG ? STR("Invalid API Key")
                                        : STR("Too many wrong API keys. Try again in a "
                                              "second"));
            json_free(m);
            return;
        }
        v->with_key = false;
        if (!access_has_place(v->t->nviewers, TERMINAL_VIEWERS, v->guest.right)) {
            ws_close(&v->ws, WS_AGAIN_LATER, STR("too many people watch terminals"));
            json_free(m);
            return;
        }
        v->t->nviewers++;
        v->counted = true;
    }
    timer_stop(&v->first);
    ws_set_max(&v->ws, TERMINAL_INPUT + 1);
    begin(v, m);
    json_free(m);
}

static void on_message(struct ws *w, bool text, struct str message)
{
    struct watcher *v = container_of(w, struct watcher, ws);
    struct err e = ERR_INIT;
    if (!v->begun) {
        take_first(v, text, message);
    } else if (v->feed && !text) {
        take_input(v, message);
    } else if (v->feed) {
        struct json *m = json_parse(message, &e);
        if (!m || take_object(v, m, &e) < 0)
            say_error(v, &e);
        json_free(m);
    }
}

static void on_room(struct ws *w)
{
    struct watcher *v = container_of(w, struct watcher, ws);
    if (!send_said(v))
        return;
    viewer_pump(v);
    replay_pump(v);
}

static void on_close(struct ws *w, int code, struct str reason)
{
    (void)code;
    (void)reason;
    viewer_end(container_of(w, struct watcher, ws));
}

static void on_late(struct timer *t)
{
    ws_close(&container_of(t, struct watcher, first)->ws, WS_POLICY,
             STR("the first message did not arrive"));
}

/* ---- the handshake ---- */

static void no_data(struct stream *s) { (void)s; }

static void no_end(struct stream *s, int errnum)
{
    (void)s;
    (void)errnum;
}

void viewer_open(struct terminal *t, struct req *r)
{
    static const char *const protocols[] = {"od.terminal.v1", NULL};
    static const struct stream_events no_calls = {.on_data = no_data, .on_end = no_end};
    static const struct ws_events events = {
        .on_message = on_message, .on_room = on_room, .on_close = on_close};
    static const struct ws_opts opts = {.role = WS_SERVER, .message_max = FIRST_MAX};
    struct str session = req_param(r, "session");
    char accept[WS_ACCEPT_SIZE];
    struct err e = ERR_INIT;
    struct stream s;
    const char *chosen;
    int status = ws_check_req(r, protocols, &chosen, accept, &e);
    if (status) {
        terminal_bare.fail(r, status, e.text);
        return;
    }
    if (!chosen || session.n == 0 || session.n > ACTION_SESSION_MAX) {
        terminal_bare.fail(r, 400,
                           chosen ? "that is not the name of a session"
                                  : "the client does not offer od.terminal.v1");
        return;
    }
    if (t->closed || !access_has_place(t->nviewers, TERMINAL_VIEWERS, req_right(r))) {
        req_header_add(r, "Retry-After", "1");
        terminal_bare.fail(r, 503, "too many people watch terminals already");
        return;
    }
    struct watcher *v = xnew(struct watcher);
    v->t = t;
    memcpy(v->session, session.p, session.n);
    access_guest(t->access, &door_native, r, &v->guest);
    req_header_add(r, "Sec-WebSocket-Accept", accept);
    req_header_add(r, "Sec-WebSocket-Protocol", chosen);
    if (req_upgrade(r, "websocket", &s, &no_calls) < 0) {
        terminal_bare.fail(r, 400,
                           "a WebSocket begins with a GET of HTTP/1.1, without a body");
        free(v);
        return;
    }
    v->with_key = v->guest.right == RIGHT_NONE;
    v->counted = !v->with_key;
    t->nviewers += v->counted;
    buf_init(&v->said, 2 * SAID_MAX);
    buf_init(&v->input, 2 * TERMINAL_INPUT);
    list_add_tail(&t->strangers, &v->node);
    ws_start(&v->ws, &s, &opts, &events);
    v->ws.s.out.max = TERMINAL_OUT;
    v->ws.s.low = LOW;
    timer_begin(t->en->loop, &v->first, FIRST_MS, on_late);
}
