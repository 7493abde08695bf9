/* SPDX-License-Identifier: MIT */
/*
 * The HTTP listeners that front-ends share. Which requests are allowed there is judged by
 * access/access.h; this room answers those that are refused, in the words of the
 * front-end whose routes come first at the listener, or by its door and `refuse`.
 *
 *   an app's host   with --preview-host the native set's listeners pass requests for
 * PORT-NAME to the front-end that has `app`, if they have the cookie of that host or a
 * key with RIGHT_USE; no route of the native set exists there
 *
 * Pages of one origin, --cors-origin, may read the answers of the native set (the CORS
 * protocol of the Fetch Standard): they send the key like other clients. No route but
 * those with ROUTE_PATH accepts Origin: null.
 */
#ifndef OD_FRONT_GUARD_H
#define OD_FRONT_GUARD_H

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct access;
struct engine;
struct front;
struct guard;
struct http_front;
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
struct access *guard_access(struct guard *g); /* borrowed */
/* Adds a key of the start, for the listeners of only. */
void guard_add_key(struct guard *g, const struct front *only, struct str key);
/* Lets the listeners of only work without a key. */
void guard_open_for(struct guard *g, const struct front *only);
/* Makes the front-end by, whose object is f, serve requests for the hosts of apps. */
void guard_pass_apps(struct guard *g, const struct front *by, void *f);
/* Appends the host name of an app, by --preview-host. Returns -1 if that is not set. */
int guard_app_host(const struct guard *g, uint16_t port, struct buf *out);
/* Loads the keys and grants of the previous worker; to be called before engine_resume. */
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
#endif
