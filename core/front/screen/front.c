/* SPDX-License-Identifier: MIT */
/*
 * The screen of a session's browser, for people (front/front.h).
 *
 *   GET /screen/{session}   a WebSocket of od.screen.v1: README.md
 */
#include "front/screen/own.h"

#include "action/action.h"
#include "action/control.h"
#include "action/log.h"
#include "base/xalloc.h"
#include "front/answer.h"
#include "http/ws_hello.h"

#include <stdio.h>
#include <stdlib.h>

static void fail(struct req *r, int status, const char *text)
{
    answer_error(r, status,
                 status == 404   ? ERR_NOTFOUND
                 : status == 403 ? ERR_DENIED
                 : status == 503 ? ERR_LIMIT
                                 : ERR_INVALID,
                 text);
}

static const struct stream_events no_calls;

static void upgrade(struct req *r)
{
    static const char *const protocols[] = {SCREEN_PROTOCOL, NULL};
    struct screen_front *f = req_arg(r);
    char accept[WS_ACCEPT_SIZE], session[SESSION_MAX + 1];
    const char *chosen;
    struct str name = req_param(r, "session");
    struct guest guest;
    struct stream s;
    struct err e = ERR_INIT;
    int status = ws_check_req(r, protocols, &chosen, accept, &e);
    if (status) {
        fail(r, status, e.text);
        return;
    }
    if (!chosen || name.n == 0 || name.n > SESSION_MAX) {
        fail(r, 400,
             chosen ? "A session's name has 1 to 40 bytes"
                    : "The client does not offer " SCREEN_PROTOCOL);
        return;
    }
    access_guest(f->access, &door_native, r, &guest);
    if (!access_has_place(f->nlinks, SCREEN_LINKS, guest.right)) {
        req_header_add(r, "Retry-After", "1");
        fail(r, 503, "Too many people watch browsers");
        return;
    }
    snprintf(session, sizeof(session), "%.*s", STR_ARG(name));
    req_header_add(r, "Sec-WebSocket-Accept", accept);
    req_header_add(r, "Sec-WebSocket-Protocol", chosen);
    if (req_upgrade(r, "websocket", &s, &no_calls) < 0)
        fail(r, 400, "A WebSocket begins with a GET of HTTP/1.1, without a body");
    else
        screen_wire_open(f, &s, str_of(session), &guest);
}

static const struct param parts[] = {
    {.name = "session",
     .type = PARAM_STRING,
     .required = true,
     .about = "The session whose browser is shown, 1 to 40 bytes"},
    {0}};

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/screen/{session}",
     .run = upgrade,
     .right = RIGHT_VIEW,
     .marks = ROUTE_MESSAGE | ROUTE_PAGE,
     .query = parts,
     .answers =
         (const struct route_answer[]){
             {.status = 101, .type = "", .about = "A WebSocket of " SCREEN_PROTOCOL},
             {0}},
     .about = "Pictures of a session's browser, and the driver's input to it"},
};

static const struct http_front bare = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = fail};

/* ---- events ---- */

/* {"observation":NAME,"session":S,"content":"","extras":{"of":"browser","viewer":WHO, */
static void begin_event(struct buf *b, const char *name, const char *session,
                        const char *who)
{
    buf_addf(b, "{\"observation\":\"%s\",\"session\":", name);
    json_quote(b, str_of(session));
    buf_addz(b, ",\"content\":\"\",\"extras\":{\"of\":\"browser\",\"viewer\":");
    json_quote(b, str_of(who));
}

static void on_driven(const struct screen_log *log, const char *session, const char *who,
                      bool drives)
{
    struct screen_front *f = container_of(log, struct screen_front, log);
    struct buf b = BUF_INIT(4096);
    struct err e = ERR_INIT;
    begin_event(&b, "control", session, who);
    buf_addf(&b, ",\"drives\":%s}}", drives ? "true" : "false");
    actions_tell(f->en->actions, &b, &e);
    buf_release(&b);
    control_changed(f->en->actions, session, "browser", who, drives);
}

static void on_typed(const struct screen_log *log, const char *session, const char *who,
                     unsigned n)
{
    struct screen_front *f = container_of(log, struct screen_front, log);
    struct buf b = BUF_INIT(4096);
    struct err e = ERR_INIT;
    f->inputs += n;
    begin_event(&b, "human_input", session, who);
    buf_addf(&b, ",\"inputs\":%u}}", n);
    actions_tell(f->en->actions, &b, &e);
    buf_release(&b);
}

/* ---- life ---- */

static void *open_screen(struct fronts *all, const struct json *options)
{
    struct screen_front *f = xnew(struct screen_front);
    (void)options;
    f->http = bare;
    f->http.arg = f;
    f->fronts = all;
    f->en = fronts_engine(all);
    f->access = fronts_access(all);
    f->log = (struct screen_log){.driven = on_driven, .typed = on_typed};
    list_init(&f->links);
    return f;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct screen_front *x = f;
    return i > 0 ? NULL : x ? &x->http : &bare;
}

static void start(void *arg)
{
    struct screen_front *f = arg;
    screen_set_log(f->en, &f->log);
}

static void close_screen(void *f, bool another)
{
    (void)another;
    screen_wires_close(f);
}

static void metrics(const void *arg, struct buf *out)
{
    const struct screen_front *f = arg;
    buf_addf(out,
             "# HELP od_screen_links Open WebSockets that show a browser.\n"
             "# TYPE od_screen_links gauge\nod_screen_links %u\n"
             "# HELP od_screen_frames_total Pictures sent on these WebSockets.\n"
             "# TYPE od_screen_frames_total counter\nod_screen_frames_total %llu\n"
             "# HELP od_screen_frame_bytes_total Bytes of these pictures.\n"
             "# TYPE od_screen_frame_bytes_total counter\n"
             "od_screen_frame_bytes_total %llu\n",
             f->nlinks, (unsigned long long)f->frames,
             (unsigned long long)f->frame_bytes);
}

const struct front front_screen = {
    .name = "screen",
    .open = open_screen,
    .http = http,
    .native = true,
    .start = start,
    .close = close_screen,
    .metrics = metrics,
};
