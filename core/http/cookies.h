/* SPDX-License-Identifier: MIT */
/*
 * Cookies of a client, in memory: RFC 6265 section 5, and the name prefixes of its later
 * drafts (__Secure-, __Host-). It keeps COOKIES_MAX cookies, at most COOKIES_HOST_MAX of
 * one host; a new one replaces the oldest. A Domain of one label is refused, so no
 * cookie is for a whole top-level domain; longer public suffixes are not known here.
 */
#ifndef OD_HTTP_COOKIES_H
#define OD_HTTP_COOKIES_H

#include "base/buf.h"

#include <time.h>

enum { COOKIES_MAX = 300, COOKIES_HOST_MAX = 60, COOKIE_BYTES_MAX = 4096 };

struct cookies;

struct cookies_where {
    struct str host; /* of the request; any case */
    struct str path; /* of its target, a query may follow */
    bool secure;     /* https */
};

struct cookies *cookies_new(void);
void cookies_free(struct cookies *c); /* NULL is fine */
/* Takes the value of a Set-Cookie field. Returns false if the cookie is refused. */
bool cookies_take(struct cookies *c, const struct cookies_where *w, struct str field,
                  time_t now);
/*
 * Appends the value of a Cookie field, longer paths first. Returns 1; 0 if there is no
 * cookie to send; -1 if out is full, and unchanged.
 */
int cookies_say(const struct cookies *c, const struct cookies_where *w, time_t now,
                struct buf *out);
/* The number of cookies. */
unsigned cookies_count(const struct cookies *c);
/* Parses a cookie's date (5.1.1). Returns -1 if it is not one. */
int cookies_date(struct str text, time_t *out);

#endif
