/* SPDX-License-Identifier: MIT */
/*
 * The apps of a sandbox at our own origin (README.md): /proxy/PORT/ and /absproxy/PORT/
 * of the native set, and the hosts of --preview-host. core/front/reverse_proxy handles
 * each request to an app; front/guard.c decides which requests are allowed.
 */
#include "base/json.h"

#include "access/access.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/answer.h"
#include "front/fronts.h"
#include "front/reverse_proxy/reverse_proxy.h"

enum { PAGE_MAX = 4 << 10 };

struct proxied {
    struct http_front front, kept; /* of /proxy and /absproxy */
    struct fronts *fronts;         /* borrowed */
    struct reverse_proxy reverse_proxy, keeping, hosted;
};

static bool wants_html(const struct req *r)
{
    return str_find(req_header(r, "Accept"), STR("text/html")) >= 0;
}

static void fail_at_host(struct req *r, int status, const char *text)
{
    req_header_add(r, "Cache-Control", "no-store");
    if (wants_html(r)) {
        struct buf b = BUF_INIT(PAGE_MAX);
        buf_addf(
            &b,
            "<!doctype html><html lang=en><meta charset=utf-8><title>%d</title><style>"
            ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;"
            "margin:4rem auto;max-width:34rem;padding:0 1rem}</style><p>%s.%s",
            status, text,
            status == 403 ? "<p>Apps are opened from the page of this server, under "
                            "Ports; an address works as long as that login."
                          : "");
        req_answer_take(r, status, "text/html; charset=utf-8", &b);
        return;
    }
    answer_error(r, status,
                 status == 401 || status == 403   ? ERR_DENIED
                 : status == 404                  ? ERR_NOTFOUND
                 : status == 429 || status == 503 ? ERR_LIMIT
                 : status == 502                  ? ERR_IO
                                                  : ERR_INVALID,
                 text);
}

static void fail(struct req *r, int status, const char *text)
{
    reverse_proxy_sandbox(r);
    fail_at_host(r, status, text);
}

static void answer_absent_at_host(struct req *r, uint16_t port, const char *text)
{
    if (wants_html(r))
        reverse_proxy_show_absent(r, port, text);
    else
        fail_at_host(r, 502, text);
}

static void answer_absent(struct req *r, uint16_t port, const char *text)
{
    reverse_proxy_sandbox(r);
    answer_absent_at_host(r, port, text);
}

static const struct reverse_proxy_rules rules = {.prefix = "/proxy",
                                                 .named = true,
                                                 .sandbox = true,
                                                 .hides = reverse_proxy_hides_keys,
                                                 .viewer = reverse_proxy_viewer,
                                                 .fail = fail,
                                                 .absent = answer_absent};
static const struct reverse_proxy_rules keeping = {.prefix = "/absproxy",
                                                   .named = true,
                                                   .keeps = true,
                                                   .sandbox = true,
                                                   .hides = reverse_proxy_hides_keys,
                                                   .viewer = reverse_proxy_viewer,
                                                   .fail = fail,
                                                   .absent = answer_absent};

static const struct reverse_proxy_rules hosted = {.prefix = "",
                                                  .named = true,
                                                  .hides = reverse_proxy_hides_keys,
                                                  .viewer = reverse_proxy_viewer,
                                                  .fail = fail_at_host,
                                                  .absent = answer_absent_at_host};

/*
 * Redirects r, which has a person's cookie, to the same path with a token derived from
 * that. The app's page sends no cookie with its own requests.
 */
static void add_token(const struct proxied *p, struct req *r,
                      const struct reverse_proxy_target *to)
{
    char token[LOGIN_APP_HEX + 1];
    struct str rest = to->rest, path = str_cut(&rest, '?');
    struct buf b = BUF_INIT(HTTP_HEAD_MAX + 64);
    if (access_app_token(fronts_access(p->fronts), r, to->port, token) < 0) {
        fail(r, 403, "There is no login");
        return;
    }
    buf_addz(&b, path.n > 0 ? "" : "./");
    for (size_t i = str_count(path, '/'); i > 0; i--)
        buf_addz(&b, "../");
    buf_addf(&b, "%u~%s%s%.*s", to->port, token, path.n > 0 ? "" : "/",
             STR_ARG(to->rest));
    reverse_proxy_sandbox(r);
    req_header_add(r, "Cache-Control", "no-store");
    req_header_add(r, "Location", buf_z(&b));
    buf_release(&b);
    req_answer(r, 307, NULL, STR(""));
}

static void serve(struct proxied *p, struct reverse_proxy *reverse_proxy, struct req *r)
{
    struct reverse_proxy_target to;
    if (!reverse_proxy_target_of(reverse_proxy->rules, r, &to)) {
        fail(r, 404, "Such a path is /proxy/PORT/ or /absproxy/PORT/");
    } else if (str_eq(req_header(r, "Service-Worker"), STR("script"))) {
        fail(r, 403, "An app at this address can have no service worker");
    } else if (req_right(r) == RIGHT_NONE) {
        add_token(p, r, &to);
    } else if (to.rest.n == 0 || to.rest.p[0] != '/') {
        reverse_proxy_sandbox(r);
        reverse_proxy_add_slash(r, &to);
    } else if (!reverse_proxy_preflight(r)) {
        reverse_proxy_request(reverse_proxy, r, &to);
    }
}

static void serve_below(struct req *r)
{
    struct proxied *p = req_arg(r);
    serve(p, &p->reverse_proxy, r);
}

static void serve_kept(struct req *r)
{
    struct proxied *p = req_arg(r);
    serve(p, &p->keeping, r);
}

/* At a host of its own, the app gets the whole path. */
static void serve_host(void *f, struct req *r, uint16_t port, int status,
                       const char *text)
{
    struct proxied *p = f;
    const struct http_head *h = req_head(r);
    struct buf b = BUF_INIT(HTTP_HEAD_MAX + 1);
    buf_adds(&b, h->path);
    if (h->query.p)
        buf_addf(&b, "?%.*s", STR_ARG(h->query));
    struct reverse_proxy_target to = {.port = port, .base = STR(""), .rest = buf_str(&b)};
    if (status)
        fail_at_host(r, status, text);
    else if (port == 0)
        fail_at_host(r, 404, "The number in this host's name is not a port");
    else
        reverse_proxy_request(&p->hosted, r, &to);
    buf_release(&b);
}

static const struct route_answer answers[] = {
    {.status = 308, .type = "", .about = "To the same path with a slash after the port"},
    {0}};

static const struct route routes[] = {
    {.methods = REVERSE_PROXY_METHODS,
     .path = "/proxy/*",
     .body = serve_below,
     .marks = ROUTE_PATH,
     .answers = answers,
     .about = "/proxy/PORT/rest: sends /rest to that port of 127.0.0.1 or ::1. The "
              "page has PORT~TOKEN in place of PORT and a key"},
};
static const struct route kept_routes[] = {
    {.methods = REVERSE_PROXY_METHODS,
     .path = "/absproxy/*",
     .body = serve_kept,
     .marks = ROUTE_PATH,
     .answers = answers,
     .about = "The same, but the app gets the path /absproxy/PORT/rest"},
};

static const struct http_front bare[] = {
    {.routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = fail},
    {.routes = kept_routes,
     .nroutes = sizeof(kept_routes) / sizeof(kept_routes[0]),
     .fail = fail}};

/* ---- life ---- */

static void *open_proxy(struct fronts *all, const struct json *options)
{
    struct proxied *p = xnew(struct proxied);
    (void)options;
    p->front = bare[0];
    p->kept = bare[1];
    p->front.arg = p->kept.arg = p;
    p->fronts = all;
    reverse_proxy_init(&p->reverse_proxy, all, &rules);
    reverse_proxy_init(&p->keeping, all, &keeping);
    reverse_proxy_init(&p->hosted, all, &hosted);
    reverse_proxy_join(&p->reverse_proxy, &p->keeping);
    reverse_proxy_join(&p->reverse_proxy, &p->hosted);
    return p;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct proxied *p = f;
    if (i > 1)
        return NULL;
    return !p ? &bare[i] : i == 0 ? &p->front : &p->kept;
}

static void close_proxy(void *f, bool another)
{
    struct proxied *p = f;
    (void)another;
    reverse_proxy_end(&p->reverse_proxy);
    reverse_proxy_end(&p->keeping);
    reverse_proxy_end(&p->hosted);
}

static struct json *status(const void *f)
{
    const struct proxied *p = f;
    uint64_t requests = p->reverse_proxy.passed + p->keeping.passed + p->hosted.passed;
    if (requests == 0)
        return NULL; /* not in use */
    struct json *j = json_object();
    json_put_int(j, "open", p->reverse_proxy.n + p->keeping.n + p->hosted.n);
    json_put_int(j, "requests", (int64_t)requests);
    return j;
}

const struct front front_proxy = {
    .name = "proxy",
    .open = open_proxy,
    .http = http,
    .native = true,
    .app = serve_host,
    .close = close_proxy,
    .status = status,
};
