/* SPDX-License-Identifier: MIT */
/*
 * JSON read in place: for messages of megabytes of which only a part is wanted. A tree
 * of them would take several times their size.
 *
 * A value is a slice of the text, without blanks around it. The text is checked only as
 * far as it takes to keep slices within it: a text that is not JSON gives some slices,
 * then none. Names of members are compared as written, with their escapes.
 */
#ifndef OD_BASE_JSONTEXT_H
#define OD_BASE_JSONTEXT_H

#include "base/buf.h"

/* Is s one JSON value of at most JSONTEXT_DEPTH levels? UTF-8 is not checked. */
enum { JSONTEXT_DEPTH = 512 };
bool jsontext_valid(struct str s);
/* The text between the brackets of an object or an array; "" for other values. */
struct str jsontext_inside(struct str value);
/* Cuts the next item of an array off its inside; false: none is left. */
bool jsontext_item(struct str *inside, struct str *value);
/* The same for the next member of an object; the name is without its quotes. */
bool jsontext_member(struct str *inside, struct str *name, struct str *value);
/* The first member of that name; p is NULL if there is none. */
struct str jsontext_get(struct str object, struct str name);
/*
 * Appends the text of a string, with escapes decoded and invalid UTF-8 repaired. Returns
 * 0, or -1 if value is not a string or out is full.
 */
int jsontext_string(struct buf *out, struct str value);
/* The text of a string without escapes, a slice of value; "" for anything else. */
struct str jsontext_plain(struct str value);
/* A number, truncated to an integer; dflt if value is not a number, or is beyond 2^53. */
int64_t jsontext_int(struct str value, int64_t dflt);
double jsontext_num(struct str value, double dflt);

#endif
