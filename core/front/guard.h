/* SPDX-License-Identifier: MIT */
/*
 * The HTTP listeners that front-ends share, and who may ask there.
 *
 *   with a key      X-Session-API-Key or a bearer token must be one that counts there
 *                   (front/keys.h), with the right that the route needs. Routes marked
 *                   open need none; those marked key_in_message accept, without one, a
 *                   GET that opens a WebSocket, whose first message must have it
 *   without one     no Origin, nothing cross-site, and a Host that hosts_has knows
 *                   (front/hosts.h): what a page in a browser could not send by
 *                   itself; except for routes marked open nothing from a browser at
 *                   all. Over TLS the certificate's names are the rule about Host.
 *
 *   people's page   routes marked page are also asked with the cookie of a login, by our
 * own page only (front/logins.h), whether there is a key or not. Where the route is open,
 * too, people who have no cookie yet get there
 *
 *   an app's page   routes marked key_in_path are also asked with a token in the path, by
 * any page: the app's own has an opaque origin. No other route of the native set is asked
 * with Origin: null
 *
 *   an app's host   with --preview-host the native set's listeners pass requests for
 * PORT-NAME to the front-end that has `app`, if they have the cookie of that host
 * (front/logins.h) or a key that may use; nothing of the native set is there
 *
 * Pages of one origin, --cors-origin, may read the answers of the native set (the CORS
 * protocol of the Fetch Standard): they send the key like other clients.
 *
 * A refusal has the words of the front-end whose routes come first there. At a listener
 * NAME@ADDRESS that front-end may have a place of its own for the key, and refuse by
 * itself (struct front: credential, refuse).
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
 * "tls_cert", "tls_key", "tls_client_ca": strings, those that are set, paths from the
 * root; "insecure_open": bool; "allow_hosts": [string, …]}.
 */
extern const struct option_table guard_options;

/* options: what is stored as "http"; read once. Never NULL. */
struct guard *guard_open(struct engine *en, const struct json *options);
struct keys *guard_keys(struct guard *g);     /* borrowed */
struct logins *guard_logins(struct guard *g); /* borrowed */
/* A key of the start, for the listeners of only. */
void guard_add_key(struct guard *g, const struct front *only, struct str key);
/* The listeners of only need no key. */
void guard_open_for(struct guard *g, const struct front *only);
/* Requests for the hosts of apps go to by, whose object is f. */
void guard_pass_apps(struct guard *g, const struct front *by, void *f);
/* Appends the name of the host of an app, of --preview-host. Returns -1: there is none.
 */
int guard_app_host(const struct guard *g, uint16_t port, struct buf *out);
/* Takes up the keys and logins that the worker before left, before engine_resume. */
void guard_load(struct guard *g);
/*
 * Takes a listening socket and serves these n tables there; only: the front-end whose
 * tables these are, f its object; NULL: those of the native set. name: as people write
 * the listener, without http://. tls: HTTPS, with the certificate of the options.
 */
void guard_listen(struct guard *g, const struct front *only, void *f,
                  const struct http_front *const *tables, size_t n, struct str name,
                  int fd, bool tls);
/*
 * Lists and changes the keys. q: {"verb": "list", "add" or "remove"; "name"; of add:
 * "right": "use" or "view"; "listener": as --listen has it, "NAME@": those of a
 * front-end, "": all}, all optional. Returns what keys_list has as {"keys": [...]}, of
 * add {"name", "right", "listener", "key"}, which is told this once; the caller's. NULL
 * and sets *e: as keys_add and keys_remove, or NOTFOUND, no listener is of that name.
 */
struct json *guard_ask(struct guard *g, const struct json *q, struct err *e);
/*
 * Stops accepting and closes idle connections; requests in flight get their answers. fn
 * is called once, when the last connection is gone.
 */
void guard_drain(struct guard *g, void (*fn)(void *arg), void *arg);
/* May text be given to --cors-origin? SCHEME://HOST or SCHEME://HOST:PORT, as browsers
 * send it: in lower case, without a path and a scheme's own port. */
bool guard_is_origin(struct str text);
/* Was the request made by a page in a browser? */
bool guard_from_a_page(const struct req *r);

#endif
