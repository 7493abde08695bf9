/* SPDX-License-Identifier: MIT */
/*
 * The HTTP listeners of od serve: one server, the front-ends that speak HTTP on
 * it, and who may ask.
 *
 *   with a key      X-Session-API-Key or a bearer token must be it, but for routes
 *                   marked open, and a WebSocket of events, where it may come as
 *                   the first message
 *   without one     no Origin, nothing cross-site, and a Host that is this
 *                   machine or an address: what a page in a browser could not
 *                   send by itself (LAYOUT 7); but for routes marked open nothing
 *                   from a browser at all. --insecure-open drops the rule about
 *                   Host; over TLS the certificate's names are that rule.
 */
#ifndef OD_FRONT_HTTP_H
#define OD_FRONT_HTTP_H

#include "base/json.h"
#include "engine/engine.h"

struct events;
struct http;
struct req;

/*
 * options: the JSON that serve stored; read once. Never NULL. Nothing is
 * listened on yet.
 */
struct http *http_open(struct engine *en, const struct json *options);
/* Takes a listening socket. tls: HTTPS, with the certificate of the options. */
void http_listen(struct http *h, int fd, bool tls);
/* The file viewer's socket (front/viewer.h), which it takes. */
void http_view(struct http *h, int fd);
/* Takes up what the worker before left, before engine_resume. */
/* memory: what the keeper holds under the name "events", taken; -1: nothing. */
void http_load(struct http *h, int memory);
/* The handover is over: what must be there before the first action is made. */
void http_start(struct http *h);
/*
 * Stops accepting and closes idle connections; what is in flight is answered.
 * fn is called once, when the last connection is gone.
 */
void http_drain(struct http *h, void (*fn)(void *arg), void *arg);
/* A Host that is this machine or an address: what DNS cannot be made to point at us. */
bool http_host_is_plain(struct req *r);
/* A page in a browser had it sent. */
bool http_from_a_page(struct req *r);
struct events *http_events(struct http *h); /* borrowed */
/* How it is with the backend that we dial (connect_status); NULL: there is none. */
struct json *http_backend(const struct http *h);
/* The versions of what the fronts keep, for engine_format's text. */
void http_format(struct buf *out);

#endif
