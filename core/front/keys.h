/* SPDX-License-Identifier: MIT */
/* The keys of the HTTP listeners: who may ask. */
#ifndef OD_FRONT_KEYS_H
#define OD_FRONT_KEYS_H

#include "base/json.h"
#include "base/limits.h"
#include "proto/httpd.h"

struct keys {
    char **v; /* owned; NULL: none is needed */
    size_t n;
};

enum keys_given { KEYS_NONE_NEEDED, KEYS_RIGHT, KEYS_WRONG, KEYS_MISSING };

/* options: {"api_key": string, "api_keys": [string, …]}; empty ones do not count. */
void keys_init(struct keys *k, const struct json *options);
/* The time does not depend on the bytes of a key. */
bool keys_has(const struct keys *k, struct str given);
/*
 * What the request carries: X-Session-API-Key, or Authorization: Bearer (RFC 6750 2.1).
 */
enum keys_given keys_of(const struct keys *k, const struct req *r);

#endif
