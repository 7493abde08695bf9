/* SPDX-License-Identifier: MIT */
/*
 * Logins of people. A person with a key, or with a link that logs in once, gets a cookie
 * with a random token, which is not the key. The keeper stores the SHA-256 of tokens, so
 * that nobody is logged out when a worker is killed. A login counts at the listener where
 * it was made, for LOGIN_S seconds, with the right of its key.
 *
 * A browser sends the cookie with every request, even one made by a page of another
 * origin on the same site, such as an app at another port of this host. So a request to a
 * route with .page (http/httpd.h) needs three things, which guard.c checks:
 *
 *   cookie       LOGIN_COOKIE_PAGE, HttpOnly and SameSite=Strict
 *   Origin       if there is one, that of this server (Host, or --ui-origin)
 *   page token   in X-OD-Page, or in the first message of a WebSocket: only our own page
 *                can read it, with GET /ui/session
 *
 * For a WebSocket, the front-end calls logins_guest at the handshake, and guest_says with
 * the first message, as front/events does:
 *
 *   static const struct route routes[] = {{.methods = HTTP_GET, .path = "/x/{session}",
 *       .run = upgrade, .right = RIGHT_VIEW, .key_in_message = true, .page = true}};
 *   upgrade()      logins_guest(fronts_logins(all), r, &k->guest), then req_upgrade
 *   first message  if (k->guest.right == RIGHT_NONE && guest_says(logins, &k->guest, m)
 * != GUEST_KNOWN) close; RIGHT_VIEW watches, RIGHT_USE may drive
 */
#ifndef OD_FRONT_LOGINS_H
#define OD_FRONT_LOGINS_H

#include "base/hash.h"
#include "base/json.h"
#include "front/keys.h"
#include "http/httpd.h"

struct engine;
struct logins;

enum {
    LOGINS_MAX = 64,      /* the oldest makes room */
    LOGIN_S = 12 * 3600,  /* seconds that a login lasts */
    LOGIN_TOKEN_HEX = 64, /* digits of a token: 256 bits */
    LOGIN_ONCE_MAX = 16,  /* unused links; the oldest is dropped */
    LOGIN_ONCE_S = 600    /* seconds that such a link counts */
};

/* Names of cookies, one for each kind of listener, because all ports of a host share its
 * cookies. Over TLS, "__Secure-" precedes the name. */
#define LOGIN_COOKIE_PAGE    "od_ui"
#define LOGIN_COOKIE_PREVIEW "od_preview"
#define LOGIN_COOKIE_APP     "od_app" /* of one app's host, see below */

/* Borrows keys and en for the object's lifetime. Never returns NULL. */
struct logins *logins_open(struct engine *en, struct keys *keys);
/* Loads the logins of the previous worker. */
void logins_load(struct logins *l);
/* Sets how browsers see the page behind a proxy: its origin ("https://HOST"; "": no
 * proxy) and the prefix of its path ("/box/17", or ""). framed: a page of another origin
 * may show it in a frame. Copies both. */
void logins_set_outside(struct logins *l, struct str origin, struct str prefix,
                        bool framed);
/* The prefix, borrowed; "": none. */
const char *logins_prefix(const struct logins *l);
/* Returns the number of logins that count now. */
unsigned logins_count(const struct logins *l);

/* ---- requests ---- */

/* Is origin, an Origin field's value, that of this server by the name that r uses for
 * it? */
bool logins_is_own_origin(const struct logins *l, const struct req *r, struct str origin);
/* Was r sent by our own page or by a person, and not by a page of another origin? A
 * person who follows a link on another site counts as a person. */
bool logins_is_from_here(const struct logins *l, const struct req *r);
/* Returns what the cookie of this name lets the sender of r do, without a page token: for
 * requests that change nothing, and for listeners that have no other pages. RIGHT_NONE:
 * nothing. */
enum right logins_by_cookie(const struct logins *l, const struct req *r,
                            const char *name);
/* Returns what cookie, Origin and X-OD-Page let the sender of r do. */
enum right logins_by_page(const struct logins *l, const struct req *r);
/* Writes the page token of r's login to out, as a string. Returns -1 if r has no
 * login. */
int logins_page_token(const struct logins *l, const struct req *r,
                      char out[LOGIN_TOKEN_HEX + 1]);

/* ---- addresses of apps ---- */

/*
 * A page whose origin is opaque (CSP sandbox) sends no cookies with its requests, so the
 * address of an app contains its credential: PREFIX/PORT~TOKEN/, at routes with
 * .key_in_path. A token is derived from one login and one port: it counts for that port,
 * at that listener, as long as the login does, and no other token can be derived from it.
 */
enum { LOGIN_APP_HEX = 32 };

/* Writes the token of r's login for a port to out, as a string. Returns -1 if r has no
 * login with RIGHT_USE. */
int logins_app_token(const struct logins *l, const struct req *r, uint16_t port,
                     char out[LOGIN_APP_HEX + 1]);
/*
 * Reads the second segment of r's path, not decoded: PORT or PORT~TOKEN. token->p is NULL
 * if there is no token. Returns false if the segment is neither.
 */
bool logins_app_of(const struct req *r, uint16_t *port, struct str *token);
/* Returns what the token in r's path lets its sender do there; RIGHT_NONE: nothing. */
enum right logins_by_path(const struct logins *l, const struct req *r);
/*
 * The same tokens at an app's own host (--preview-host), where its page has an origin of
 * its own: /~TOKEN/ there turns the token into a cookie, for that host alone.
 * logins_app_link: is r for /~TOKEN/? logins_app_enter adds the cookie to r's answer;
 * returns false if the token does not count. logins_by_app returns what the cookie lets
 * the sender of r do, if that is a page of that host or a person.
 */
bool logins_app_link(const struct req *r, struct str *token);
bool logins_app_enter(const struct logins *l, struct req *r, uint16_t port,
                      struct str token);
enum right logins_by_app(const struct logins *l, const struct req *r, uint16_t port);

/*
 * Returns a number that is the same for all requests of one login to apps, found by the
 * token in the path, the cookie of that port's host, or LOGIN_COOKIE_PREVIEW. 0: r has
 * none of these.
 */
uint64_t logins_viewer(const struct logins *l, const struct req *r, uint16_t port);

/* ---- WebSockets ---- */

/* The client that opened a WebSocket. Its front-end keeps this, as r ends with the
 * upgrade. */
struct guest {
    enum right right; /* by the credentials so far; RIGHT_NONE: none counted */
    enum right by_page; /* what the page token would allow; RIGHT_NONE: nothing */
    uint8_t page[HASH_SHA256_SIZE]; /* the hash of that token */
    char at[KEY_AT_MAX + 1];        /* the listener */
};

enum guest_said {
    GUEST_KNOWN, /* guest.right is set */
    GUEST_WRONG, /* neither member, or a wrong value: close with 1008 */
    GUEST_MANY   /* the same, too often: close with 1013 */
};

/* At the handshake: fills in what r shows of its sender. */
void logins_guest(const struct logins *l, const struct req *r, struct guest *out);
/* Judges the first message m of a guest with RIGHT_NONE: {"page": TOKEN} or {"api_key":
 * KEY}. */
enum guest_said guest_says(struct logins *l, struct guest *a, const struct json *m);

/* ---- making and ending them ---- */

/*
 * Makes a login with this right at the listener of r, and adds its Set-Cookie to r's
 * answer.
 */
void logins_add(struct logins *l, struct req *r, const char *name, enum right right);
/* Ends r's login and adds the Set-Cookie that removes it. Returns false if r has none. */
bool logins_end(struct logins *l, struct req *r, const char *name);
/* Makes the token of a link that counts once, and writes it to out as a string. */
void logins_once(struct logins *l, enum right right, char out[LOGIN_TOKEN_HEX + 1]);
/* The same for a token that is given by its SHA-256. */
void logins_put_once(struct logins *l, enum right right,
                     const uint8_t hash[HASH_SHA256_SIZE]);
/* Uses the token up. Returns the right that it gives; RIGHT_NONE if it does not exist. */
enum right logins_use_once(struct logins *l, struct str token);

#endif
