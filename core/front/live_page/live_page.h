/* SPDX-License-Identifier: MIT */
/* The link to the live page that od serve prints. See README.md. */
#ifndef OD_FRONT_LIVE_PAGE_H
#define OD_FRONT_LIVE_PAGE_H

#include "base/buf.h"

/*
 * Appends the address of the page at a listener, with a token of grants_once that logs in
 * once. address: the listener as people write it, or an origin; prefix: what precedes the
 * page's path, as "/box/17". Returns -1 if no browser can open the page there: a unix
 * socket, or the listener of another front-end.
 */
int live_page_link(struct buf *out, struct str address, struct str prefix,
                   const char *token);

#endif
