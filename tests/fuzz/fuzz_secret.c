/* SPDX-License-Identifier: MIT */
/*
 * Requests of programs that use a secret: what is passed on is one request, for the host
 * that was connected to, as a strict reader reads it; and bytes in two pieces become what
 * they become in one.
 */
#include "base/log.h"
#include "secret/swap.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct swap swaps[] = {{STR("HOLDER"), STR("s c/%+")}};

static void try_head(struct str in)
{
    static struct http_head h, again;
    struct http_error bad;
    struct buf out = BUF_INIT(4 * HTTP_HEAD_MAX);
    const char *why = NULL;
    size_t used;
    struct secret_head s = {.host = STR("a.test"), .port = 443, .v = swaps, .n = 1};
    if (http_parse_head(in, &h, &used, &bad) != 1)
        return;
    int status = secret_head(&s, &h, &out, &why);
    BUG_ON(status && !why);
    if (status == 0 && out.n <= HTTP_HEAD_MAX) {
        int r = http_parse_head(buf_str(&out), &again, &used, &bad);
        /* A line that grew may be over a limit: the host decides about that. */
        BUG_ON(r != 1 && bad.status != 414 && bad.status != 431);
        BUG_ON(r == 1 && (used != out.n || again.length != h.length ||
                          again.chunked != h.chunked || again.host.n != h.host.n));
        BUG_ON(r == 1 && http_field(&again, "Upgrade").p);
    }
    buf_release(&out);
}

static void try_bytes(struct str in)
{
    enum { MOST = 4096 };
    char whole[MOST], parts[MOST];
    size_t n = in.n < MOST ? in.n : MOST, at = n ? (unsigned char)in.p[0] % n : 0;
    memcpy(whole, in.p, n);
    memcpy(parts, in.p, n);
    BUG_ON(swap_bytes(swaps, 1, whole, n, true) != n);
    size_t done = swap_bytes(swaps, 1, parts, at, false);
    BUG_ON(done > at || at - done >= swaps[0].from.n);
    BUG_ON(swap_bytes(swaps, 1, parts + done, n - done, true) != n - done);
    BUG_ON(memcmp(whole, parts, n) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    try_head(str_n(data, n));
    try_bytes(str_n(data, n));
    return 0;
}
