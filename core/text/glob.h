/* SPDX-License-Identifier: MIT */
/*
 * Shell patterns for paths, as gitignore(5) has them: * and ? are of one part of a
 * path, a part that is ** is any number of parts, [a-z], [!a-z] and [[:alpha:]] are one
 * character, \ takes the next one literally. Characters are UTF-8; an invalid byte is a
 * character of its own. Time is at most length times length, for any pattern.
 */
#ifndef OD_TEXT_GLOB_H
#define OD_TEXT_GLOB_H

#include "base/buf.h"
#include "base/err.h"

/* Whether pattern matches the whole path, which has no leading slash. */
bool glob_match(struct str pattern, struct str path);
/* Whether pattern has none of * ? [ { and \. */
bool glob_is_plain(struct str pattern);

enum { GLOB_PATTERN_MAX = 4096, GLOB_ALTERNATIVES_MAX = 256 };

/*
 * Appends the patterns that a pattern with alternatives, {a,b{c,d}}, stands for, each
 * ended by a zero byte. A brace that is not closed is literal. Returns -1 and sets *e:
 * INVALID, or LIMIT.
 */
int glob_expand(struct str pattern, struct buf *out, struct err *e);

#endif
