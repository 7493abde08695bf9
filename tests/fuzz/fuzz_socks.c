/* SPDX-License-Identifier: MIT */
/*
 * A client of SOCKS 5: greeting and request are the same whether they come at once or
 * byte by byte, take no more than there is, and leave a host that can be printed.
 */
#include "base/log.h"
#include "http/socks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct heard {
    int rc;
    size_t used;
    bool open;
    struct socks_request request;
};

static struct heard hear(struct str in)
{
    struct heard h = {0};
    struct str rest;
    size_t more = 0;
    h.rc = socks_greeting(in, &h.used, &h.open);
    if (h.rc <= 0)
        return h;
    BUG_ON(h.used > in.n || h.used > SOCKS_GREETING_MAX);
    rest = str_sub(in, h.used, in.n);
    h.rc = socks_request(rest, &more, &h.request);
    BUG_ON(h.rc > 0 && more > rest.n);
    if (h.rc > 0 && h.request.refusal == SOCKS_OK)
        BUG_ON(more > SOCKS_REQUEST_MAX || !h.request.host[0] || !h.request.port);
    for (const char *c = h.request.host; *c; c++)
        BUG_ON(*c <= ' ' || *c >= 0x7F);
    h.used += more;
    return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str in = str_n(data, n);
    struct heard all = hear(in), part = {0};
    for (size_t i = 0; i <= n && part.rc == 0; i++)
        part = hear(str_sub(in, 0, i));
    BUG_ON(part.rc != all.rc || part.open != all.open);
    BUG_ON(part.request.port != all.request.port);
    BUG_ON(part.request.refusal != all.request.refusal);
    BUG_ON(strcmp(part.request.host, all.request.host) != 0);
    return 0;
}
