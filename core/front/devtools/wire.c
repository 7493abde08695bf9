/* SPDX-License-Identifier: MIT */
/*
 * A WebSocket of a DevTools client, each of whose messages is one of Chromium's, and the
 * link that carries them on. A client is read only while its link has room, and the link
 * only while the client reads.
 */
#include "front/devtools/own.h"

#include "base/limits.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "http/ws_hello.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_LOW = 256 << 10, IN_MAX = 256 << 10 };

struct dt_wire {
    struct list node;
    struct dt_user u;
    struct ws ws;
    bool joined, over;
};

static struct dt_wire *wire_of(struct dt_user *u)
{
    return container_of(u, struct dt_wire, u);
}

static struct dt_wire *wire_of_link(struct devtools_link *k)
{
    return container_of(k, struct dt_wire, u.link);
}

static void wire_free(void *p) { free(p); }

static void wire_end(struct dt_wire *x)
{
    if (x->over)
        return;
    x->over = true;
    dt_end(&x->u);
    if (x->joined)
        dt_log(&x->u, "left", STR(""), STR(""));
    list_del(&x->node);
    x->u.f->nwires--;
    loop_bury(x->u.f->en->loop, x, wire_free);
}

/* ---- from the browser ---- */

static void on_ready(struct devtools_link *k)
{
    struct dt_wire *x = wire_of_link(k);
    x->joined = true;
    dt_log(&x->u, "joined", str_of(x->u.target), STR(""));
    ws_resume(&x->ws);
}

static bool on_message(struct devtools_link *k, struct str text)
{
    struct dt_wire *x = wire_of_link(k);
    if (!ws_is_open(&x->ws))
        return true;
    bool sent = ws_send(&x->ws, true, text);
    x->u.f->out += sent;
    return sent;
}

static void on_link_room(struct devtools_link *k) { ws_resume(&wire_of_link(k)->ws); }

static void close_by(struct dt_wire *x, const struct err *e)
{
    enum ws_code code = e->code == ERR_GONE || e->code == ERR_CANCELLED ? WS_GOING_AWAY
                        : e->code == ERR_LIMIT                          ? WS_POLICY
                                                                        : WS_INTERNAL;
    log_info("devtools: client %u of browser %s: %s", x->u.number, x->u.browser, e->text);
    ws_close(&x->ws, code, str_of(e->text));
}

static void on_over(struct devtools_link *k, const struct err *why)
{
    close_by(wire_of_link(k), why);
}

static void on_failed(struct dt_user *u, const struct err *e) { close_by(wire_of(u), e); }

static const struct devtools_calls link_calls = {.ready = on_ready,
                                                 .message = on_message,
                                                 .room = on_link_room,
                                                 .event = dt_on_event,
                                                 .over = on_over};

/* ---- from the client ---- */

static void on_text(struct ws *w, bool text, struct str message)
{
    struct dt_wire *x = container_of(w, struct dt_wire, ws);
    engine_touch(x->u.f->en);
    x->u.f->in++;
    if (!text || message.n == 0 || memchr(message.p, 0, message.n))
        ws_close(w, WS_UNSUPPORTED, STR("a message is JSON, as text"));
    else if (!devtools_send(&x->u.link, message))
        ws_pause(w);
}

static void on_room(struct ws *w)
{
    devtools_again(&container_of(w, struct dt_wire, ws)->u.link);
}

static void on_close(struct ws *w, int code, struct str reason)
{
    (void)code;
    (void)reason;
    wire_end(container_of(w, struct dt_wire, ws));
}

/* ---- the upgrade ---- */

static void on_nothing(struct stream *s) { (void)s; }

static void on_nobody(struct stream *s, int errnum)
{
    (void)s;
    (void)errnum;
}

static void open_wire(struct req *r, struct str browser, struct str target)
{
    static const struct stream_events no_calls = {.on_data = on_nothing,
                                                  .on_end = on_nobody};
    static const struct ws_events events = {
        .on_message = on_text, .on_room = on_room, .on_close = on_close};
    static const struct ws_opts opts = {.role = WS_SERVER, .message_max = DEVTOOLS_IN};
    static const char *const protocols[] = {NULL};
    struct dt_front *f = req_arg(r);
    bool closes;
    char accept[WS_ACCEPT_SIZE];
    const char *chosen;
    struct stream s;
    struct err e = ERR_INIT;
    int status = ws_check_req(r, protocols, &chosen, accept, &e);
    if (status || f->nwires >= DT_WIRES) {
        dt_fail(r, status ? status : 503,
                status ? e.text : "Too many DevTools clients: close one of them");
        return;
    }
    if (dt_closes_of(r, &closes) < 0)
        return;
    struct dt_wire *x = xnew(struct dt_wire);
    *x = (struct dt_wire){.u = {.f = f, .number = ++f->last, .failed = on_failed}};
    x->u.link.calls = &link_calls;
    x->u.link.closes = closes;
    snprintf(x->u.browser, sizeof(x->u.browser), "%.*s", STR_ARG(browser));
    snprintf(x->u.target, sizeof(x->u.target), "%.*s", STR_ARG(target));
    snprintf(x->u.key, sizeof(x->u.key), "%s", req_key(r));
    req_header_add(r, "Sec-WebSocket-Accept", accept);
    if (req_upgrade(r, "websocket", &s, &no_calls) < 0) {
        dt_fail(r, 400, "A WebSocket begins with a GET of HTTP/1.1, without a body");
        free(x);
        return;
    }
    s.in.max = IN_MAX;
    s.out.max = LIMIT_CDP_MESSAGE + 2 * OUT_LOW;
    s.low = OUT_LOW;
    ws_start(&x->ws, &s, &opts, &events);
    list_add_tail(&f->wires, &x->node);
    f->nwires++;
    ws_pause(&x->ws); /* until the browser is there */
    dt_begin(&x->u);
}

void dt_get_browser(struct req *r)
{
    struct str name = req_param(r, "browser");
    if (name.n == 0 || name.n > DT_BROWSER)
        dt_fail(r, 404, "A browser's name has 1 to 40 bytes");
    else
        open_wire(r, name, STR(""));
}

void dt_get_page(struct req *r)
{
    char browser[DT_BROWSER + 1];
    struct str target = req_param(r, "target");
    if (target.n == 0 || target.n > DEVTOOLS_TARGET)
        dt_fail(r, 404, "No such target id");
    else if (dt_browser_of(r, browser) == 0)
        open_wire(r, str_of(browser), target);
}

void dt_wires_close(struct dt_front *f)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->wires)
        ws_close(&list_entry(it, struct dt_wire, node)->ws, WS_GOING_AWAY,
                 STR("the server ends or restarts"));
}
