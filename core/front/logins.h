/* SPDX-License-Identifier: MIT */
/*
 * Logins of people. Someone who has a key, or a link that logs in once, gets a cookie
 * with a random token; it is not the key. The keeper has the SHA-256 of tokens, so that a
 * killed worker logs nobody out. A login counts at the listener where it was made, for
 * LOGIN_S, with the right of its key.
 *
 * A cookie is sent with every request, also with one that a page of another origin makes
 * on the same site, such as an app at another port of this host. So at routes with .page
 * (http/httpd.h) a request needs three things, which guard.c checks:
 *
 *   cookie       LOGIN_COOKIE_PAGE, HttpOnly and SameSite=Strict
 *   Origin       where there is one, that of this server (Host, or --ui-origin)
 *   page token   in X-OD-Page, or in the first message of a WebSocket: only our own page
 *                can read it, by GET /ui/session
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
    LOGIN_S = 12 * 3600,  /* how long one lasts */
    LOGIN_TOKEN_HEX = 64, /* digits of a token: 256 bits */
    LOGIN_ONCE_MAX = 16,  /* links that were not used; the oldest makes room */
    LOGIN_ONCE_S = 600    /* how long such a link counts */
};

/* Names of cookies, one for each kind of listener, as a host's ports share its cookies.
 * Over TLS a name is preceded by "__Secure-". */
#define LOGIN_COOKIE_PAGE    "od_ui"
#define LOGIN_COOKIE_PREVIEW "od_preview"
#define LOGIN_COOKIE_APP     "od_app" /* of one app's host, see below */

/* keys and en are borrowed for as long as it lives. Never NULL. */
struct logins *logins_open(struct engine *en, struct keys *keys);
/* Takes up those that the previous worker left. */
void logins_load(struct logins *l);
/* What the page is to browsers where a proxy in front changes it: its origin
 * ("https://HOST"; "": none) and what precedes its path ("/box/17", or ""); framed: a
 * page of another origin may have it in a frame. Copied. */
void logins_set_outside(struct logins *l, struct str origin, struct str prefix,
                        bool framed);
/* The prefix, borrowed; "": none. */
const char *logins_prefix(const struct logins *l);
/* How many count now. */
unsigned logins_count(const struct logins *l);

/* ---- requests ---- */

/* Is this Origin's value that of this server, as r calls it? */
bool logins_is_own_origin(const struct logins *l, const struct req *r, struct str origin);
/* Did our own page or a person send r, and no page of another origin? A link on another
 * site that a person follows is a person's. */
bool logins_is_from_here(const struct logins *l, const struct req *r);
/* What the cookie of this name lets the sender of r do, without a page token: for what
 * changes nothing, and for listeners that have no other pages. RIGHT_NONE: nothing. */
enum right logins_by_cookie(const struct logins *l, const struct req *r,
                            const char *name);
/* What cookie, Origin and X-OD-Page let the sender of r do. */
enum right logins_by_page(const struct logins *l, const struct req *r);
/* Writes the page token of r's login to out, a string. Returns -1: it has none. */
int logins_page_token(const struct logins *l, const struct req *r,
                      char out[LOGIN_TOKEN_HEX + 1]);

/* ---- addresses of apps ---- */

/*
 * A page whose origin is opaque (CSP sandbox) sends no cookie with what it asks for, so
 * an address of an app has its credential in it: PREFIX/PORT~TOKEN/, at routes with
 * .key_in_path. A token follows from one login and one port: it counts for that port, at
 * that listener, as long as the login does, and from one token no other follows.
 */
enum { LOGIN_APP_HEX = 32 };

/* Writes the token of r's login for a port to out, a string. Returns -1: it has no login
 * that may do everything. */
int logins_app_token(const struct logins *l, const struct req *r, uint16_t port,
                     char out[LOGIN_APP_HEX + 1]);
/*
 * Reads the second segment of r's path, as it was sent: PORT or PORT~TOKEN. token: p NULL
 * if it has none. Returns false if it is neither.
 */
bool logins_app_of(const struct req *r, uint16_t *port, struct str *token);
/* What the token of r's path lets its sender do there; RIGHT_NONE: nothing. */
enum right logins_by_path(const struct logins *l, const struct req *r);
/*
 * The same tokens at an app's own host (--preview-host), where its page has an origin of
 * its own: /~TOKEN/ there makes a cookie of the token, for that host alone.
 *
 * logins_app_link: does r ask for /~TOKEN/? logins_app_enter: adds the cookie to r's
 * answer; returns false if the token does not count. logins_by_app: what the cookie lets
 * the sender of r do, if it is a page of that host or a person.
 */
bool logins_app_link(const struct req *r, struct str *token);
bool logins_app_enter(const struct logins *l, struct req *r, uint16_t port,
                      struct str token);
enum right logins_by_app(const struct logins *l, const struct req *r, uint16_t port);

/*
 * A number that is the same for all requests of one login to apps: by the token of its
 * path, the cookie of that port's host, or LOGIN_COOKIE_PREVIEW. 0: r has none of these.
 */
uint64_t logins_viewer(const struct logins *l, const struct req *r, uint16_t port);

/* ---- WebSockets ---- */

/* Who opened one: kept by its front-end, as r is gone after the upgrade. */
struct guest {
    enum right right; /* by what has been shown so far; RIGHT_NONE: nothing counted yet */
    enum right by_page; /* what the page token would give; RIGHT_NONE: nothing */
    uint8_t page[HASH_SHA256_SIZE]; /* the hash of that token */
    char at[KEY_AT_MAX + 1];        /* the listener */
};

enum guest_said {
    GUEST_KNOWN, /* guest.right is set */
    GUEST_WRONG, /* neither member, or a wrong value: close with 1008 */
    GUEST_MANY   /* the same, too often: close with 1013 */
};

/* At the handshake: who is it? */
void logins_guest(const struct logins *l, const struct req *r, struct guest *out);
/* The first message, read, of one with RIGHT_NONE: {"page": TOKEN} or {"api_key": KEY}.
 */
enum guest_said guest_says(struct logins *l, struct guest *a, const struct json *m);

/* ---- making and ending them ---- */

/*
 * Makes a login with this right at the listener of r, and adds its Set-Cookie to r's
 * answer.
 */
void logins_add(struct logins *l, struct req *r, const char *name, enum right right);
/* Ends r's login and adds the Set-Cookie that removes it. Returns false: it has none. */
bool logins_end(struct logins *l, struct req *r, const char *name);
/* Makes the token of a link that counts once. out: a string. */
void logins_once(struct logins *l, enum right right, char out[LOGIN_TOKEN_HEX + 1]);
/* The same, of a token that is known by its SHA-256. */
void logins_put_once(struct logins *l, enum right right,
                     const uint8_t hash[HASH_SHA256_SIZE]);
/* Uses one up: what it gives, RIGHT_NONE if there is none of that token. */
enum right logins_use_once(struct logins *l, struct str token);

#endif
