/* SPDX-License-Identifier: MIT */
/*
 * /api/config: what front ends store for themselves, by section; and the WebSocket of
 * /api/events, on which od has nothing to say.
 */
#include "front/jupyter/own.h"

#include "base/xalloc.h"
#include "engine/engine.h"
#include "http/ws_hello.h"

#include <stdio.h>
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

#define SCHEMAS "https://events.jupyter.org/jupyter_server/"
enum { UNREAD_MAX = 128 << 10 };

/* A client that listens to events. */
struct nb_waiter {
    struct list node;
    struct loop *loop;
    struct ws ws;
};

static void send_all(struct jupyter *f, const struct json *event)
{
    struct buf text = BUF_INIT(UNREAD_MAX);
    struct list *it, *tmp;
    json_print(&text, event);
    list_each (it, tmp, &f->waiters) {
        struct nb_waiter *c = list_entry(it, struct nb_waiter, node);
        if (text.n > 0 && ws_queued(&c->ws) < UNREAD_MAX)
            ws_send(&c->ws, true, buf_str(&text));
    }
    buf_release(&text);
}

void nb_tell(struct jupyter *f, const char *schema, struct json *data)
{
    char id[100];
    snprintf(id, sizeof(id), SCHEMAS "%s/v1", schema);
    json_put_z(data, "schema_id", id);
    send_all(f, data);
    json_free(data);
}

void nb_tell_kernel(struct jupyter *f, const char *action, const char *kernel)
{
    struct json *j = json_object();
    json_put_z(j, "action", action);
    json_put_z(j, "kernel_id", kernel);
    json_put_z(j, "status", "success");
    nb_tell(f, "kernel_actions", j);
}

void nb_post_event(struct req *r)
{
    static const char *const needed[] = {"schema_id", "version", "data"};
    struct err e = ERR_INIT;
    struct json *j = json_parse(req_body(r), &e), *data = json_get(j, "data");
    struct str schema = json_str(j, "schema_id", "");
    const char *missing = NULL;
    for (int i = 2; i >= 0; i--)
        missing = json_has(j, needed[i]) ? missing : needed[i];
    bool ours = str_eq(schema, STR(SCHEMAS "contents_service/v1")) ||
                str_eq(schema, STR(SCHEMAS "kernel_actions/v1"));
    if (!json_is_object(j)) {
        nb_fail(r, 400, "No JSON data provided");
    } else if (missing) {
        nb_failf(r, 400, "Missing `%s` in the JSON request body.", missing);
    } else if (!ours || !json_is_object(data)) {
        nb_failf(r, 400, "Unregistered schema: `%.100s`", schema.p);
    } else {
        json_put_str(data, "schema_id", schema);
        send_all(req_arg(r), data);
        req_answer(r, 204, NULL, STR(""));
    }
    json_free(j);
}

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
    list_del(&c->node);
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
    list_add_tail(&f->waiters, &c->node);
    ws_start(&c->ws, &s, &opts, &events);
}
