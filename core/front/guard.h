/* SPDX-License-Identifier: MIT */
/*
 * The HTTP listeners that front-ends share, and which requests are allowed there.
 *
 *   with a key      X-Session-API-Key or a bearer token must be one that counts there
 *                   (front/keys.h), with the right that the route needs. Routes marked
 *                   open need none; those marked key_in_message accept, without one, a
 *                   GET that opens a WebSocket, whose first message must have it
 *   without one     no Origin, nothing cross-site, and a Host that hosts_has accepts
 *                   (front/hosts.h): a page in a browser cannot send that by itself.
 *                   Only routes marked open accept requests of a browser at all.
 *                   Over TLS, the certificate's names replace the rule about Host.
 *
 *   people's page   routes marked page also accept the cookie of a login, from our own
 * page only (front/logins.h), whether there is a key or not. If the route is open, too,
 * it also accepts people who have no cookie yet
 *
 *   an app's page   routes marked key_in_path also accept a token in the path, from any
 * page: the app's own has an opaque origin. No other route of the native set accepts
 * Origin: null
 *
 *   an app's host   with --preview-host the native set's listeners pass requests for
 * PORT-NAME to the front-end that has `app`, if they have the cookie of that host
 * (front/logins.h) or a key with RIGHT_USE; no route of the native set exists there
 *
 * Pages of one origin, --cors-origin, may read the answers of the native set (the CORS
 * protocol of the Fetch Standard): they send the key like other clients.
 *
 * A refusal is written by the front-end whose routes come first at the listener. At
 * NAME@ADDRESS, the front-end may expect the key in another place and refuse in its own
 * way (struct front: credential, refuse).
 */
#ifndef OD_FRONT_GUARD_H
#define OD_FRONT_GUARD_H

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct front;
struct guard;
struct http_front;
struct keys;
struct logins;
struct option_table; /* base/option.h */
struct req;

/*
 * The options of od serve about listeners, stored as "http": {"api_key", "cors_origin",
 * "tls_cert", "tls_key", "tls_client_ca": strings, only those that are set, with absolute
 * paths; "insecure_open": bool; "allow_hosts": [string, …]}.
 */
extern const struct option_table guard_options;

/* options: what is stored as "http"; used only during the call. Never returns NULL. */
struct guard *guard_open(struct engine *en, const struct json *options);
struct keys *guard_keys(struct guard *g);     /* borrowed */
struct logins *guard_logins(struct guard *g); /* borrowed */
/* Adds a key of the start, for the listeners of only. */
void guard_add_key(struct guard *g, const struct front *only, struct str key);
/* Lets the listeners of only work without a key. */
void guard_open_for(struct guard *g, const struct front *only);
/* Makes the front-end by, whose object is f, serve requests for the hosts of apps. */
void guard_pass_apps(struct guard *g, const struct front *by, void *f);
/* Appends the host name of an app, by --preview-host. Returns -1 if that is not set. */
int guard_app_host(const struct guard *g, uint16_t port, struct buf *out);
/* Loads the keys and logins of the previous worker; to be called before engine_resume. */
void guard_load(struct guard *g);
/*
 * Takes a listening socket and serves these n tables there. only: the front-end that the
 * tables belong to, f its object; NULL: the native set. name: the listener as people
 * write it, without http://. tls: HTTPS, with the certificate of the options.
 */
void guard_listen(struct guard *g, const struct front *only, void *f,
                  const struct http_front *const *tables, size_t n, struct str name,
                  int fd, bool tls);
/*
 * Lists or changes the keys. q: {"verb": "list", "add" or "remove"; "name"; for add:
 * "right": "use" or "view"; "listener": as in --listen, "NAME@": those of a front-end,
 * "": all}, all optional. Returns {"keys": [...]} with the list of keys_list; for add
 * {"name", "right", "listener", "key"}: the key is reported only this once. The caller
 * owns the result. Returns NULL and sets *e as keys_add and keys_remove do, or NOTFOUND
 * if no listener has that name.
 */
struct json *guard_ask(struct guard *g, const struct json *q, struct err *e);
/*
 * Stops accepting and closes idle connections; requests in flight are still answered.
 * Calls fn once, when the last connection is closed.
 */
void guard_drain(struct guard *g, void (*fn)(void *arg), void *arg);
/* Is text valid for --cors-origin? SCHEME://HOST or SCHEME://HOST:PORT, as browsers send
 * it: in lower case, without a path and without the scheme's default port. */
bool guard_is_origin(struct str text);
/* Was the request made by a page in a browser? */
bool guard_from_a_page(const struct req *r);

#endif
