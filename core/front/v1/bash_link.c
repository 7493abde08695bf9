/* SPDX-License-Identifier: MIT */
/*
 * The WebSocket /sockets/bash-events (openhands-agent-server sockets.py): a cursor into
 * the events, and commands that arrive as messages.
 *
 *   [key in the first message] ─▶ [all events again] ─▶ new events, and messages
 *
 * For a slow client, only the errors of its own messages are queued.
 */
#include "front/v1/bash.h"

#include "access/access.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/xalloc.h"
#include "front/v1/own.h"
#include "http/ws.h"
#include "http/ws_hello.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_MS = 10000,
    KEY_MESSAGE_MAX = 8 * LIMIT_API_KEY_MAX,
    SAY_MAX = 1 << 20,
    LOW = 64 << 10,
    SENT_PER_TURN = 1 << 20,
    WS_UNAUTHORIZED = 4001
};

struct bash_link {
    struct list node; /* in bash.links */
    struct bash *b;
    struct ws ws;
    struct guest guest;
    bool with_key; /* its first message must have the key */
    bool counted;  /* it counts in nlinks */
    bool resend;
    bool replaying; /* messages are not read until all old events have been sent */
    bool over;
    uint64_t next;      /* the next event to send */
    uint64_t replay_to; /* events before this one are old */
    struct buf say;     /* BashErrors, each with a newline */
    struct timer key;
    struct task pump;
};

/* ---- the end ---- */

static void link_free(void *p)
{
    struct bash_link *k = p;
    buf_release(&k->say);
    free(k);
}

static void link_end(struct bash_link *k)
{
    if (k->over)
        return;
    k->over = true;
    list_del(&k->node);
    k->b->nlinks -= k->counted;
    timer_stop(&k->key);
    task_cancel(&k->pump);
    ws_release(&k->ws);
    loop_bury(k->b->v->en->loop, k, link_free);
}

static void on_close(struct ws *w, int code, struct str reason)
{
    (void)code;
    (void)reason;
    link_end(container_of(w, struct bash_link, ws));
}

/* ---- sending ---- */

static bool send_said(struct bash_link *k)
{
    while (k->say.n > 0) {
        struct str rest = buf_str(&k->say), line = str_cut(&rest, '\n');
        if (!ws_send(&k->ws, true, line))
            return false;
        buf_consume(&k->say, line.n + 1);
    }
    return true;
}

static void link_pump(struct bash_link *k)
{
    struct bash_store *s = &k->b->store;
    size_t sent = 0;
    if (k->over || !k->counted || !send_said(k))
        return;
    if (k->next < bash_store_first(s))
        k->next = bash_store_first(s);
    while (k->next < bash_store_end(s)) {
        if (sent > SENT_PER_TURN) {
            task_defer(k->b->v->en->loop, &k->pump);
            return;
        }
        struct str text = bash_store_text(s, k->next);
        if (text.p && text.n <= ws_send_max(&k->ws) && !ws_send(&k->ws, true, text))
            return; /* on_room comes */
        sent += text.n;
        k->next++;
    }
    if (k->replaying && k->next >= k->replay_to) {
        k->replaying = false;
        ws_resume(&k->ws);
    }
}

static void on_pump(struct task *t)
{
    link_pump(container_of(t, struct bash_link, pump));
}

static void on_room(struct ws *w) { link_pump(container_of(w, struct bash_link, ws)); }

void bash_links_pump(struct bash *b)
{
    struct list *it, *tmp;
    list_each (it, tmp, &b->links)
        link_pump(list_entry(it, struct bash_link, node));
}

/* Sends a BashError on this socket only. It is never stored. */
static void say_error(struct bash_link *k, const char *code, const char *detail)
{
    char id[BASH_ID + 1], time[32];
    if (k->say.n > SAY_MAX) {
        ws_close(&k->ws, WS_POLICY, STR("errors are answered, and you do not read them"));
        return;
    }
    random_hex(id, BASH_ID);
    bash_time((uint64_t)clock_wall_ms() * 1000, time);
    buf_addf(&k->say,
             "{\"id\":\"%s\",\"timestamp\":\"%s\",\"code\":\"%s\",\"detail\":", id, time,
             code);
    json_quote(&k->say, str_of(detail));
    buf_addz(&k->say, ",\"kind\":\"BashError\"}\n");
    send_said(k);
}

/* ---- beginning ---- */

/* The client has the right: from now on it gets events. */
static void link_join(struct bash_link *k)
{
    struct bash *b = k->b;
    if (!access_has_place(b->nlinks, BASH_LINKS_MAX, k->guest.right)) {
        ws_close(&k->ws, WS_AGAIN_LATER, STR("Too many bash event connections"));
        return;
    }
    k->counted = true;
    b->nlinks++;
    k->replay_to = bash_store_end(&b->store);
    k->next = k->resend ? bash_store_first(&b->store) : k->replay_to;
    k->replaying = k->resend;
    if (k->replaying)
        ws_pause(&k->ws);
    task_defer(b->v->en->loop, &k->pump);
}

static void refuse_key(struct bash_link *k)
{
    ws_close(&k->ws, (enum ws_code)WS_UNAUTHORIZED, STR("Authentication failed"));
}

static void on_key_late(struct timer *t)
{
    refuse_key(container_of(t, struct bash_link, key));
}

/* Is m {"type":"auth"}, with session_api_key or without, and nothing else? */
static bool is_auth(const struct json *m)
{
    return str_eq(json_str(m, "type", ""), STR("auth")) &&
           json_count(m) == 1 + json_has(m, "session_api_key");
}

static void take_key(struct bash_link *k, bool text, struct str message)
{
    struct err e = ERR_INIT;
    struct json *m = text ? json_parse(message, &e) : NULL;
    bool auth = str_eq(json_str(m, "type", ""), STR("auth"));
    bool counts = auth && guest_says(k->b->v->access, &k->guest, m) == LATE_COUNTS;
    json_free(m);
    if (!counts) {
        refuse_key(k);
        return;
    }
    k->with_key = false;
    timer_stop(&k->key);
    ws_set_max(&k->ws, V1_BODY_MAX);
    link_join(k);
}

/* ---- messages ---- */

static void take_command(struct bash_link *k, const struct json *m)
{
    struct json *errors = NULL;
    char id[BASH_ID + 1];
    if (k->guest.right != RIGHT_USE) {
        say_error(k, "PermissionError", "this API key may only read events");
        return;
    }
    struct json *q = json_is_object(m) ? model_members(&bash_request, m, "body", &errors)
                                       : NULL;
    if (q) {
        v1_touch(k->b->v);
        bash_do(k->b, q, id);
    } else {
        struct buf b = BUF_INIT(64 << 10);
        if (!errors)
            model_error(&errors, "model_type", "body", NULL,
                        "Input should be a valid dictionary or instance of "
                        "ExecuteBashRequest",
                        NULL);
        model_text("ExecuteBashRequest", errors, &b);
        say_error(k, "ValidationError", buf_z(&b));
        buf_release(&b);
    }
    json_free(q);
    json_free(errors);
}

static void on_message(struct ws *w, bool text, struct str message)
{
    struct bash_link *k = container_of(w, struct bash_link, ws);
    struct err e = ERR_INIT;
    if (k->with_key) {
        take_key(k, text, message);
        return;
    }
    if (!k->counted)
        return; /* it is being closed */
    struct json *m = text ? json_parse(message, &e) : NULL;
    if (!text)
        say_error(k, "KeyError", "'text': a command is a text message");
    else if (!m)
        say_error(k, "JSONDecodeError", e.text);
    else if (!is_auth(m))
        take_command(k, m);
    json_free(m);
}

static const struct ws_events ws_calls = {
    .on_message = on_message, .on_room = on_room, .on_close = on_close};

/* ---- the handshake ---- */

static const struct model_field fields[] = {
    {.name = "resend_mode", .type = MODEL_LITERAL, .choices = "all", .nullable = true},
    {.name = "resend_all", .type = MODEL_BOOL},
    {.name = "session_api_key", .type = MODEL_STRING},
    {.name = NULL}};
static const struct model socket_model = {.fields = fields};

static void link_open(struct bash *b, struct stream *take, const struct guest *guest,
                      bool resend)
{
    struct bash_link *k = xnew(struct bash_link);
    bool with_key = guest->right == RIGHT_NONE;
    struct ws_opts opts = {.role = WS_SERVER,
                           .message_max = with_key ? KEY_MESSAGE_MAX : V1_BODY_MAX};
    k->b = b;
    k->guest = *guest;
    k->with_key = with_key;
    k->resend = resend;
    task_init(&k->pump, on_pump);
    buf_init(&k->say, SAY_MAX + (512 << 10));
    list_add_tail(&b->links, &k->node);
    ws_start(&k->ws, take, &opts, &ws_calls);
    k->ws.s.out.max = BASH_TEXT_MAX + (1 << 20);
    k->ws.s.low = LOW;
    if (with_key)
        timer_begin(b->v->en->loop, &k->key, KEY_MS, on_key_late);
    else
        link_join(k);
}

void bash_socket(struct req *r)
{
    static const struct stream_events no_calls;
    struct bash *b = v1_of(r)->bash;
    char accept[WS_ACCEPT_SIZE];
    struct json *errors = NULL;
    struct err e = ERR_INIT;
    struct stream s;
    const char *chosen;
    struct guest guest;
    if (!req_header(r, "Upgrade").p) {
        v1_detail(r, 404, "Not Found");
        return;
    }
    struct json *q = model_query(&socket_model, r, &errors);
    bool valid = q != NULL;
    bool resend = json_has(q, "resend_mode") || json_bool(q, "resend_all", false);
    json_free(q);
    json_free(errors);
    int status = ws_check_req(r, NULL, &chosen, accept, &e);
    if (status || !valid) {
        v1_detail(r, valid ? status : 403, valid ? e.text : "Forbidden");
        return;
    }
    access_guest(b->v->access, &v1_door, r, &guest);
    req_header_add(r, "Sec-WebSocket-Accept", accept);
    if (req_upgrade(r, "websocket", &s, &no_calls) < 0)
        v1_detail(r, 400, "a WebSocket begins with a GET of HTTP/1.1, without a body");
    else
        link_open(b, &s, &guest, resend);
}

void bash_links_close(struct bash *b)
{
    struct list *it, *tmp;
    list_each (it, tmp, &b->links)
        ws_close(&list_entry(it, struct bash_link, node)->ws, WS_GOING_AWAY,
                 STR("the server ends"));
}
