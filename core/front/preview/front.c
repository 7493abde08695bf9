/* SPDX-License-Identifier: MIT */
/* The front-end preview (front/front.h): its routes, the list of ports, its refusals. */
#include "front/preview/own.h"

#include "base/xalloc.h"
#include "front/fronts.h"
#include "os/listening.h"

#include <stdio.h>
#include <string.h>

enum { LIST_MAX = 64 << 10, FORM_MAX = 8 << 10 };

static bool wants_html(const struct req *r)
{
    return str_find(req_header(r, "Accept"), STR("text/html")) >= 0;
}

static void fail(struct req *r, int status, const char *text)
{
    struct json *j = json_object(), *e = json_object();
    struct buf b = BUF_INIT(8 << 10);
    json_put_int(e, "status", status);
    json_put_z(e, "text", text);
    json_put(j, "error", e);
    json_print(&b, j);
    json_free(j);
    req_answer_take(r, status, "application/json", &b);
}

static const struct proof proofs[] = {
    {.place = PROOF_FIELD, .name = "X-Session-API-Key"},
    {.place = PROOF_BEARER, .name = "Authorization"},
    {.place = PROOF_COOKIE, .name = LOGIN_COOKIE_PREVIEW, .kind = PROOF_LOGIN},
    {.place = PROOF_BODY, .name = "key", .on = ROUTE_LOGIN},
    {.place = PROOF_END}};
const struct door preview_door = {.proofs = proofs, .missing = 401, .wrong = 401};

static void refuse(void *f, struct req *r, enum refusal why, int status, const char *text)
{
    (void)f;
    if (why == REFUSE_MISSING && wants_html(r))
        preview_show_form(r, 401, "This page needs the key of the server.");
    else
        fail(r, status,
             why == REFUSE_BROWSER
                 ? "A browser may use this listener only with a key: start the server "
                   "with --api-key-file"
                 : text);
}

/* ---- the list ---- */

static void put_html(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (strchr("<>&\"", s.p[i]) && s.p[i])
            buf_addf(b, "&#%d;", s.p[i]);
        else
            buf_addc(b, s.p[i]);
    }
}

static void list_as_json(struct req *r, const struct listening *all, size_t n)
{
    struct json *j = json_object(), *list = json_array();
    struct buf b = BUF_INIT(LIST_MAX);
    for (size_t i = 0; i < n; i++) {
        struct json *row = json_object();
        json_put_int(row, "port", all[i].port);
        if (all[i].pid)
            json_put_int(row, "pid", all[i].pid);
        if (all[i].comm[0])
            json_put_z(row, "program", all[i].comm);
        json_push(list, row);
    }
    json_put(j, "ports", list);
    json_print(&b, j);
    json_free(j);
    req_answer_take(r, 200, "application/json", &b);
}

/* The ports of apps, not ours. */
static size_t find_apps(const struct preview *p, struct listening all[LISTENING_MAX])
{
    size_t found = listening(all), n = 0;
    for (size_t i = 0; i < found; i++) {
        if (!reverse_proxy_is_ours(p->fronts, all[i].port))
            all[n++] = all[i];
    }
    return n;
}

static void show_list(struct req *r)
{
    struct listening all[LISTENING_MAX];
    size_t n = find_apps(req_arg(r), all);
    if (!wants_html(r)) {
        list_as_json(r, all, n);
        return;
    }
    struct buf b = BUF_INIT(LIST_MAX);
    buf_addz(&b, "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
                 "content=\"width=device-width\"><meta http-equiv=refresh content=5>"
                 "<title>Apps</title><style>:root{color-scheme:light dark}body{font:16px/"
                 "1.5 system-ui,sans-serif;max-width:34rem;margin:3rem auto;padding:0 "
                 "1rem}li{margin:.5rem 0}</style><h1>Apps in this sandbox</h1>");
    buf_addz(&b, n ? "<ul>"
                   : "<p>No program listens at a port. Start one, as in "
                     "<code>python3 -m http.server 3000</code>.");
    for (size_t i = 0; i < n; i++) {
        buf_addf(&b, "<li><a href=\"%u/\">%u</a> ", all[i].port, all[i].port);
        put_html(&b, str_of(all[i].comm));
    }
    req_header_add(r, "Cache-Control", "no-store");
    req_header_add(r, "Content-Security-Policy",
                   "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors "
                   "'none'");
    req_answer_take(r, 200, "text/html; charset=utf-8", &b);
}

/* ---- apps ---- */

/* For people: a page that waits for the app, then shows it. */
static void answer_absent(struct req *r, uint16_t port, const char *text)
{
    if (wants_html(r))
        reverse_proxy_show_absent(r, port, text);
    else
        fail(r, 502, text);
}

static const struct reverse_proxy_rules rules = {.prefix = "",
                                                 .named = true,
                                                 .hides = reverse_proxy_hides_keys,
                                                 .viewer = reverse_proxy_viewer,
                                                 .fail = fail,
                                                 .absent = answer_absent};

/* Redirects /3000 to /3000/, so that relative addresses of the app's page are below
 * it. */
static void add_slash(struct req *r)
{
    struct reverse_proxy_target to;
    if (reverse_proxy_target_of(&rules, r, &to))
        reverse_proxy_add_slash(r, &to);
    else
        fail(r, 404, "A path here begins with a port, as in /3000/");
}

static void pass(struct req *r)
{
    struct preview *p = req_arg(r);
    struct reverse_proxy_target to;
    if (reverse_proxy_target_of(&rules, r, &to))
        reverse_proxy_request(&p->reverse_proxy, r, &to);
    else
        fail(r, 404, "A path here begins with a port, as in /3000/");
}

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/",
     .run = show_list,
     .about = "The ports that programs listen at"},
    {.methods = HTTP_GET,
     .path = "/login",
     .run = preview_login_get,
     .about = "A form that turns a key into a cookie"},
    {.methods = HTTP_POST,
     .path = "/login",
     .run = preview_login_post,
     .body_max = FORM_MAX,
     .right = RIGHT_VIEW,
     .marks = ROUTE_LOGIN,
     .about = "Turns a key into a cookie"},
    {.methods = HTTP_GET | HTTP_POST,
     .path = "/{port}",
     .run = add_slash,
     .about = "Redirects to the same address with a slash"},
    {.methods = REVERSE_PROXY_METHODS,
     .path = "/{port}/*",
     .body = pass,
     .about = "The same request to that port of 127.0.0.1 or ::1"},
};

static const struct http_front bare = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = fail};

/* ---- life ---- */

static void *open_preview(struct fronts *all, const struct json *options)
{
    struct preview *p = xnew(struct preview);
    (void)options;
    p->front = bare;
    p->front.arg = p;
    p->fronts = all;
    p->en = fronts_engine(all);
    reverse_proxy_init(&p->reverse_proxy, all, &rules);
    return p;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct preview *p = f;
    return i > 0 ? NULL : p ? &p->front : &bare;
}

static void close_preview(void *f, bool another)
{
    (void)another;
    reverse_proxy_end(&((struct preview *)f)->reverse_proxy);
}

static struct json *status(const void *f)
{
    const struct preview *p = f;
    if (p->reverse_proxy.passed == 0)
        return NULL; /* not in use */
    struct json *j = json_object();
    json_put_int(j, "open", p->reverse_proxy.n);
    json_put_int(j, "requests", (int64_t)p->reverse_proxy.passed);
    return j;
}

/* Pages open many connections, and WebSockets keep theirs. */
static const struct httpd_config limits = {.conns_max = 2 * REVERSE_PROXY_MAX};

const struct front front_preview = {
    .name = "preview",
    .door = &preview_door,
    .refuse = refuse,
    .limits = &limits,
    .open = open_preview,
    .http = http,
    .close = close_preview,
    .status = status,
};
