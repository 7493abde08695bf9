/* SPDX-License-Identifier: MIT */
/* Lists of denied addresses. */
#include "net/denied.h"

#include <arpa/inet.h>
#include <netinet/in.h>

enum { MAPPED_BITS = 96 };

/* All addresses that are not public (the special-purpose registries of RFC 6890). */
#define LOCAL \
    "0.0.0.0/8,10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,169.254.0.0/16,172.16.0.0/12," \
    "192.0.0.0/24,192.168.0.0/16,198.18.0.0/15,224.0.0.0/4,240.0.0.0/4,::/128,::1/128," \
    "64:ff9b::/96,64:ff9b:1::/48,fc00::/7,fe80::/10,fec0::/10,ff00::/8"

/* ---- reading ---- */

static void map_v4(unsigned char out[16], const void *v4)
{
    memset(out, 0, 10);
    memset(out + 10, 0xFF, 2);
    memmove(out + 12, v4, 4);
}

/* bits: those before the part that the length counts. */
static bool to_bytes(const char *text, unsigned char out[16], unsigned *bits)
{
    struct in_addr v4;
    *bits = 0;
    if (inet_pton(AF_INET, text, &v4) != 1)
        return inet_pton(AF_INET6, text, out) == 1;
    map_v4(out, &v4);
    *bits = MAPPED_BITS;
    return true;
}

static int add_one(struct denied *d, struct str text, struct err *e)
{
    char host[64] = "";
    struct str rest = text, name = str_trim(str_cut(&rest, '/'));
    struct denied_net *net = &d->nets[d->n];
    bool has_length = memchr(text.p, '/', text.n) != NULL;
    unsigned base;
    uint64_t bits;
    if (name.n < sizeof(host))
        memcpy(host, name.p, name.n);
    if (d->n == DENIED_MAX)
        return err_set(e, ERR_LIMIT, "cannot deny more than %d networks", DENIED_MAX);
    if (strlen(host) != name.n || !to_bytes(host, net->bytes, &base))
        return err_set(
            e, ERR_INVALID,
            "cannot deny \"%.*s\": expected networks as 10.0.0.0/8 or ::1 with "
            "commas between them, or \"local\"",
            name.n < 60 ? (int)name.n : 60, name.p);
    net->bits = 128;
    if (has_length) {
        if (str_to_u64(str_trim(rest), &bits) < 0 || bits + base > 128)
            return err_set(
                e, ERR_INVALID,
                "cannot deny %s/%.*s: that is not the length of a network prefix", host,
                rest.n < 9 ? (int)rest.n : 9, rest.p);
        net->bits = base + (unsigned)bits;
    }
    d->n++;
    return 0;
}

int denied_parse(struct denied *d, struct str text, struct err *e)
{
    while (text.n) {
        struct str one = str_trim(str_cut(&text, ','));
        int rc = one.n == 0                  ? 0
                 : str_eq(one, STR("local")) ? denied_parse(d, STR(LOCAL), e)
                                             : add_one(d, one, e);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* ---- judging ---- */

static bool is_within(const struct denied_net *n, const unsigned char a[16])
{
    unsigned whole = n->bits / 8, rest = n->bits % 8;
    if (memcmp(n->bytes, a, whole) != 0)
        return false;
    return rest == 0 || (n->bytes[whole] ^ a[whole]) >> (8 - rest) == 0;
}

static bool has(const struct denied *d, const unsigned char a[16])
{
    for (unsigned i = 0; i < d->n; i++) {
        if (is_within(&d->nets[i], a))
            return true;
    }
    return false;
}

/* The address that the kernel, or a translator in the network, uses for it. */
static void resolve_alias(unsigned char a[16])
{
    static const unsigned char nat64[12] = {0, 0x64, 0xFF, 0x9B}, zero[16];
    const unsigned char loopback[4] = {127, 0, 0, 1};
    unsigned char any[16];
    if (memcmp(a, nat64, sizeof(nat64)) == 0)
        map_v4(a, a + 12);
    map_v4(any, zero);
    if (memcmp(a, any, 16) == 0)
        map_v4(a, loopback);
    else if (memcmp(a, zero, 16) == 0)
        a[15] = 1;
}

bool denied_has(const struct denied *d, const struct sockaddr *sa)
{
    unsigned char a[16];
    if (sa->sa_family == AF_INET)
        map_v4(a, &((const struct sockaddr_in *)sa)->sin_addr);
    else if (sa->sa_family == AF_INET6)
        memcpy(a, &((const struct sockaddr_in6 *)sa)->sin6_addr, 16);
    else
        return false;
    if (has(d, a))
        return true;
    resolve_alias(a);
    return has(d, a);
}
