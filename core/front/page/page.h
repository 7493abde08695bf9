/* SPDX-License-Identifier: MIT */
/* The live page: what od serve prints of it. See README.md. */
#ifndef OD_FRONT_PAGE_PAGE_H
#define OD_FRONT_PAGE_PAGE_H

#include "base/buf.h"

/*
 * Appends the address of the page at a listener, which logs in once: token is that of
 * logins_once. address: as people write the listener, or an origin; prefix: what comes
 * before the page's path, as "/box/17". Returns -1 if no browser can open that: a unix
 * socket, or the listener of another front-end.
 */
int page_link(struct buf *out, struct str address, struct str prefix, const char *token);

#endif
