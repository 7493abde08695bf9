/* SPDX-License-Identifier: MIT */
/* Addresses of 16 bytes, IPv4 as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2). */
#ifndef OD_REACH_ADDRESS_H
#define OD_REACH_ADDRESS_H

#include <stdbool.h>
#include <string.h>

enum { ADDRESS_MAPPED = 12 }; /* bytes before those of an IPv4 address */

static inline void address_map(unsigned char out[16])
{
    memset(out, 0, 10);
    memset(out + 10, 0xff, 2);
}

static inline bool address_is_ipv4(const unsigned char a[16])
{
    unsigned char start[16];
    address_map(start);
    return memcmp(a, start, ADDRESS_MAPPED) == 0;
}

/* four: 4 bytes in network order */
static inline void address_of_ipv4(unsigned char out[16], const void *four)
{
    address_map(out);
    memcpy(out + ADDRESS_MAPPED, four, 4);
}

#endif
