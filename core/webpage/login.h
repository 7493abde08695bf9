/* SPDX-License-Identifier: MIT */
/* What a page that asks for a name and a password needs: its status is 401. */
#ifndef OD_WEBPAGE_LOGIN_H
#define OD_WEBPAGE_LOGIN_H

#include "base/buf.h"

/*
 * Appends a sentence that names the kind of login and the address that gives it. url: the
 * address of the page; challenge: its field WWW-Authenticate (RFC 9110, section 11.6.1),
 * of which at most 200 bytes are shown; empty: there is none, and nothing is appended.
 */
void login_explain(struct buf *out, struct str url, struct str challenge);

#endif
