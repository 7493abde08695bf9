/* SPDX-License-Identifier: MIT */
/* Resolves references in pages to URLs, as browsers do (the URL standard, 4.4). */
#ifndef OD_HTTP_URL_JOIN_H
#define OD_HTTP_URL_JOIN_H

#include "base/buf.h"

enum { URL_JOIN_MAX = 64 << 10 }; /* bytes of a reference or a base */

/*
 * Appends the URL that ref means on the page at base, which url_join wrote. URLs of
 * http, https, ws, wss and file get the one form that a browser gives them: dots are
 * resolved, a host is an address or a name as url_host.h says, the scheme's own port is
 * left out, and what may not stand in a URL is written as %XX. A fragment is kept.
 * Returns -1 if it is not a URL, out is full, or one of them is too long.
 */
int url_join(struct buf *out, struct str base, struct str ref);
/* Returns the scheme in front of a URL, without its colon; n is 0 if there is none. */
struct str url_scheme(struct str url);
/* Returns whether this is the scheme, in any case of ASCII. */
bool url_scheme_is(struct str url, const char *scheme);

#endif
