/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 at the edge. Terminal output is bytes; it becomes valid UTF-8 here and
 * nowhere else (RFC 3629: no surrogates, nothing above U+10FFFF, shortest form).
 */
#ifndef OD_BASE_UTF8_H
#define OD_BASE_UTF8_H

#include "base/buf.h"

#include <stdint.h>

/*
 * Decodes one character at s. Returns its length 1..4 and sets *cp; 0 when s
 * is a valid but unfinished beginning; -1 when the first byte cannot begin or
 * continue a character (then skip utf8_bad(s) bytes).
 */
int utf8_decode(struct str s, uint32_t *cp);
/*
 * Where utf8_decode returned 0 or -1: how many bytes at s one U+FFFD replaces
 * (The Unicode Standard's maximal subpart): 3 of a character of 4 make one.
 */
size_t utf8_bad(struct str s);
/* Writes 1..4 bytes; cp must be a Unicode scalar value. */
int utf8_encode(uint32_t cp, char out[4]);
bool utf8_valid(struct str s);
/*
 * Appends s with every maximal invalid part replaced by U+FFFD. -1: out full.
 * With drop_zero, a NUL becomes U+FFFD too (cJSON cuts a string at one).
 */
int utf8_repair(struct buf *out, struct str s, bool drop_zero);
/*
 * The largest n' <= n at which s can be cut without splitting a character. An
 * unfinished one at the end of s counts, so that a reader of pieces can keep
 * utf8_cut(s, s.n) bytes and hold the rest back for the next piece.
 */
size_t utf8_cut(struct str s, size_t n);
/* Columns on a terminal: 0 for combining, 2 for wide, 1 otherwise. */
int utf8_width(uint32_t cp);

#endif
