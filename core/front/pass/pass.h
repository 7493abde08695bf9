/* SPDX-License-Identifier: MIT */
/*
 * Requests that are passed on to a port of this machine, for front-ends that serve
 * PREFIX/PORT/rest: the same request to 127.0.0.1:PORT, else [::1]:PORT, with the path
 * /rest. Bodies, event streams and WebSockets are passed on as they come, and neither
 * side is read faster than the other one takes. No other host can be asked, nor a port
 * where this server itself listens.
 *
 *   pass.c     one request to an app, and its answer
 *   fields.c   the fields of requests and answers, rewritten
 *   sandbox.c  the fields that give an app at our own origin an opaque one
 *   answers.c  what is answered here: redirects, and that no app is there
 *   pair.c     bytes between two streams, after an upgrade
 */
#ifndef OD_FRONT_PASS_PASS_H
#define OD_FRONT_PASS_PASS_H

#include "base/list.h"
#include "front/front.h"

enum {
    PASSES_MAX = 256,       /* requests and tunnels of one front-end at the same time */
    PASSES_VIEWER_MAX = 64, /* the same of one login */
    PASS_CONNECT_MS = 2000
};

#define PASS_METHODS \
    (HTTP_GET | HTTP_POST | HTTP_PUT | HTTP_DELETE | HTTP_PATCH | HTTP_OPTIONS)
#define PASS_OUR_COOKIES "od_" /* what the names of this server's cookies begin with */

struct passes;

/* What differs between front-ends. Borrowed forever. */
struct pass_rules {
    const char *prefix; /* of paths, before /PORT: "" or "/proxy" */
    bool named;         /* the app gets X-Forwarded-Host and X-Forwarded-Prefix */
    bool keeps;         /* the app gets PREFIX/PORT/rest, not /rest */
    /* The app is at our own origin: its pages get an opaque one (pass_sandbox), and a
     * path may have a token, PREFIX/PORT~TOKEN/rest. */
    bool sandbox;
    /* Is the field a key of this server, which no app may see? pass_hides_keys, or that
     * of another protocol. */
    bool (*hides)(const struct passes *p, const struct req *r, struct str name);
    /* Which login r came by, 0: none: each may have PASSES_VIEWER_MAX. pass_viewer, or
     * NULL: no such limit. */
    uint64_t (*viewer)(const struct passes *p, const struct req *r, uint16_t port);
    /* Answers what cannot be passed on: 400, 403, 429, 431, 502, 503. */
    void (*fail)(struct req *r, int status, const char *text);
    /* Answers that nothing listens at the port. */
    void (*absent)(struct req *r, uint16_t port, const char *text);
};

/* The requests of one front-end, or of one of its rules; embedded in it. */
struct passes {
    const struct pass_rules *rules;
    struct fronts *fronts; /* borrowed */
    struct engine *en;     /* borrowed */
    struct passes *next;   /* the ring of those that share the limits */
    struct list all;       /* struct pass */
    unsigned n;
    uint64_t passed, refused; /* since the worker's start; refused: by the limits */
};

void passes_init(struct passes *p, struct fronts *fronts, const struct pass_rules *rules);
/* The limits of a front-end count for both together. b shares with none yet. */
void passes_join(struct passes *a, struct passes *b);
/* Ends all with 503, as the worker ends. */
void passes_end(struct passes *p);

/* A request to PORT. */
struct pass_target {
    uint16_t port;
    struct str base; /* PREFIX/PORT, with its token, as it was sent; "" at a host of
                        its own */
    struct str rest; /* the path behind it and the query, as they were sent */
};
/*
 * Reads PREFIX/PORT/rest from the bytes of the request line. Returns false if the port is
 * not a number from 1 to 65535. base and rest point into r's head.
 */
bool pass_target_of(const struct pass_rules *rules, const struct req *r,
                    struct pass_target *out);
/* Does this server itself listen at the port? */
bool pass_is_ours(const struct fronts *fronts, uint16_t port);
/* Passes r on and answers it, also if it cannot be passed on: the `.body` of a route. */
void pass_request(struct passes *p, struct req *r, const struct pass_target *to);

/* Answers 308 to the same address with a slash, for a `to` without rest. */
void pass_add_slash(struct req *r, const struct pass_target *to);
/* rules.hides: X-Session-API-Key, X-OD-Page, and Authorization if it is a key of this
 * server. */
bool pass_hides_keys(const struct passes *p, const struct req *r, struct str name);
/* rules.viewer: by the address with a token, or the cookie of a login (logins_viewer). */
uint64_t pass_viewer(const struct passes *p, const struct req *r, uint16_t port);
/* rules.absent for people: a page that looks again every 2 seconds, with status 502. */
void pass_show_absent(struct req *r, uint16_t port, const char *text);

/* ---- sandbox ---- */

/*
 * Adds to r's answer what makes a page of our own origin a stranger's: an opaque origin,
 * and, as that is another one than its own scripts', pictures' and answers' to a browser,
 * the fields that let it have these (CORS, CORP).
 */
void pass_sandbox(struct req *r);
/* Answers a browser's question whether the opaque origin may send r (CORS preflight).
 * Returns false if r is none. */
bool pass_preflight(struct req *r);

#endif
