/* SPDX-License-Identifier: MIT */
/*
 * An authority of our own, which issues certificates for names (RFC 5280): keys are on
 * the curve P-256, signatures are ECDSA with SHA-256.
 */
#ifndef OD_NET_ISSUER_H
#define OD_NET_ISSUER_H

#include "base/buf.h"
#include "base/err.h"

enum { ISSUER_PEM_MAX = 4096 }; /* of each PEM text here */

struct issuer;

/*
 * Makes an authority, and appends its certificate and its key as PEM. name: the common
 * name that people see, without characters of RFC 4514. Returns -1 and sets *e.
 */
int issuer_make(const char *name, struct buf *cert, struct buf *key, struct err *e);
/* Reads what issuer_make wrote. The caller owns it. NULL: sets *e. */
struct issuer *issuer_open(struct str cert, struct str key, struct err *e);
void issuer_free(struct issuer *i); /* takes NULL */
/*
 * Issues a certificate for servers with this DNS name, valid for a year, and appends it
 * and its key as PEM; both in one text. Returns -1 and sets *e.
 */
int issuer_leaf(struct issuer *i, const char *dns, struct buf *pem, struct err *e);
/*
 * Appends the SHA-256 of the public key of a certificate in base64, as Chromium's
 * --ignore-certificate-errors-spki-list takes it. Returns -1 and sets *e.
 */
int issuer_key_hash(struct str cert, struct buf *out, struct err *e);

#endif
