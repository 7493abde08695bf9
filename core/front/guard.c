/* SPDX-License-Identifier: MIT */
#include "front/guard.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/hosts.h"
#include "front/keys.h"
#include "http/httpd.h"
#include "net/tls.h"

#include <stdlib.h>

/* The listeners of one front-end, or of the native set. */
struct server {
    struct list node; /* in guard.servers */
    struct guard *g;
    const struct front *only;       /* NULL: the native set */
    const struct http_front *words; /* of refusals */
    struct httpd *httpd;
};

struct guard {
    struct engine *en;
    struct list servers; /* owned */
    struct keys keys;
    struct tls_server *tls; /* NULL: there is no certificate */
    struct hosts hosts;
    char *origin; /* owned; whose pages may read answers, "": no other's */
    void (*drained)(void *arg);
    void *drained_arg;
    unsigned draining; /* servers that are not done */
};

/* ---- who may ask ---- */

bool guard_from_a_page(const struct req *r)
{
    struct str site = req_header(r, "Sec-Fetch-Site");
    return req_header(r, "Origin").p ||
           (site.p && !str_eq(site, STR("same-origin")) && !str_eq(site, STR("none")));
}

static bool refuse_key(struct server *s, struct req *r, enum keys_given given)
{
    if (given == KEYS_DOUBLED) {
        s->words->fail(r, 400, "The request has its key twice");
    } else if (given == KEYS_WRONG && !keys_wrong(&s->g->keys, clock_ms())) {
        req_header_add(r, "Retry-After", "1");
        req_close_after(r);
        s->words->fail(r, 429, "Too many wrong API keys. Try again in a second");
    } else {
        s->words->fail(r, 403, "Invalid API Key");
    }
    return false;
}

/* A server without a key: no web page may ask it, and no browser most things. */
static bool allow_keyless(struct server *s, struct req *r)
{
    if (guard_from_a_page(r)) {
        s->words->fail(r, 403,
                       "A request from a web page was refused: this server has no key. "
                       "Start it with --api-key-file to serve pages");
        return false;
    }
    /* Browsers add it to what they ask of this machine, an agent's too. */
    if (!req_open(r) && req_header(r, "Sec-Fetch-Site").p) {
        s->words->fail(r, 403, "A browser's request was refused: this server has no key");
        return false;
    }
    /* A name of theirs that leads here is none of our certificate's. */
    if (!req_is_unix(r) && !req_is_secure(r) &&
        !hosts_has(&s->g->hosts, req_header(r, "Host"))) {
        s->words->fail(
            r, 403,
            "The name in the Host header is not one of this server's, which has no "
            "key. Use an address or localhost, start it with --allow-host NAME, or "
            "with --api-key-file");
        return false;
    }
    return true;
}

bool guard_is_origin(struct str text)
{
    long end = str_find(text, STR("://"));
    struct str scheme = str_sub(text, 0, end < 0 ? 0 : (size_t)end);
    struct str host = str_sub(text, scheme.n + 3, text.n);
    bool https = str_eq(scheme, STR("https"));
    size_t n = 0;
    while (n < host.n &&
           (strchr("abcdefghijklmnopqrstuvwxyz0123456789.-_[]:", host.p[n])))
        n++;
    return (https || str_eq(scheme, STR("http"))) && n > 0 && n == host.n &&
           host.p[0] != ':' && host.p[n - 1] != ':' &&
           !str_ends(host, https ? STR(":443") : STR(":80"));
}

/*
 * The fields by which a browser lets pages of --cors-origin read the answer. Returns
 * whether r was only its question whether they may (a preflight), which has no key by
 * its nature: the answer is the same for all paths and is sent.
 */
static bool answer_cors(const struct server *s, struct req *r)
{
    if (s->only || !s->g->origin[0])
        return false;
    req_header_add(r, "Vary", "Origin");
    if (!str_eq(req_header(r, "Origin"), str_of(s->g->origin)))
        return false;
    req_header_add(r, "Access-Control-Allow-Origin", s->g->origin);
    if (!str_eq(req_method(r), STR("OPTIONS")) ||
        !req_header(r, "Access-Control-Request-Method").p) {
        req_header_add(r, "Access-Control-Expose-Headers",
                       "Content-Disposition, Content-Range, ETag, Last-Modified, "
                       "Retry-After");
        return false;
    }
    req_header_add(r, "Access-Control-Allow-Methods",
                   "GET, HEAD, POST, PUT, PATCH, DELETE");
    req_header_add(r, "Access-Control-Allow-Headers",
                   "Authorization, X-Session-API-Key, Content-Type, If-None-Match, "
                   "If-Modified-Since, If-Range, Range");
    req_header_add(r, "Access-Control-Max-Age", "600");
    req_answer(r, 204, NULL, STR(""));
    return true;
}

/*
 * The one place that decides who may ask, before any handler runs: a route wants a key
 * unless its row says otherwise, and a request without a route does.
 */
static bool allow(struct req *r, void *arg)
{
    struct server *s = arg;
    if (answer_cors(s, r))
        return false;
    enum keys_given given = keys_of(&s->g->keys, r);
    bool may = given == KEYS_RIGHT || (given != KEYS_DOUBLED && req_open(r)) ||
               (given == KEYS_MISSING && req_key_in_message(r));
    if (given == KEYS_NONE_NEEDED)
        return allow_keyless(s, r);
    return may || refuse_key(s, r, given);
}

/* ---- life ---- */

static void on_count(void *arg, int change)
{
    struct server *s = arg;
    s->g->en->clients += (unsigned)change;
    engine_touch(s->g->en);
}

static struct tls_server *tls_of(const struct json *o)
{
    const char *cert = json_str(o, "tls_cert", "").p;
    const char *key = json_str(o, "tls_key", "").p;
    const char *ca = json_str(o, "tls_client_ca", "").p;
    struct tls_files f = {cert, *key ? key : NULL, *ca ? ca : NULL};
    return *cert ? tls_server_later(&f) : NULL;
}

static int put_tls(struct stream *s, void (*ready)(struct stream *s), void *arg)
{
    if (tls_accept(arg, s, 0, ready) < 0)
        return -1;
    tls_take_cut(s);
    return 0;
}

struct guard *guard_open(struct engine *en, const struct json *options)
{
    struct guard *g = xnew(struct guard);
    g->en = en;
    list_init(&g->servers);
    g->tls = tls_of(options);
    hosts_init(&g->hosts, options);
    struct str origin = json_str(options, "cors_origin", "");
    g->origin = xstrndup(origin.p, origin.n);
    keys_init(&g->keys, options);
    return g;
}

struct keys *guard_keys(struct guard *g) { return &g->keys; }

static struct server *server_of(struct guard *g, const struct front *only,
                                const struct http_front *const *tables, size_t n)
{
    struct list *it, *tmp;
    list_each (it, tmp, &g->servers) {
        struct server *s = list_entry(it, struct server, node);
        if (s->only == only)
            return s;
    }
    struct server *s = xnew(struct server);
    struct httpd_config c = {
        .fronts = tables, .nfronts = n, .allow = allow, .count = on_count, .arg = s};
    s->g = g;
    s->only = only;
    s->words = tables[0];
    s->httpd = httpd_open(g->en->loop, &c);
    list_add_tail(&g->servers, &s->node);
    return s;
}

void guard_listen(struct guard *g, const struct front *only,
                  const struct http_front *const *tables, size_t n, int fd, bool tls)
{
    struct server *s = server_of(g, only, tables, n);
    if ((tls ? httpd_listen_under(s->httpd, fd, put_tls, g->tls)
             : httpd_listen(s->httpd, fd)) < 0)
        log_error("cannot listen for HTTP: %m");
}

static void on_drained(void *arg)
{
    struct guard *g = arg;
    if (--g->draining == 0)
        g->drained(g->drained_arg);
}

void guard_drain(struct guard *g, void (*fn)(void *arg), void *arg)
{
    struct list *it, *tmp;
    g->drained = fn;
    g->drained_arg = arg;
    g->draining = 1;
    list_each (it, tmp, &g->servers) {
        g->draining++;
        httpd_drain(list_entry(it, struct server, node)->httpd, on_drained, g);
    }
    on_drained(g);
}
