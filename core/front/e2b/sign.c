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

static bool is_files(const struct req *r)
{
    const struct http_head *h = req_head(r);
    struct str m = req_method(r);
    return str_eq(h->path, STR("/files")) &&
           (str_eq(m, STR("GET")) || str_eq(m, STR("POST")));
}

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

enum e2b_signed e2b_signed(const struct e2b *f, const struct req *r)
{
    struct buf given = BUF_INIT(256), path = BUF_INIT(QUERY_MAX), user = BUF_INIT(256);
    struct buf expiry = BUF_INIT(32), own = BUF_INIT(64);
    enum e2b_signed is = E2B_SIGNED_WRONG;
    uint64_t until = 0;
    if (!is_files(r))
        return E2B_SIGNED_NONE;
    int got = req_query(r, "signature", &given);
    if (got == 0 || !f->token) {
        is = E2B_SIGNED_NOT;
    } else if (got > 0 && req_query(r, "path", &path) >= 0 &&
               req_query(r, "username", &user) >= 0 &&
               req_query(r, "signature_expiration", &expiry) >= 0 &&
               (expiry.n == 0 || str_to_u64(buf_str(&expiry), &until) == 0)) {
        bool get = str_eq(req_method(r), STR("GET"));
        sign(f, buf_str(&path), get ? "read" : "write", buf_str(&user), buf_str(&expiry),
             &own);
        bool same = given.n == own.n && hash_equal(given.p, own.p, own.n);
        bool late = expiry.n > 0 && until < (uint64_t)(clock_wall_ms() / 1000);
        is = !same ? E2B_SIGNED_WRONG : late ? E2B_SIGNED_LATE : E2B_SIGNED_RIGHT;
    }
    buf_release(&given);
    buf_release(&path);
    buf_release(&user);
    buf_release(&expiry);
    buf_release(&own);
    return is;
}
