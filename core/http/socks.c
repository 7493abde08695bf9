/* SPDX-License-Identifier: MIT */
/* SOCKS 5: what comes and what is answered. */
#include "http/socks.h"

#include <arpa/inet.h>
#include <netinet/in.h>

enum { VERSION = 5, CONNECT = 1, IPV4 = 1, NAME = 3, IPV6 = 4, HEAD = 4, PORT = 2 };

static unsigned byte(struct str in, size_t at) { return (unsigned char)in.p[at]; }

int socks_greeting(struct str in, size_t *used, bool *open)
{
    if (in.n >= 1 && byte(in, 0) != VERSION)
        return -1;
    if (in.n < 2 || in.n < 2 + byte(in, 1))
        return 0;
    *used = 2 + byte(in, 1);
    *open = str_chr(str_sub(in, 2, byte(in, 1)), '\0') >= 0;
    return 1;
}

/*
 * Whether it may be a name or an address: no character that a resolver or a log cannot
 * take.
 */
static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (byte(s, i) <= ' ' || byte(s, i) >= 0x7F)
            return false;
    }
    return s.n > 0;
}

/*
 * Returns the bytes of the address after HEAD; 0 if not known yet; -1 for an unknown
 * type.
 */
static int address_size(struct str in)
{
    switch (byte(in, 3)) {
    case IPV4:
        return 4;
    case IPV6:
        return 16;
    case NAME:
        return in.n > HEAD ? 1 + (int)byte(in, HEAD) : 0;
    default:
        return -1;
    }
}

static void take_host(struct str address, unsigned type, struct socks_request *out)
{
    struct str name = str_sub(address, 1, address.n);
    if (type == IPV4)
        inet_ntop(AF_INET, address.p, out->host, sizeof(out->host));
    else if (type == IPV6)
        inet_ntop(AF_INET6, address.p, out->host, sizeof(out->host));
    else if (is_name(name))
        memcpy(out->host, name.p, name.n);
    else
        out->refusal = SOCKS_HOSTUNREACH;
}

int socks_request(struct str in, size_t *used, struct socks_request *out)
{
    *out = (struct socks_request){.refusal = SOCKS_OK};
    if (in.n >= 1 && byte(in, 0) != VERSION)
        return -1;
    if (in.n < HEAD)
        return 0;
    int size = address_size(in);
    if (size < 0) { /* where it ends is not known: nothing can follow it */
        out->refusal = SOCKS_NO_ADDRESS_TYPE;
        *used = in.n;
        return 1;
    }
    if (size == 0 || in.n < HEAD + (size_t)size + PORT)
        return 0;
    *used = HEAD + (size_t)size + PORT;
    out->port = (uint16_t)(byte(in, *used - 2) << 8 | byte(in, *used - 1));
    if (byte(in, 1) != CONNECT)
        out->refusal = SOCKS_NO_COMMAND;
    else if (out->port == 0)
        out->refusal = SOCKS_REFUSED;
    else
        take_host(str_sub(in, HEAD, (size_t)size), byte(in, 3), out);
    return 1;
}

int socks_choose(struct buf *out, bool open)
{
    const char answer[] = {VERSION, open ? 0 : (char)0xFF};
    return buf_add(out, answer, sizeof(answer));
}

/* Without our own address, which is not needed. */
int socks_answer(struct buf *out, enum socks_reply reply)
{
    const char answer[] = {VERSION, (char)reply, 0, IPV4, 0, 0, 0, 0, 0, 0};
    return buf_add(out, answer, sizeof(answer));
}
