/* SPDX-License-Identifier: MIT */
/* References in pages, made whole: RFC 3986 section 5, with what browsers forgive. */
#ifndef OD_PROTO_URL_JOIN_H
#define OD_PROTO_URL_JOIN_H

#include "base/buf.h"

enum { URL_JOIN_MAX = 64 << 10 }; /* bytes of a reference or a base */

/*
 * Appends what ref means on the page at base: dots resolved, blanks around it and line
 * ends in it dropped, backslashes of http turned, and what may not stand in a URL
 * written as %XX. A fragment is kept. -1: out is full, or one of them is too long.
 */
int url_join(struct buf *out, struct str base, struct str ref);
/* The scheme in front of a URL, without its colon; n 0: there is none. */
struct str url_scheme(struct str url);
/* Any case, of ASCII. */
bool url_scheme_is(struct str url, const char *scheme);

#endif
