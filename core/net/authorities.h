/* SPDX-License-Identifier: MIT */
/*
 * Mozilla's authorities, inside od for machines that have none: of each its name,
 * its key and its dates, as build/ca-bundle.sh took them from the list. The library
 * wants certificates, so each is put into one of our own making, which says "signs
 * others" (RFC 5280 4.2.1.9) and has no signature: a trust anchor's is not checked.
 */
#ifndef OD_NET_AUTHORITIES_H
#define OD_NET_AUTHORITIES_H

#include "base/err.h"
#include "base/str.h"

/*
 * Calls fn for each, with a certificate in DER, valid for that call. What fn returns
 * is not looked at. -1: INTERNAL: what is inside of od is damaged.
 */
int authorities_each(void (*fn)(void *arg, struct str der), void *arg, struct err *e);
/* Of the list: "2025-04-19". */
const char *authorities_date(void);

#endif
