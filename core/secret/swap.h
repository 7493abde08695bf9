/* SPDX-License-Identifier: MIT */
/*
 * Secrets and their placeholders in bytes that pass by. A placeholder is as long as its
 * secret, so lengths that a message states stay true. Pure functions.
 */
#ifndef OD_SECRET_SWAP_H
#define OD_SECRET_SWAP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "http/http.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SECRET_MIN = 8, /* bytes of a secret that are letters or digits */
    SECRET_MAX = 4096,
    SWAPS_MAX = 32 /* secrets of one host, and forms of them */
};

/* from becomes to; both have the same length, of at least 1. Borrowed. */
struct swap {
    struct str from, to;
};

/*
 * Appends a placeholder: the secret with its letters and digits replaced by random ones
 * of the same kind (capitals, small letters, digits, or all hexadecimal), except a prefix
 * that tells what it is, up to the last _ or - among its first 12 bytes. Returns -1 and
 * sets *e: INVALID, the secret is too short, too long, or has a control character or a
 * blank at an end. what: names it for the message.
 */
int secret_placeholder(struct str secret, const char *what, struct buf *out,
                       struct err *e);

/*
 * Replaces in place. Returns how many bytes at the front are done: those after it may
 * belong to a text that goes on. last: nothing follows, so all are done.
 */
size_t swap_bytes(const struct swap *v, unsigned n, char *p, size_t size, bool last);

/* What a request is to become. */
struct secret_head {
    struct str host; /* the name that it must be for, at this port */
    unsigned port;
    bool may_upgrade; /* it is the first one of its connection */
    const struct swap *v;
    unsigned n;
    /* Called with the two forms of credentials of Basic (RFC 7617) that had a secret put
     * in, in base64 of one length. NULL: nobody is told. */
    void (*basic)(void *arg, struct str with_secret, struct str without);
    void *arg;
};

/*
 * Appends the head of a request with secrets in its target and its fields' values: in a
 * target they are percent-encoded, and Basic credentials are decoded and encoded again.
 * An encoding of the answer is not asked for, since secrets in it could not be seen, and
 * Upgrade is removed unless it may be. Returns 0; or the status to answer, and *why, a
 * sentence: 421, the Host field names another host; 431, the head becomes too long.
 */
int secret_head(const struct secret_head *s, const struct http_head *h, struct buf *out,
                const char **why);

#endif
