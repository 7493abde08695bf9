/* SPDX-License-Identifier: MIT */
/*
 * Finding bytes in many bytes, sixteen at a time: a text by its two rarest bytes,
 * and how often a byte occurs. Made for files: faster than a libc's memmem.
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
/* The same without a preparation of its own; two texts of equal length. */
bool scan_same(struct str a, struct str b, bool fold);
size_t scan_count(struct str hay, char byte);
/*
 * Bytes at the beginning that stand in a JSON string for themselves, and each for a
 * character: of ASCII, no control character, no quote, no backslash (RFC 8259 §7).
 */
size_t scan_unescaped(struct str s);
/* Where the line begins that has the byte at `at`: 0, or behind a newline. */
size_t line_start_of(struct str text, size_t at);
/* Where it ends: at a newline, or at the end. */
size_t line_end_of(struct str text, size_t at);
/* Some byte is above 127. */
bool scan_has_high(struct str text);

#endif
