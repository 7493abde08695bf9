/* SPDX-License-Identifier: MIT */
/* The keys of the HTTP listeners: who may ask. */
#ifndef OD_FRONT_KEYS_H
#define OD_FRONT_KEYS_H

#include "base/json.h"
#include "base/limits.h"
#include "http/httpd.h"

struct keys {
    char **v; /* owned; NULL: none is needed */
    size_t n;
    /* When the last wrong ones came (clock_ms, 0: never), the oldest at wrong_at. */
    int64_t wrong_ms[LIMIT_WRONG_KEYS];
    unsigned wrong_at;
};

enum keys_given {
    KEYS_NONE_NEEDED,
    KEYS_RIGHT,
    KEYS_WRONG,
    KEYS_MISSING,
    KEYS_DOUBLED /* a field that may have one is there twice */
};

/* options: {"api_key": string, "api_keys": [string, …]}; empty ones do not count. */
void keys_init(struct keys *k, const struct json *options);
/* The time does not depend on the bytes of a key. */
bool keys_has(const struct keys *k, struct str given);
/*
 * What the request carries: X-Session-API-Key, or without one Authorization: Bearer
 * (RFC 6750 2.1). Each at most once, whichever counts: with two, a proxy in between may
 * have looked at the other one.
 */
enum keys_given keys_of(const struct keys *k, const struct req *r);
/*
 * Notes a wrong key at now (clock_ms). Returns false if LIMIT_WRONG_KEYS came within the
 * second before it: the answer is 429. One limit for all listeners and ways. A right key
 * is never refused by it, or whoever reaches the address could lock out who has the key:
 * so it slows guessing down, and only a long random key makes it hopeless.
 */
bool keys_wrong(struct keys *k, int64_t now);

#endif
