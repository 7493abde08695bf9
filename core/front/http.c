/* SPDX-License-Identifier: MIT */
#include "front/http.h"

#include "base/log.h"
#include "base/xalloc.h"
#include "front/connect.h"
#include "front/events.h"
#include "front/v0.h"
#include "front/viewer.h"
#include "net/addr.h"
#include "net/tls.h"
#include "proto/httpd.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <strings.h>

struct http {
    struct engine *en;
    struct httpd *httpd;
    struct v0 *v0;
    struct events *events;
    struct connect *connect; /* NULL: nobody is dialled */
    struct viewer *viewer;
    void (*drained)(void *arg);
    void *drained_arg;
    int draining; /* servers that are not done */
    struct keys keys;
    struct tls_server *tls; /* NULL: there is no certificate */
    bool insecure_open;
};

/* ---- who may ask ---- */

bool http_host_is_plain(struct req *r)
{
    struct str host = req_header(r, "Host");
    char z[64];
    struct in_addr a4;
    struct in6_addr a6;
    if (host.n > 0 && host.p[0] == '[') {
        long end = str_chr(host, ']');
        host = str_sub(host, 1, end > 0 ? (size_t)end - 1 : 0);
    } else {
        host = str_cut(&host, ':');
    }
    if (host.n == 0 || host.n >= sizeof(z))
        return false;
    memcpy(z, host.p, host.n);
    z[host.n] = 0;
    return strcasecmp(z, "localhost") == 0 || inet_pton(AF_INET, z, &a4) == 1 ||
           inet_pton(AF_INET6, z, &a6) == 1;
}

bool http_from_a_page(struct req *r)
{
    struct str site = req_header(r, "Sec-Fetch-Site");
    return req_header(r, "Origin").p ||
           (site.p && !str_eq(site, STR("same-origin")) && !str_eq(site, STR("none")));
}

/* A client that cannot add fields says its key in its first message. */
static bool key_may_follow(struct req *r)
{
    return str_eq(req_path(r), STR("/events")) &&
           http_has_token(req_header(r, "Upgrade"), "websocket");
}

static bool allow(struct req *r, void *arg)
{
    struct http *h = arg;
    enum keys_given given = keys_of(&h->keys, r);
    if (given != KEYS_NONE_NEEDED) {
        if (req_open(r) || given == KEYS_RIGHT ||
            (given == KEYS_MISSING && key_may_follow(r)))
            return true;
        v0_refuse(r, 403, "Invalid API Key");
        return false;
    }
    if (http_from_a_page(r)) {
        v0_refuse(r, 403,
                  "A request from a web page was refused: this server has no key. "
                  "Start it with --api-key-file to serve pages");
        return false;
    }
    /* Browsers add it to what they ask of this machine, an agent's too. */
    if (!req_open(r) && req_header(r, "Sec-Fetch-Site").p) {
        v0_refuse(r, 403, "A browser's request was refused: this server has no key");
        return false;
    }
    /* A name of theirs that leads here is none of our certificate's. */
    if (!h->insecure_open && !req_is_unix(r) && !req_is_secure(r) &&
        !http_host_is_plain(r)) {
        v0_refuse(r, 403,
                  "The Host header is neither localhost nor an address, and this "
                  "server has no key. Use an address, start it with --api-key-file, "
                  "or with --insecure-open");
        return false;
    }
    return true;
}

/* ---- life ---- */

static void on_count(void *arg, int change)
{
    struct http *h = arg;
    h->en->clients += (unsigned)change;
    engine_touch(h->en);
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

static void add_metrics(void *arg, struct buf *out)
{
    struct http *h = arg;
    connect_metrics(h->connect, out);
}

struct http *http_open(struct engine *en, const struct json *options)
{
    struct http *h = xnew(struct http);
    struct json *o = json_get(options, "http");
    h->en = en;
    h->tls = tls_of(o);
    h->insecure_open = json_bool(o, "insecure_open", false);
    keys_init(&h->keys, o);
    h->v0 = v0_open(en, json_get(options, "v0"));
    h->events = events_open(en, h->v0, &h->keys, json_get(options, "events"));
    h->connect = connect_open(en, h->events, options);
    h->viewer = viewer_open(en, options);
    events_add_metrics(h->events, add_metrics, h);
    const struct http_front *fronts[] = {v0_front(h->v0), events_front(h->events),
                                         events_files_front(h->events)};
    struct httpd_config c = {.fronts = fronts,
                             .nfronts = sizeof(fronts) / sizeof(fronts[0]),
                             .allow = allow,
                             .count = on_count,
                             .arg = h};
    h->httpd = httpd_open(en->loop, &c);
    return h;
}

void http_listen(struct http *h, int fd, bool tls)
{
    if ((tls ? httpd_listen_under(h->httpd, fd, put_tls, h->tls)
             : httpd_listen(h->httpd, fd)) < 0)
        log_error("cannot listen for HTTP: %m");
}

void http_view(struct http *h, int fd) { viewer_listen(h->viewer, fd); }

void http_load(struct http *h, int memory)
{
    events_load(h->events, memory);
    v0_load(h->v0);
    connect_load(h->connect);
}

void http_start(struct http *h)
{
    events_start(h->events);
    v0_start(h->v0);
    connect_start(h->connect);
}

struct json *http_backend(const struct http *h) { return connect_status(h->connect); }

struct events *http_events(struct http *h) { return h->events; }

void http_format(struct buf *out)
{
    buf_addz(out, ", ");
    v0_format(out);
    buf_addz(out, ", events 1");
}

static void on_drained(void *arg)
{
    struct http *h = arg;
    if (--h->draining == 0)
        h->drained(h->drained_arg);
}

void http_drain(struct http *h, void (*fn)(void *arg), void *arg)
{
    connect_close(h->connect);
    h->connect = NULL;
    events_close(h->events);
    h->drained = fn;
    h->drained_arg = arg;
    h->draining = 2;
    viewer_drain(h->viewer, on_drained, h);
    httpd_drain(h->httpd, on_drained, h);
}
