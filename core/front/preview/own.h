/* SPDX-License-Identifier: MIT */
/*
 * The apps that programs of the sandbox serve, shown to people: a proxy to ports of
 * 127.0.0.1 and ::1, on listeners of its own (--listen preview@ADDRESS).
 *
 *   GET /              the ports that programs listen at, as a page or as JSON
 *   * /PORT/rest       that request to PORT, with the path /rest; WebSockets, too
 *   GET, POST /login   a key becomes a cookie, for browsers
 *
 * An app is not trusted. Its listener is an origin of its own, so the app cannot read
 * answers of other listeners of this server; the key and the cookie of the login never
 * reach it. Apps of two ports share that origin.
 *
 *   front.c    the front-end: routes, the list, refusals
 *   login.c    the form, and which requests are allowed
 *
 * core/front/reverse_proxy has one request to an app, and its answer.
 */
#ifndef OD_FRONT_PREVIEW_OWN_H
#define OD_FRONT_PREVIEW_OWN_H

#include "access/access.h"
#include "front/reverse_proxy/reverse_proxy.h"

struct preview {
    struct http_front front;
    struct fronts *fronts;
    struct engine *en;
    struct reverse_proxy reverse_proxy;
};

/* ---- login.c ---- */

/* Its proofs: the key, else the cookie. */
extern const struct door preview_door;
/* Answers with the form; status 200, 401 or 429. */
void preview_show_form(struct req *r, int status, const char *why);
void preview_login_get(struct req *r);
void preview_login_post(struct req *r);

#endif
