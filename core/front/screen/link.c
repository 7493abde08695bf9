/* SPDX-License-Identifier: MIT */
/*
 * One WebSocket of od.screen.v1.
 *
 *   [first message] ─▶ hello ─▶ news and pictures, input
 *
 * News that has no room to be sent is noted by its kind, and sent later with its newest
 * state: so a slow peer never holds more than one picture and a few messages.
 */
#include "front/screen/own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "setup/sandbox.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    FIRST_MS = 10000,
    FIRST_MAX = 8 << 10, /* bytes of the first message */
    SAY_MAX = 1 << 20,   /* of our longest message, tabs */
    LINK_LOW = 64 << 10,
    FRAME_HEAD = 13,
    FPS_MAX = SCREEN_FPS_DRIVER,
    QUALITY_MIN = 20,
    QUALITY_MAX = 80,
    WIDTH_MIN = 320,
    WIDTH_MAX = 1920
};

struct screen_wire {
    struct list node;
    struct screen_front *f;
    struct ws ws;
    char session[SESSION_MAX + 1];
    struct guest guest;
    bool stranger, over, greeted;
    struct screen_viewer viewer; /* screen NULL: no first message yet */
    char id[12];
    unsigned owed;    /* news not sent yet, by kind */
    bool hungry;      /* a picture had no room */
    struct buf error; /* one answer that is not sent yet */
    struct timer first;
};

static void wire_free(void *p)
{
    struct screen_wire *k = p;
    buf_release(&k->error);
    free(k);
}

/* Ends the link; its memory is freed at the end of this turn. */
static void wire_end(struct screen_wire *k, bool stays)
{
    if (k->over)
        return;
    k->over = true;
    timer_stop(&k->first);
    screen_leave(&k->viewer, stays);
    list_del(&k->node);
    ws_release(&k->ws);
    k->f->nlinks -= !k->stranger;
    loop_bury(k->f->en->loop, k, wire_free);
}

/* ---- out ---- */

static bool say(struct screen_wire *k, struct json *take)
{
    struct buf b = BUF_INIT(SAY_MAX);
    bool sent = json_print(&b, take) < 0 || ws_send(&k->ws, true, buf_str(&b));
    json_free(take);
    buf_release(&b);
    return sent;
}

static const char *id_of(const struct screen_viewer *v)
{
    return container_of(v, struct screen_wire, viewer)->id;
}

static void put_driver(struct json *to, const struct screen_facts *l)
{
    struct json *d;
    if (!l->driver) {
        json_put_null(to, "driver");
        return;
    }
    d = json_object();
    json_put_z(d, "name", l->driver);
    if (l->driving)
        json_put_z(d, "id", id_of(l->driving));
    else
        json_put_null(d, "id");
    json_put(to, "driver", d);
}

/* Adds whether there are pictures, and if not, why. */
static void put_state(struct json *to, const struct screen_facts *l)
{
    static const char *const names[] = {
        [SCREEN_NONE] = "none", [SCREEN_OPEN] = "open", [SCREEN_TEXT] = "text"};
    json_put_z(to, "state", names[l->state]);
    if (l->state == SCREEN_NONE)
        json_put_z(to, "why", l->why);
    if (l->state == SCREEN_TEXT) {
        json_put_z(to, "why",
                   "There is no Chromium in this sandbox: pages are only read");
        json_put_z(to, "code", err_name(ERR_UNSUPPORTED));
        json_put_str(to, "text", l->text);
    }
}

static struct json *about(const struct screen_wire *k, enum screen_news what)
{
    struct json *j = json_object(), *at;
    struct screen_facts l;
    screen_facts(&k->viewer, &l);
    switch (what) {
    case SCREEN_STATE:
        at = json_object();
        put_state(at, &l);
        json_put(j, "browser", at);
        break;
    case SCREEN_TABS:
        json_put(j, "tabs", json_copy(l.tabs));
        break;
    case SCREEN_DIALOG:
        if (l.dialog)
            json_put(j, "dialog", json_copy(l.dialog));
        else
            json_put_null(j, "dialog");
        break;
    case SCREEN_CURSOR:
        at = json_object();
        json_put_num(at, "x", l.x);
        json_put_num(at, "y", l.y);
        json_put_z(at, "by", "agent");
        json_put(j, "cursor", at);
        break;
    case SCREEN_DRIVER:
        put_driver(j, &l);
        json_put_int(j, "viewers", l.viewers);
        break;
    case SCREEN_TROUBLE:
        at = json_object();
        json_put_z(at, "code", err_name(ERR_IO));
        json_put_z(at, "message", l.trouble);
        json_put(j, "error", at);
        break;
    }
    return j;
}

/* Sends what is owed, as far as there is room. */
static void pay(struct screen_wire *k)
{
    if (!k->greeted)
        return;
    if (k->error.n > 0 && ws_send(&k->ws, true, buf_str(&k->error)))
        buf_reset(&k->error);
    for (unsigned bit = 1; bit <= SCREEN_TROUBLE; bit <<= 1) {
        if (k->owed & bit && say(k, about(k, (enum screen_news)bit)))
            k->owed &= ~bit;
    }
}

/* Sends an error. A peer that does not read its errors gets the first one only. */
static void say_error(struct screen_wire *k, const struct err *e)
{
    struct json *j = json_object(), *error = json_object();
    json_put_z(error, "code", err_name(e->code));
    json_put_z(error, "message", e->text);
    json_put(j, "error", error);
    if (k->error.n == 0)
        json_print(&k->error, j);
    json_free(j);
    pay(k);
}

static void on_news(struct screen_viewer *v, unsigned news)
{
    struct screen_wire *k = container_of(v, struct screen_wire, viewer);
    k->owed |= news;
    pay(k);
}

static void put_number(struct buf *b, unsigned v, int bytes)
{
    while (bytes-- > 0)
        buf_addc(b, (char)(v >> (8 * bytes)));
}

static bool on_frame(struct screen_viewer *v, const struct screen_frame *p)
{
    struct screen_wire *k = container_of(v, struct screen_wire, viewer);
    struct buf b = BUF_INIT(SCREEN_FRAME_MAX + FRAME_HEAD);
    buf_addc(&b, 1);
    put_number(&b, p->seq, 4);
    put_number(&b, p->width, 2);
    put_number(&b, p->height, 2);
    put_number(&b, p->scroll_x, 2);
    put_number(&b, p->scroll_y, 2);
    buf_adds(&b, p->jpeg);
    bool sent = ws_send(&k->ws, false, buf_str(&b));
    if (sent) {
        k->f->frames++;
        k->f->frame_bytes += b.n;
    }
    k->hungry = !sent;
    buf_release(&b);
    return sent;
}

static const struct screen_calls viewer_calls = {on_frame, on_news};

static void hello(struct screen_wire *k)
{
    struct json *j = json_object(), *h = json_object(), *at = json_object();
    struct screen_facts l;
    screen_facts(&k->viewer, &l);
    json_put_z(h, "protocol", SCREEN_PROTOCOL);
    json_put_z(h, "session", k->session);
    json_put_z(h, "id", k->id);
    json_put_z(h, "may", k->guest.right == RIGHT_USE ? "drive" : "view");
    put_state(at, &l);
    json_put(h, "browser", at);
    json_put(h, "tabs", json_copy(l.tabs));
    put_driver(h, &l);
    json_put_int(h, "viewers", l.viewers);
    json_put(j, "hello", h);
    say(k, j);
    if (l.dialog)
        on_news(&k->viewer, SCREEN_DIALOG);
}

/* ---- in ---- */

static int between(int64_t v, int from, int to)
{
    return v < from ? from : v > to ? to : (int)v;
}

/* Handles "drive": true, false or "steal". */
static int take_drive(struct screen_wire *k, const struct json *v, struct err *e)
{
    bool steal = json_is_string(v) && str_eq(json_str_value(v, ""), STR("steal"));
    struct json *m = json_object();
    bool take = false;
    json_put(m, "drive", json_copy(v));
    int rc = steal ? 0 : json_want_bool(m, "drive", &take, e);
    json_free(m);
    if (rc < 0)
        return -1;
    if ((steal || take) && k->guest.right != RIGHT_USE)
        return err_set(e, ERR_DENIED, "this key or login may only watch");
    return screen_drive(&k->viewer,
                        steal  ? SCREEN_STEAL
                        : take ? SCREEN_TAKE
                               : SCREEN_GIVE,
                        e);
}

static void set_name(struct screen_wire *k, struct str name)
{
    size_t n = utf8_cut(name, name.n < SCREEN_NAME ? name.n : SCREEN_NAME);
    snprintf(k->viewer.name, sizeof(k->viewer.name), "%.*s", (int)n, name.p);
    if (!k->viewer.name[0])
        snprintf(k->viewer.name, sizeof(k->viewer.name), "%s", k->id);
}

static int take_first(struct screen_wire *k, const struct json *m, struct err *e)
{
    if (k->guest.right == RIGHT_NONE) {
        enum late said = guest_says(k->f->access, &k->guest, m);
        if (said != LATE_COUNTS) {
            ws_close(&k->ws, said == LATE_MANY ? WS_AGAIN_LATER : WS_POLICY,
                     said == LATE_MANY
                         ? STR("Too many wrong keys. Try again in a second")
                         : STR("the first message must have a right \"page\" or "
                               "\"api_key\""));
            return 0;
        }
        if (!access_has_place(k->f->nlinks, SCREEN_LINKS, k->guest.right)) {
            ws_close(&k->ws, WS_AGAIN_LATER, STR("too many people watch browsers"));
            return 0;
        }
    }
    k->f->nlinks += k->stranger;
    k->stranger = false;
    timer_stop(&k->first);
    ws_set_max(&k->ws, MESSAGE_MAX);
    set_name(k, json_str(m, "name", ""));
    k->viewer.calls = &viewer_calls;
    k->viewer.fps = between(json_int(m, "fps", SCREEN_FPS), 1, FPS_MAX);
    k->viewer.quality = between(json_int(m, "quality", 60), QUALITY_MIN, QUALITY_MAX);
    k->viewer.width = between(json_int(m, "width", 1280), WIDTH_MIN, WIDTH_MAX);
    if (screen_watch(k->f->en, str_of(k->session), &k->viewer, e) < 0) {
        ws_close(&k->ws, WS_AGAIN_LATER, str_of(e->text));
        return 0;
    }
    k->owed = 0; /* hello contains it all */
    hello(k);
    k->greeted = true;
    pay(k);
    return json_has(m, "drive") ? take_drive(k, json_get(m, "drive"), e) : 0;
}

static int take_input(struct screen_wire *k, const struct json *m, struct err *e)
{
    const struct sandbox *box = k->f->en->sandbox;
    const char *cwd = sandbox_cwd(box, str_of(k->session));
    return screen_input(&k->viewer, m, str_of(cwd), e);
}

static int take_object(struct screen_wire *k, const struct json *m, struct err *e)
{
    if (!json_is_object(m))
        return err_set(e, ERR_INVALID, "a message is a JSON object");
    if (!k->viewer.screen)
        return take_first(k, m, e);
    if (json_has(m, "seen")) {
        int64_t seq = 0;
        if (json_want_int(m, "seen", &seq, e) < 0)
            return -1;
        screen_seen(&k->viewer, (uint32_t)seq);
        return 0;
    }
    if (json_has(m, "drive"))
        return take_drive(k, json_get(m, "drive"), e);
    return take_input(k, m, e);
}

static void on_message(struct ws *w, bool text, struct str message)
{
    struct screen_wire *k = container_of(w, struct screen_wire, ws);
    struct err e = ERR_INIT;
    struct json *m = text ? json_parse(message, &e) : NULL;
    if (!text)
        err_set(&e, ERR_UNSUPPORTED, "a message is text");
    if (m ? take_object(k, m, &e) < 0 : !k->over) {
        if (!k->viewer.screen)
            ws_close(w, WS_POLICY, str_of(e.text));
        else
            say_error(k, &e);
    }
    json_free(m);
}

static void on_room(struct ws *w)
{
    struct screen_wire *k = container_of(w, struct screen_wire, ws);
    pay(k);
    if (k->hungry && !k->over) {
        k->hungry = false;
        screen_again(&k->viewer);
    }
}

/* A client that closes with 1000 gives the browser back; after a lost link, the client
 * may come back to it. */
static void on_close(struct ws *w, int code, struct str reason)
{
    (void)reason;
    wire_end(container_of(w, struct screen_wire, ws), code != WS_NORMAL);
}

static const struct ws_events ws_calls = {
    .on_message = on_message, .on_room = on_room, .on_close = on_close};

/* ---- life ---- */

static void on_first_late(struct timer *t)
{
    struct screen_wire *k = container_of(t, struct screen_wire, first);
    ws_close(&k->ws, WS_POLICY, STR("the first message did not arrive in time"));
}

void screen_wire_open(struct screen_front *f, struct stream *take, struct str session,
                      const struct guest *guest)
{
    struct screen_wire *k = xnew(struct screen_wire);
    struct ws_opts opts = {.role = WS_SERVER, .message_max = FIRST_MAX};
    k->f = f;
    k->guest = *guest;
    k->stranger = guest->right == RIGHT_NONE;
    snprintf(k->session, sizeof(k->session), "%.*s", STR_ARG(session));
    memcpy(k->id, "v", 1);
    random_hex(k->id + 1, 8);
    buf_init(&k->error, 8 << 10);
    list_add_tail(&f->links, &k->node);
    f->nlinks += !k->stranger;
    ws_start(&k->ws, take, &opts, &ws_calls);
    k->ws.s.out.max = SCREEN_FRAME_MAX + SAY_MAX;
    k->ws.s.low = LINK_LOW;
    timer_begin(f->en->loop, &k->first, FIRST_MS, on_first_late);
}

void screen_wires_close(struct screen_front *f)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->links) {
        struct screen_wire *k = list_entry(it, struct screen_wire, node);
        ws_close(&k->ws, WS_GOING_AWAY, STR("the server ends or restarts"));
    }
}
