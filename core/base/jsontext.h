/* SPDX-License-Identifier: MIT */
/*
 * JSON read where it lies: for messages of megabytes of which a part is wanted, and
 * which as a tree would take several times their size.
 *
 * A value is a slice of the text, without blanks around it. Nothing is checked beyond
 * what keeps a slice within the text: of a text that is no JSON some slices come, and
 * then no more. Members are compared by their bytes as written.
 */
#ifndef OD_BASE_JSONTEXT_H
#define OD_BASE_JSONTEXT_H

#include "base/buf.h"

/* Is s one JSON value of at most JSONTEXT_DEPTH levels? UTF-8 is not checked. */
enum { JSONTEXT_DEPTH = 512 };
bool jsontext_valid(struct str s);
/* What is between the brackets of an object or an array; of others nothing. */
struct str jsontext_inside(struct str value);
/* Takes the next item of an array from its inside; false: none is left. */
bool jsontext_item(struct str *inside, struct str *value);
/* The next member of an object; the name is without its quotes. */
bool jsontext_member(struct str *inside, struct str *name, struct str *value);
/* A member by name, the first of them; p NULL: there is none. */
struct str jsontext_get(struct str object, struct str name);
/*
 * Appends a string's text, escapes decoded, what is no UTF-8 repaired. 0; -1: it is no
 * string, or out is full.
 */
int jsontext_string(struct buf *out, struct str value);
/* A string without escapes, as it lies; else "". */
struct str jsontext_plain(struct str value);
/* A number, cut to what is whole; dflt: it is none, or beyond 2^53. */
int64_t jsontext_int(struct str value, int64_t dflt);
double jsontext_num(struct str value, double dflt);

#endif
