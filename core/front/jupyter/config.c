/* SPDX-License-Identifier: MIT */
/*
 * /api/config: what front ends store for themselves, by section; and the WebSocket of
 * /api/events, on which od has nothing to say.
 */
#include "front/jupyter/own.h"

#include "base/xalloc.h"
#include "engine/engine.h"
#include "http/ws_hello.h"

#include <stdlib.h>

enum { CONFIG_MAX = 256 << 10, MESSAGE_MAX = 64 << 10 };

/* ---- config ---- */

void nb_get_config(struct req *r)
{
    const struct jupyter *f = req_arg(r);
    struct json *section = json_get(f->config, req_param(r, "section").p);
    nb_json(r, 200, section ? json_copy(section) : json_object());
}

/* Adds the members of `from`; null removes one (notebook's recursive_update). */
static void merge(struct json *to, const struct json *from)
{
    for (struct json *one = json_first(from); one; one = json_next(one)) {
        const char *name = json_name(one);
        struct json *old = json_get(to, name);
        if (json_is_object(one) && json_is_object(old))
            merge(old, one);
        else
            json_free(json_take(to, name));
        if (!json_is_null(one) && !json_has(to, name))
            json_put(to, name, json_copy(one));
    }
}

void nb_change_config(struct req *r, const char *name, bool all)
{
    struct jupyter *f = req_arg(r);
    struct json *q = nb_body(r), *next = q ? json_copy(f->config) : NULL;
    struct buf text = BUF_INIT(CONFIG_MAX);
    if (!q)
        return;
    if (all)
        json_free(json_take(next, name));
    if (!str_eq(req_method(r), STR("DELETE"))) {
        if (!json_has(next, name))
            json_put(next, name, json_object());
        merge(json_get(next, name), q);
    }
    json_free(q);
    if (json_print(&text, next) < 0) {
        nb_failf(r, 413, "All sections have %d KiB at most", CONFIG_MAX >> 10);
        json_free(next);
    } else {
        json_free(f->config);
        f->config = next;
        nb_save_later(f);
        if (all)
            req_answer(r, 204, NULL, STR(""));
        else
            nb_get_config(r);
    }
    buf_release(&text);
}

void nb_patch_config(struct req *r)
{
    nb_change_config(r, req_param(r, "section").p, false);
}

void nb_put_config(struct req *r)
{
    nb_change_config(r, req_param(r, "section").p, true);
}

/* ---- events ---- */

/* A client that waits for events. */
struct nb_waiter {
    struct loop *loop;
    struct ws ws;
};

static void on_message(struct ws *w, bool text, struct str bytes)
{
    (void)w;
    (void)text;
    (void)bytes;
}

static void on_close(struct ws *w, int code, struct str reason)
{
    struct nb_waiter *c = container_of(w, struct nb_waiter, ws);
    (void)code;
    (void)reason;
    loop_bury(c->loop, c, free);
}

int nb_upgrade(struct req *r, struct stream *s, size_t out_max)
{
    char accept[WS_ACCEPT_SIZE];
    const char *chosen;
    struct err e = ERR_INIT;
    static const struct stream_events no_calls = {.on_data = nb_on_nothing,
                                                  .on_end = nb_on_nobody};
    int status = ws_check_req(r, NULL, &chosen, accept, &e);
    if (status) {
        nb_fail(r, status, e.text);
        return -1;
    }
    req_header_add(r, "Sec-WebSocket-Accept", accept);
    if (req_upgrade(r, "websocket", s, &no_calls) < 0) {
        nb_fail(r, 400, "The request cannot be upgraded");
        return -1;
    }
    s->in.max = 256 << 10;
    s->out.max = out_max;
    s->low = out_max / 4;
    return 0;
}

void nb_get_events(struct req *r)
{
    static const struct ws_events events = {.on_message = on_message,
                                            .on_close = on_close};
    static const struct ws_opts opts = {.role = WS_SERVER, .message_max = MESSAGE_MAX};
    struct jupyter *f = req_arg(r);
    struct stream s;
    if (nb_upgrade(r, &s, MESSAGE_MAX) < 0)
        return;
    struct nb_waiter *c = xnew(struct nb_waiter);
    c->loop = f->en->loop;
    ws_start(&c->ws, &s, &opts, &events);
}
