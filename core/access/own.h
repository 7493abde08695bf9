/* SPDX-License-Identifier: MIT */
/* What the files of core/access share. */
#ifndef OD_ACCESS_OWN_H
#define OD_ACCESS_OWN_H

#include "access/access.h"
#include "http/grant.h"

/* ---- pages.c ---- */

/* Walks over all cookies of a name: pages of neighbouring hosts can add some. */
struct cookie_walk {
    const struct http_head *h;
    char wanted[64];
    int field;
    struct str rest;
};
struct cookie_walk cookies_of(const struct req *r, const char *name);
/* Returns the next value; p is NULL after the last one. */
struct str cookies_next(struct cookie_walk *w);
/* Returns the strongest login of r's cookies of this name; NULL: none counts, or another
 * origin's page sent r. token: where its value is put; NULL: nowhere. */
const struct grant *pages_login(const struct access *a, const struct req *r,
                                const char *cookie, struct str *token);
/* Returns the login of r's cookie of this name if given is its page token. */
const struct grant *pages_by_token(const struct access *a, const struct req *r,
                                   const char *cookie, struct str given);
/* Writes the page token of a login's token to out, as a string. */
void pages_token(struct str token, char out[LOGIN_TOKEN_HEX + 1]);
/* Returns the login that a token for a port is derived from; NULL: none counts. */
const struct grant *pages_app(const struct access *a, const struct req *r, uint16_t port,
                              struct str token);
/* The same for the cookies of an app's host, if a page of that host or a person sent
 * r. */
const struct grant *pages_app_cookie(const struct access *a, const struct req *r,
                                     uint16_t port);

/* ---- judge.c ---- */

/* What counted so far. */
struct judged {
    enum right right;
    struct req_by by;
    bool given; /* a value that is compared with keys or grants */
    bool wrong; /* one of these is no key or grant */
    bool doubled;
    bool refused; /* the path has a token, and it is wrong */
};
/* When the route of r is open, by the list. */
enum open_when judge_opens(const struct entrance *s, const struct req *r);
/* Counts a value that is compared with keys or grants. */
void judge_value(struct access *a, const struct proof *p, const char *at,
                 struct str value, struct judged *out);
void judge_grant(const struct grant *one, struct judged *out);

/* ---- visit.c ---- */

/* May one more WebSocket from the peer of fd wait for its proof? */
bool visit_has_room(const struct access *a, int fd);
/* Ends the connections whose right comes from the key, or from the login if key is
 * NULL. */
void visit_end_all(struct access *a, const char *key, uint64_t login);
/* Ends requests and WebSockets that have a right without any proof, where a key is wanted
 * by now, except at open routes: of these, one may be the call that sets the key. */
void visit_end_keyless(struct access *a);

#endif
