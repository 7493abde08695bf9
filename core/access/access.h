/* SPDX-License-Identifier: MIT */
/*
 * Who may do what at the HTTP listeners: one place that judges, by tables.
 *
 *   keys.h     keys: name, right, listeners
 *   grants.h   what was given for a time: logins, links, secrets. Each has the
 *              key that it came from, its right, listener and end, and ends with its key
 *   door.h     where a front-end's requests may carry a proof
 *   open.def   the routes that need none, each with the reason
 *   judge.c    the one rule, which gives each request its right
 *   pages.c    requests of browsers: origins, cookies, page tokens, tokens of apps
 *   visit.c    WebSockets: those without a proof yet, and the end of a key's connections
 *
 * With a key, a request needs a proof with the right that its route needs, unless
 * open.def lists the route. Without one, a request of a program counts as one with
 * RIGHT_USE: no Origin, nothing cross-site, and a Host that hosts_has accepts (hosts.h),
 * as a page in a browser cannot send that by itself. Over TLS, the certificate's names
 * replace the rule about Host.
 *
 * When a key is removed, all that came from it ends at once: grants, requests in
 * progress, WebSockets, and what front-ends keep (access_watch). When a first key is
 * added, requests and WebSockets of a listener that was open to everybody end.
 */
#ifndef OD_ACCESS_ACCESS_H
#define OD_ACCESS_ACCESS_H

#include "access/door.h"
#include "access/grants.h"
#include "access/hosts.h"
#include "access/keys.h"

struct engine;
struct stream;

struct access {
    struct engine *en; /* borrowed */
    struct keys keys;
    struct grants grants;
    struct hosts hosts;
    char *cors;            /* owned; the origin whose pages may read answers; "": none */
    char *origin, *prefix; /* owned; of the page, access_set_outside; "": none */
    bool framed;
    struct list visitors, watches, entrances;
    int64_t login_ms; /* how long a login lasts */
    uint64_t visits;  /* the number of the last visit */
};

/* options: what is stored as "http"; used only during the call. Never returns NULL. */
struct access *access_open(struct engine *en, const struct json *options);
/* Loads the keys and grants of the previous worker. */
void access_load(struct access *a);

/* ---- what is asked of it ---- */

/* Does any key count at the listener? */
bool access_keyed(const struct access *a, const char *at);
/* Is the value a key of the listener, which must not be passed on? */
bool access_is_key(const struct access *a, const char *at, struct str value);
/* How many more keys there may be. */
size_t access_keys_left(const struct access *a);
/* Adds a key as keys_give does, or as keys_again; or keys_begin, at the start. */
int access_give(struct access *a, const char *name, const char *at, struct str key,
                struct err *e);
int access_give_again(struct access *a, const char *name, const char *at, struct str key,
                      struct err *e);
int access_begin(struct access *a, const char *name, const char *at, struct str key,
                 struct err *e);
/* Gives the listeners at ("NAME@") a secret for PROOF_SECRET; "" does not count. */
void access_secret(struct access *a, const char *at, struct str secret);
/* Removes a key as keys_remove, and ends what came from it. */
int access_remove_key(struct access *a, struct str name, struct err *e);

/* To be told when a key has gone. */
struct access_watch {
    struct list node;
    void (*gone)(struct access_watch *w, const char *key);
};
void access_on_gone(struct access *a, struct access_watch *w);

/* ---- requests ---- */

/* The listeners of one front-end, or of the native set. Owned by who listens. */
struct entrance {
    struct list node; /* in access.entrances */
    const struct door *door;
    void *f;      /* the object of the front-end */
    bool keyless; /* its front-end needs no key, even if the server has keys */
    struct httpd *httpd;
    struct {
        const struct route *route;
        const struct open_row *row;
    } opens[64];
    unsigned nopens;
};

void entrance_init(struct access *a, struct entrance *s, const struct door *door,
                   void *f);
/* Adds the open routes of a table that belongs to this front-end. */
void entrance_add(struct entrance *s, const char *front, const struct http_front *table);
/*
 * Judges r, and gives it its right (req_right, req_key). Returns why it is refused; the
 * caller answers then. A route with ROUTE_LOGIN, and a WebSocket with ROUTE_MESSAGE, may
 * be allowed with RIGHT_NONE: their proof comes later.
 */
enum refusal access_judge(struct access *a, const struct entrance *s, struct req *r);
/* Judges a request for the host of the app at port, which needs RIGHT_USE. */
enum refusal access_judge_app(struct access *a, struct req *r, uint16_t port);

enum late { LATE_COUNTS, LATE_WRONG, LATE_MANY };
/*
 * Judges a proof of r's body: value, as the member or parameter `name` of door's rows
 * with PROOF_BODY; p NULL: the body has none. Gives r the right if it counts. A link that
 * logs in once is used up.
 */
enum late access_late(struct access *a, const struct door *door, struct req *r,
                      const char *name, struct str value);

/* ---- pages and people (pages.c) ---- */

/* Names of cookies, one for each kind of listener, because all ports of a host share its
 * cookies. Over TLS, "__Secure-" precedes the name. */
#define LOGIN_COOKIE_PAGE    "od_ui"
#define LOGIN_COOKIE_PREVIEW "od_preview"
#define LOGIN_COOKIE_APP     "od_app" /* of one app's host */
#define LOGIN_COOKIE_JUPYTER "od_jupyter"

/* Sets how browsers see the page behind a proxy: its origin ("https://HOST"; "": no
 * proxy) and the prefix of its path ("/box/17", or ""). framed: a page of another origin
 * may show it in a frame. Copies both. */
void access_set_outside(struct access *a, struct str origin, struct str prefix,
                        bool framed);
/* The prefix, borrowed; "": none. */
const char *access_prefix(const struct access *a);

/* Is text valid for --cors-origin? SCHEME://HOST or SCHEME://HOST:PORT, as browsers send
 * it: in lower case, without a path and without the scheme's default port. */
bool access_is_origin(struct str text);
/* Was the request made by a page in a browser? */
bool access_from_a_page(const struct req *r);
/* Is origin, an Origin field's value, that of this server by the name that r uses for
 * it? */
bool access_is_own_origin(const struct access *a, const struct req *r, struct str origin);
/* Was r sent by our own page or by a person, and not by a page of another origin? A
 * person who follows a link on another site counts as a person. */
bool access_from_here(const struct access *a, const struct req *r);

/*
 * Makes a login of r's sender at r's listener, with r's right and key, for login_ms, and
 * adds its Set-Cookie to r's answer. Above LOGINS_MAX the oldest login of the key that
 * has the most ends. When a login ends, its WebSockets and requests in progress end.
 */
void access_log_in(struct access *a, struct req *r, const char *cookie);
/* Ends r's login and adds the Set-Cookie that removes it. */
void access_log_out(struct access *a, struct req *r, const char *cookie);
/* Writes the page token of r's login to out, as a string. Returns -1 if r has no login
 * that counts at r's route by a cookie. */
int access_page_token(const struct access *a, const struct req *r,
                      char out[LOGIN_TOKEN_HEX + 1]);

/*
 * Jupyter's pages have the page token of LOGIN_COOKIE_JUPYTER as cookie _xsrf, which
 * their scripts send back in X-XSRFToken or as _xsrf. access_log_in sets it, too.
 *
 * access_enter_page makes a login of a page's sender whose key is this parameter of the
 * query. Otherwise it sets _xsrf again, as another server of this host may have changed
 * it.
 */
void access_enter_page(struct access *a, struct req *r, const char *parameter);
/* Writes the value of r's cookie _xsrf, for a form, to out, as a string. If r has none,
 * it adds a Set-Cookie with a new one, which logs nobody in. */
void access_form_token(struct req *r, char out[LOGIN_TOKEN_HEX + 1]);
/* Was r sent by our own page, with a form that has r's cookie _xsrf as given? */
bool access_is_own_form(const struct access *a, const struct req *r, struct str given);

/*
 * A page whose origin is opaque (CSP sandbox) sends no cookies with its requests, so the
 * address of an app contains its proof: PREFIX/PORT~TOKEN/, at routes with ROUTE_PATH. A
 * token is derived from one login and one port: it counts for that port, at that
 * listener, as long as the login does, and no other token can be derived from it.
 */
enum { LOGIN_APP_HEX = 32 };

/* Writes the token of r's login for a port to out, as a string. Returns -1 if r has no
 * login with RIGHT_USE. */
int access_app_token(const struct access *a, const struct req *r, uint16_t port,
                     char out[LOGIN_APP_HEX + 1]);
/*
 * Reads the second segment of r's path, not decoded: PORT or PORT~TOKEN. token->p is NULL
 * if there is no token. Returns false if the segment is neither.
 */
bool access_app_of(const struct req *r, uint16_t *port, struct str *token);
/*
 * The same tokens at an app's own host (--preview-host), where its page has an origin of
 * its own: /~TOKEN/ there turns the token into a cookie, for that host alone.
 * access_app_link: is r for /~TOKEN/? access_app_enter adds the cookie to r's answer;
 * returns false if the token does not count.
 */
bool access_app_link(const struct req *r, struct str *token);
bool access_app_enter(const struct access *a, struct req *r, uint16_t port,
                      struct str token);
/*
 * Returns a number that is the same for all requests of one login to apps, found by the
 * token in the path, the cookie of that port's host, or LOGIN_COOKIE_PREVIEW. 0: r has
 * none of these.
 */
uint64_t access_viewer(const struct access *a, const struct req *r, uint16_t port);

/* ---- WebSockets (visit.c) ---- */

/*
 * The client that opened a WebSocket. Its front-end keeps this, as r ends with the
 * upgrade:
 *
 *   static const struct route routes[] = {{.methods = HTTP_GET, .path = "/x/{session}",
 *       .run = upgrade, .right = RIGHT_VIEW, .marks = ROUTE_MESSAGE | ROUTE_PAGE}};
 *   upgrade()      access_guest(a, &door_native, r, &k->guest), then req_upgrade
 *   first message  if (k->guest.right == RIGHT_NONE && guest_says(a, &k->guest, m) !=
 *                  LATE_COUNTS) close; RIGHT_VIEW watches, RIGHT_USE may drive
 *
 * How many of these wait for their proof, and from where, is limited before the upgrade.
 * The connection is closed when its key or login ends; a front-end does nothing for that.
 */
struct guest {
    enum right right; /* by the proofs so far; RIGHT_NONE: none counted */
    const struct door *door;
    struct grant page;       /* what a page token may prove; hash: of that token */
    struct req_by by;        /* whose right it is */
    char at[KEY_AT_MAX + 1]; /* the listener */
};

/* At the handshake: fills in what r shows of its sender. */
void access_guest(struct access *a, const struct door *door, struct req *r,
                  struct guest *out);
/*
 * Judges the first message m of a guest with RIGHT_NONE, by the door's rows with
 * PROOF_MESSAGE. LATE_WRONG: no such member, or a wrong value: close with 1008.
 * LATE_MANY: the same, too often: close with 1013.
 */
enum late guest_says(struct access *a, struct guest *g, const struct json *m);
/*
 * Of a front-end's places for `most` WebSockets, `used` are taken: may another one with
 * this right have one? Those that may only view take at most half, so that they do not
 * keep others out.
 */
bool access_has_place(unsigned used, unsigned most, enum right right);
/* For struct httpd_config.upgraded: r of the entrance s became the stream to. */
void access_upgraded(struct access *a, const struct entrance *s, struct req *r,
                     struct stream *to);

#endif
