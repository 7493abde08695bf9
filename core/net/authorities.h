/* SPDX-License-Identifier: MIT */
/*
 * Mozilla's authorities, inside od for machines without any: the name, key and dates of
 * each, which build/ca-bundle.sh took from the list. The library needs certificates, so
 * each is put into one of our own making, marked as an authority (RFC 5280 4.2.1.9) and
 * without a signature: that of a trust anchor is not checked.
 */
#ifndef OD_NET_AUTHORITIES_H
#define OD_NET_AUTHORITIES_H

#include "base/err.h"
#include "base/str.h"

/*
 * Calls fn for each with a certificate in DER, valid during that call. The result of fn
 * is ignored. Returns -1 and sets *e: INTERNAL, the list in od is damaged.
 */
int authorities_each(void (*fn)(void *arg, struct str der), void *arg, struct err *e);
/* The date of the list: "2025-04-19". */
const char *authorities_date(void);

#endif
