/* SPDX-License-Identifier: MIT */
/*
 * East Asian character sets of one and two bytes, as the Encoding standard names
 * them; and the numbers (CID) that Adobe's collections give to their characters, which
 * PDF files use. The tables are musl's, compressed in the program.
 */
#ifndef OD_TEXT_CHARSET_H
#define OD_TEXT_CHARSET_H

#include "base/str.h"

enum charset {
    CHARSET_GBK,
    CHARSET_BIG5,
    CHARSET_SHIFT_JIS,
    CHARSET_EUC_JP,
    CHARSET_EUC_KR
};

struct charset_tables;

/* Unpacks them: 100 KB, a millisecond. Returns NULL if there is no memory. */
struct charset_tables *charset_open(void);
void charset_close(struct charset_tables *t); /* NULL is fine */

/*
 * Reads the first character of s, which is not empty. Returns its length (1 to 4 bytes)
 * and sets *c to its code point, 0 if it is unknown. A byte that begins no character, or
 * one that the end cuts off, counts as 1 byte. Four-byte codes of gb18030 are unknown.
 */
size_t charset_next(const struct charset_tables *t, enum charset set, struct str s,
                    uint32_t *c);

/* Returns Adobe's collection for an Ordering of CIDSystemInfo; -1: another. */
int charset_collection(struct str ordering);
/*
 * Returns the character with this number in a collection; 0: unknown. Known are ASCII
 * and the characters of the national standards (GB 2312, Big5, JIS X 0208, KS X 1001).
 */
uint32_t charset_of_cid(const struct charset_tables *t, int collection, uint32_t cid);

#endif
