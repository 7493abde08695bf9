/* SPDX-License-Identifier: MIT */
/*
 * Passes requests on to a port of this machine, for front-ends that serve
 * PREFIX/PORT/rest: the same request goes to 127.0.0.1:PORT, else [::1]:PORT, with the
 * path /rest. Bodies, event streams and WebSockets are passed on as they arrive, and
 * neither side is read faster than the other one accepts. No other host can be reached,
 * nor a port where this server itself listens.
 *
 *   reverse_proxy.c  one request to an app, and its answer
 *   fields.c         the fields of requests and answers, rewritten
 *   sandbox.c        the fields that give an app at our own origin an opaque one
 *   answers.c        our own answers: redirects, and that no app is there
 *   pair.c           bytes between two streams, after an upgrade
 */
#ifndef OD_FRONT_REVERSE_PROXY_H
#define OD_FRONT_REVERSE_PROXY_H

#include "base/list.h"
#include "front/front.h"

enum {
    REVERSE_PROXY_MAX = 256, /* requests and tunnels of one front-end at the same time */
    REVERSE_PROXY_VIEWER_MAX = 64, /* the same of one login */
    REVERSE_PROXY_CONNECT_MS = 2000
};

#define REVERSE_PROXY_METHODS \
    (HTTP_GET | HTTP_POST | HTTP_PUT | HTTP_DELETE | HTTP_PATCH | HTTP_OPTIONS)
#define REVERSE_PROXY_OUR_COOKIES \
    "od_" /* the prefix of the names of this server's cookies */

struct reverse_proxy;

/* What differs between front-ends. Borrowed for the process's lifetime. */
struct reverse_proxy_rules {
    const char *prefix; /* of paths, before /PORT: "" or "/proxy" */
    bool named;         /* the app gets X-Forwarded-Host and X-Forwarded-Prefix */
    bool keeps;         /* the app gets PREFIX/PORT/rest, not /rest */
    /* The app is at our own origin: its pages get an opaque one (reverse_proxy_sandbox),
     * and a path may contain a token, PREFIX/PORT~TOKEN/rest. */
    bool sandbox;
    /* Is the field a key of this server, which no app may see? reverse_proxy_hides_keys,
     * or a function for another protocol. */
    bool (*hides)(const struct reverse_proxy *p, const struct req *r, struct str name);
    /* Returns the login of r, 0 if it has none: each login may have
     * REVERSE_PROXY_VIEWER_MAX. reverse_proxy_viewer, or NULL for no such limit. */
    uint64_t (*viewer)(const struct reverse_proxy *p, const struct req *r, uint16_t port);
    /* Answers a request that cannot be passed on: 400, 403, 429, 431, 502, 503. */
    void (*fail)(struct req *r, int status, const char *text);
    /* Answers that nothing listens at the port. */
    void (*absent)(struct req *r, uint16_t port, const char *text);
};

/* The requests of one front-end, or of one of its rules; embedded in it. */
struct reverse_proxy {
    const struct reverse_proxy_rules *rules;
    struct fronts *fronts;      /* borrowed */
    struct engine *en;          /* borrowed */
    struct reverse_proxy *next; /* the ring of those that share the limits */
    struct list all;            /* struct app_request */
    unsigned n;
    uint64_t passed, refused; /* since the worker's start; refused: by the limits */
};

void reverse_proxy_init(struct reverse_proxy *p, struct fronts *fronts,
                        const struct reverse_proxy_rules *rules);
/* Makes a and b share their limits. b must not share with any other yet. */
void reverse_proxy_join(struct reverse_proxy *a, struct reverse_proxy *b);
/* Ends all requests with 503, as the worker ends. */
void reverse_proxy_end(struct reverse_proxy *p);

/* A request to PORT. */
struct reverse_proxy_target {
    uint16_t port;
    struct str base; /* PREFIX/PORT, with its token, not decoded; "" at an own host */
    struct str rest; /* the path after base and the query, not decoded */
};
/*
 * Reads PREFIX/PORT/rest from the bytes of the request line. Returns false if the port is
 * not a number from 1 to 65535. base and rest point into r's head.
 */
bool reverse_proxy_target_of(const struct reverse_proxy_rules *rules, const struct req *r,
                             struct reverse_proxy_target *out);
/* Does this server itself listen at the port? */
bool reverse_proxy_is_ours(const struct fronts *fronts, uint16_t port);
/* Passes r on and answers it; answers an error if it cannot be passed on. For a route's
 * `.body`. */
void reverse_proxy_request(struct reverse_proxy *p, struct req *r,
                           const struct reverse_proxy_target *to);

/* Redirects (308) to the same address with a slash, for a `to` without rest. */
void reverse_proxy_add_slash(struct req *r, const struct reverse_proxy_target *to);
/* rules.hides: X-Session-API-Key, X-OD-Page, and Authorization if it is a key of this
 * server. */
bool reverse_proxy_hides_keys(const struct reverse_proxy *p, const struct req *r,
                              struct str name);
/* rules.viewer: finds the login by the token in the address or by its cookie
 * (access_viewer). */
uint64_t reverse_proxy_viewer(const struct reverse_proxy *p, const struct req *r,
                              uint16_t port);
/* rules.absent for people: a page that looks again every 2 seconds, with status 502. */
void reverse_proxy_show_absent(struct req *r, uint16_t port, const char *text);

/* ---- sandbox ---- */

/*
 * Adds the fields to r's answer that give a page of our own origin an opaque one, and
 * those (CORS, CORP) that let it still load its own scripts, pictures and data, which a
 * browser then sees at another origin.
 */
void reverse_proxy_sandbox(struct req *r);
/* Answers r if it is a CORS preflight, by which a browser asks what the opaque origin may
 * send. Returns false if it is not. */
bool reverse_proxy_preflight(struct req *r);

#endif
