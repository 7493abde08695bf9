/* SPDX-License-Identifier: MIT */
/*
 * Search in many bytes, sixteen at a time: for a text by its two rarest bytes, and for
 * the number of times a byte occurs. Made for files: faster than musl's memmem.
 */
#ifndef OD_BASE_SCAN_H
#define OD_BASE_SCAN_H

#include "base/str.h"

struct scan {
    struct str text; /* borrowed */
    bool fold;       /* letters of ASCII in either case */
    size_t first, second;
};

/* text, at least one byte, is borrowed as long as the scan is used. */
void scan_init(struct scan *s, struct str text, bool fold);
/* Offset of the first occurrence at or after from, or -1. */
long scan_find(const struct scan *s, struct str hay, size_t from);
/* Whether two texts of equal length are equal; fold: letters of ASCII in either case. */
bool scan_same(struct str a, struct str b, bool fold);
/* How often byte occurs. */
size_t scan_count(struct str hay, char byte);
/*
 * Length of the beginning of s that a JSON string has unescaped, one byte a character:
 * ASCII without control characters, quotes and backslashes (RFC 8259 §7).
 */
size_t scan_unescaped(struct str s);
/* Offset at which the line with the byte `at` begins: 0, or after a newline. */
size_t line_start_of(struct str text, size_t at);
/* Offset at which that line ends: of its newline, or the end of text. */
size_t line_end_of(struct str text, size_t at);
/* Whether some byte is above 127. */
bool scan_has_high(struct str text);

#endif
