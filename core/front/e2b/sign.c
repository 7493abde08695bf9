/* SPDX-License-Identifier: MIT */
/*
 * Signed URLs of /files: "v1_" and the base64 without padding of SHA-256 over
 * path:operation:username:token, and :expiry if the URL expires (seconds since 1970).
 */
#include "front/e2b/own.h"

#include "base/clock.h"
#include "base/enc.h"
#include "base/hash.h"

#include <stdio.h>

enum { QUERY_MAX = 16 << 10 };

static void sign(const struct e2b *f, struct str path, const char *operation,
                 struct str user, struct str expiry, struct buf *out)
{
    struct hash h;
    uint8_t sum[HASH_SHA256_SIZE];
    hash_begin_sha256(&h);
    hash_add(&h, path);
    hash_add(&h, STR(":"));
    hash_add(&h, str_of(operation));
    hash_add(&h, STR(":"));
    hash_add(&h, user);
    hash_add(&h, STR(":"));
    hash_add(&h, str_of(f->token));
    if (expiry.n > 0) {
        hash_add(&h, STR(":"));
        hash_add(&h, expiry);
    }
    hash_end(&h, sum);
    buf_addz(out, "v1_");
    enc_base64(out, str_n(sum, sizeof(sum)));
    while (out->n > 0 && out->p[out->n - 1] == '=')
        buf_truncate(out, out->n - 1);
}

/* Reads when r's URL expires, as it has it; n 0: never. Returns -1 if it is malformed. */
static int read_expiry(const struct req *r, struct buf *out, uint64_t *until)
{
    if (req_query(r, "signature_expiration", out) < 0)
        return -1;
    return out->n == 0 ? 0 : str_to_u64(buf_str(out), until);
}

bool e2b_is_late(const struct req *r)
{
    struct buf expiry = BUF_INIT(32);
    uint64_t until = 0;
    bool late = read_expiry(r, &expiry, &until) == 0 && expiry.n > 0 &&
                until < (uint64_t)(clock_wall_ms() / 1000);
    buf_release(&expiry);
    return late;
}

struct str e2b_sign(void *arg, const struct req *r, struct buf *out)
{
    const struct e2b *f = arg;
    struct buf path = BUF_INIT(QUERY_MAX), user = BUF_INIT(256), expiry = BUF_INIT(32);
    struct str key = {0};
    uint64_t until = 0;
    if (f->token && !e2b_is_late(r) && req_query(r, "path", &path) >= 0 &&
        req_query(r, "username", &user) >= 0 && read_expiry(r, &expiry, &until) == 0) {
        bool reads = !str_eq(req_method(r), STR("POST")); /* or HEAD */
        sign(f, buf_str(&path), reads ? "read" : "write", buf_str(&user),
             buf_str(&expiry), out);
        key = str_of(f->token);
    }
    buf_release(&path);
    buf_release(&user);
    buf_release(&expiry);
    return key;
}
