/* SPDX-License-Identifier: MIT */
/*
 * Trust: the certificates of authorities, from the first of these places that is set or
 * exists
 *
 *   the named file (--ca)
 *   SSL_CERT_FILE, a file; SSL_CERT_DIR, folders with colons between them
 *   the paths that distributions use
 *   Mozilla's list that is part of od, as old as od is (authorities.h)
 *
 * The other places are not read: if a file is named, only its authorities are trusted. A
 * named file that cannot be read is an error. Files are PEM with any number of
 * certificates, or one in DER; of a folder, every file. Certificates of a kind that the
 * library does not know are skipped.
 */
#ifndef OD_NET_TRUST_H
#define OD_NET_TRUST_H

#include "base/buf.h"
#include "base/err.h"

struct trust;
struct mbedtls_x509_crt;

struct trust_where {
    const char *ca;                 /* NULL: none was named */
    char *(*env)(const char *name); /* as getenv; NULL: getenv */
    const char *root;               /* prefix of the distributions' paths; NULL: "" */
};

/*
 * Reads and parses certificates, which takes some ten milliseconds and half a megabyte
 * for a distribution's. Returns NULL and sets *e, which names the file.
 */
struct trust *trust_new(const struct trust_where *where, struct err *e);
void trust_free(struct trust *t);
/* The place that it was read from, for messages. */
const char *trust_source(const struct trust *t);
unsigned trust_count(const struct trust *t);
/* Appends all of them as PEM. Returns -1 and sets *e. */
int trust_print(const struct trust *t, struct buf *out, struct err *e);
/*
 * Appends them as a key store of Java (JKS, version 2), with the password changeit: as
 * sun.security.provider.JavaKeyStore reads it. Returns -1 and sets *e.
 */
int trust_print_java(const struct trust *t, struct buf *out, struct err *e);
/* The library's form of it, owned by t. */
struct mbedtls_x509_crt *trust_chain(struct trust *t);

/*
 * Appends a file of at most LIMIT_PEM_MAX bytes. what: "the key", for the error. Returns
 * -1 and sets *e: the system's error; LIMIT; INVALID, it is empty.
 */
int trust_read(const char *path, const char *what, struct buf *out, struct err *e);
/* Initialises the library. Repeated calls do nothing. */
int trust_begin(struct err *e);

#endif
