/* SPDX-License-Identifier: MIT */
/* The front-end terminal (front/front.h): its route, secrets, its events in the log. */
#include "front/terminal/own.h"

#include "action/log.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "front/answer.h"
#include "front/fronts.h"
#include "front/terminal/recording.h"

#include <string.h>

enum { LIST_MAX = 1 << 20 };

/* ---- what the room shares ---- */

void terminal_put_u64(struct buf *out, char kind, uint64_t n)
{
    buf_addc(out, kind);
    for (int i = 7; i >= 0; i--)
        buf_addc(out, (char)(n >> (8 * i)));
}

bool terminal_secret(void *arg, struct str text, size_t *at, size_t *n)
{
    const struct terminal *t = arg;
    return actions_find_secret(t->en->actions, text, at, n);
}

size_t terminal_take(struct terminal *t, struct picture *pic, struct str bytes, bool last,
                     struct buf *out)
{
    size_t used = bytes.n, at, n;
    if (!last)
        used -= actions_secret_tail(t->en->actions, bytes);
    bytes = str_sub(bytes, 0, used);
    while (actions_find_secret(t->en->actions, bytes, &at, &n)) {
        picture_feed(pic, str_sub(bytes, 0, at), out);
        picture_feed(pic, log_hidden, out);
        bytes = str_sub(bytes, at + n, bytes.n);
    }
    picture_feed(pic, bytes, out);
    return used;
}

void terminal_note(struct feed *f, const char *name, const char *viewer,
                   struct json *extras)
{
    struct json *j = json_object();
    struct err e = ERR_INIT;
    json_put_z(extras, "viewer", viewer);
    json_put_z(j, "session", f->session);
    json_put_z(j, "observation", name);
    json_put_z(j, "content", "");
    json_put(j, "extras", extras);
    if (actions_note(f->t->en->actions, j, &e) < 0)
        log_warn("terminal: what %s did is not in the log: %s", viewer, e.text);
    json_free(j);
}

/* ---- the route ---- */

static void fail(struct req *r, int status, const char *text)
{
    answer_error(r, status, status == 503 ? ERR_BUSY : ERR_INVALID, text);
}

static void get_terminal(struct req *r) { viewer_open(req_arg(r), r); }

static void get_list(struct req *r)
{
    struct json *j = feed_list(req_arg(r));
    struct buf b = BUF_INIT(LIST_MAX);
    json_print(&b, j);
    json_free(j);
    req_header_add(r, "Cache-Control", "no-store");
    req_answer_take(r, 200, "application/json", &b);
}

static const struct route_answer answers[] = {
    {.status = 101, .type = "", .about = "A WebSocket of od.terminal.v1"}, {0}};

static const struct param session_query[] = {{.name = "session",
                                              .type = PARAM_STRING,
                                              .required = true,
                                              .about = "The session's name"},
                                             {0}};

static const struct param cast_query[] = {
    {.name = "session",
     .type = PARAM_STRING,
     .required = true,
     .about = "The name of a session, or of a process with a terminal"},
    {.name = "from", .type = PARAM_INT, .about = "The action that it begins with"},
    {.name = "v", .type = PARAM_INT, .about = "The version of asciicast, 2 or 3"},
    {0}};

static const struct route_answer cast_answers[] = {
    {.status = 200,
     .type = "application/x-asciicast",
     .about = "A header and events, a line of JSON each"},
    {0}};

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/terminal",
     .run = get_list,
     .right = RIGHT_VIEW,
     .marks = ROUTE_PAGE,
     .about = "The sessions, with their states and drivers"},
    {.methods = HTTP_GET,
     .path = "/terminal/{session}",
     .run = get_terminal,
     .right = RIGHT_VIEW,
     .marks = ROUTE_MESSAGE | ROUTE_PAGE,
     .about = "Watches the terminal of a session, and drives it: a WebSocket of the "
              "protocol od.terminal.v1",
     .query = session_query,
     .answers = answers},
    {.methods = HTTP_GET,
     .path = "/sessions/{session}/cast",
     .run = recording_get,
     .right = RIGHT_VIEW,
     .marks = ROUTE_PAGE,
     .about = "The kept output of a session as a recording of asciinema, with a marker "
              "for each command",
     .query = cast_query,
     .answers = cast_answers},
};

const struct http_front terminal_bare = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = fail};

/* ---- life ---- */

static void *open_terminal(struct fronts *all, const struct json *options)
{
    struct terminal *t = xnew(struct terminal);
    (void)options;
    t->front = terminal_bare;
    t->front.arg = t;
    t->fronts = all;
    t->en = fronts_engine(all);
    t->access = fronts_access(all);
    list_init(&t->feeds);
    list_init(&t->strangers);
    return t;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct terminal *t = f;
    return i > 0 ? NULL : t ? &t->front : &terminal_bare;
}

static void shut_all(struct list *viewers, bool another)
{
    struct list *it, *tmp;
    list_each (it, tmp, viewers)
        viewer_shut(list_entry(it, struct watcher, node), WS_GOING_AWAY,
                    another ? STR("the server goes on in a new worker")
                            : STR("the server ends"));
}

static void close_terminal(void *f, bool another)
{
    struct terminal *t = f;
    struct list *it, *tmp;
    t->closed = true;
    shut_all(&t->strangers, another);
    list_each (it, tmp, &t->feeds)
        shut_all(&list_entry(it, struct feed, node)->viewers, another);
}

static struct json *status(const void *f)
{
    const struct terminal *t = f;
    if (t->nviewers == 0)
        return NULL;
    struct json *j = json_object();
    json_put_int(j, "viewers", t->nviewers);
    return j;
}

const struct front front_terminal = {
    .name = "terminal",
    .open = open_terminal,
    .http = http,
    .native = true,
    .close = close_terminal,
    .status = status,
};
