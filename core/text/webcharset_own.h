/* SPDX-License-Identifier: MIT */
/*
 * Bytes from 128 on in the character sets of one byte (Encoding standard, 9);
 * 0xFFFD: there is none. Those up to 159 are controls of their own number in the first
 * sets, and have a table in the others. For webcharset.c only, in webcharset_tables.c.
 */
#ifndef OD_TEXT_WEBCHARSET_OWN_H
#define OD_TEXT_WEBCHARSET_OWN_H

#include <stdint.h>

enum {
    WEBCHARSETS = 26,
    WEBCHARSETS_PLAIN = 12 /* sets without a table of their own for 128 to 159 */
};

struct webcharset {
    char name[14];
    uint16_t high[96]; /* of 160 and up */
};

extern const struct webcharset webcharsets[WEBCHARSETS];
extern const uint16_t webcharsets_low[WEBCHARSETS - WEBCHARSETS_PLAIN][32];

#endif
