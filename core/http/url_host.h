/* SPDX-License-Identifier: MIT */
/* Hosts of URLs as browsers read them: the URL standard, 3.5, "host parsing". */
#ifndef OD_HTTP_URL_HOST_H
#define OD_HTTP_URL_HOST_H

#include "base/buf.h"

/*
 * Appends the host in its one form: an IPv4 address with four numbers however it is
 * written (256, 0x7f.1, 192.168.257), an IPv6 address in brackets and in its shortest
 * form, a name in small letters with its labels in Punycode. Of the mapping of names (UTS
 * 46), small letters, wide forms and ignored characters are implemented; nothing is
 * composed (NFC). Returns -1 if it is not a host, or out is full.
 */
int url_host(struct buf *out, struct str host);

#endif
