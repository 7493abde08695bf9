/* SPDX-License-Identifier: MIT */
/* Numbers of the format, for reader and writer: APPNOTE.TXT 4.3 and 4.4. */
#ifndef OD_ARCHIVE_ZIP_OWN_H
#define OD_ARCHIVE_ZIP_OWN_H

#include <stdint.h>

enum {
    ZIP_LOCAL = 0x04034b50,      /* 4.3.7 */
    ZIP_DESCRIPTOR = 0x08074b50, /* 4.3.9.3 */
    ZIP_CENTRAL = 0x02014b50,    /* 4.3.12 */
    ZIP_END = 0x06054b50,        /* 4.3.16 */
    ZIP_END64 = 0x06064b50,      /* 4.3.14 */
    ZIP_LOCATOR64 = 0x07064b50,  /* 4.3.15 */

    ZIP_LOCAL_SIZE = 30,
    ZIP_CENTRAL_SIZE = 46,
    ZIP_END_SIZE = 22,
    ZIP_END64_SIZE = 56,
    ZIP_LOCATOR64_SIZE = 20,

    /* 4.4.4 */
    ZIP_FLAG_ENCRYPTED = 1 << 0,
    ZIP_FLAG_DESCRIPTOR = 1 << 3,
    ZIP_FLAG_STRONG = 1 << 6,
    ZIP_FLAG_UTF8 = 1 << 11,
    ZIP_FLAG_MASKED = 1 << 13,

    /* 4.4.5 */
    ZIP_STORED = 0,
    ZIP_DEFLATED = 8,

    ZIP_EXTRA_64 = 0x0001,   /* 4.5.3 */
    ZIP_EXTRA_TIME = 0x5455, /* "UT" of Info-ZIP, 4.6.1 */

    ZIP_UNIX = 3 /* 4.4.2 */
};

#define ZIP_IN_16 0xffffu
#define ZIP_IN_32 0xffffffffu /* stands for "see the zip64 field", 4.4.8 */

static inline uint16_t zip_get16(const void *at)
{
    const uint8_t *p = at;
    return (uint16_t)(p[0] | p[1] << 8);
}
static inline uint32_t zip_get32(const void *at)
{
    const uint8_t *p = at;
    return zip_get16(p) | (uint32_t)zip_get16(p + 2) << 16;
}
static inline uint64_t zip_get64(const void *at)
{
    const uint8_t *p = at;
    return zip_get32(p) | (uint64_t)zip_get32(p + 4) << 32;
}

#endif
