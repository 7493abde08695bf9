/* SPDX-License-Identifier: MIT */
/* References in pages, made whole: as browsers do it (the URL standard, 4.4). */
#ifndef OD_HTTP_URL_JOIN_H
#define OD_HTTP_URL_JOIN_H

#include "base/buf.h"

enum { URL_JOIN_MAX = 64 << 10 }; /* bytes of a reference or a base */

/*
 * Appends what ref means on the page at base, which is a URL that url_join wrote. Those
 * of http, https, ws, wss and file get the one form that a browser gives them: dots are
 * resolved, a host is an address or a name as url_host.h says, the scheme's own port is
 * left out, and what may not stand in a URL is written as %XX. A fragment is kept.
 * Returns -1 if it is not a URL, out is full, or one of them is too long.
 */
int url_join(struct buf *out, struct str base, struct str ref);
/* The scheme in front of a URL, without its colon; n 0: there is none. */
struct str url_scheme(struct str url);
/* Any case, of ASCII. */
bool url_scheme_is(struct str url, const char *scheme);

#endif
