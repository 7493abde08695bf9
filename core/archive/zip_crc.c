/* SPDX-License-Identifier: MIT */
/* The CRC that zlib's gzip streams ask for, in place of its crc32.c: base/crc.h's. */
#include "base/crc.h"

#include <zlib.h>

uLong crc32(uLong crc, const Bytef *p, uInt n)
{
    return p ? crc_add((uint32_t)crc, str_n(p, n)) : 0;
}
