/* SPDX-License-Identifier: MIT */
/*
 * Which lines of a text have a match: fixed strings, and regular expressions of pcre2
 * (pcre2pattern(3)). A line is looked at by itself, so nothing matches across two.
 *
 * Characters are UTF-8; for an expression, bytes that are not are U+FFFD, as they are
 * shown. Classes like \w are those of ASCII. A pattern that takes too many steps is an
 * error, soon, and no hang.
 */
#ifndef OD_TEXT_PATTERN_H
#define OD_TEXT_PATTERN_H

#include "base/err.h"
#include "base/str.h"

enum { PATTERN_MAX = 64 << 10 };

struct pattern;

/* text is copied. NULL: INVALID (where, and why), or LIMIT: too long or too large. */
struct pattern *pattern_new(struct str text, bool fixed, bool ignore_case, struct err *e);
void pattern_free(struct pattern *p);

/*
 * In text, whole lines: the next one that matches, at or behind from, which is the
 * beginning of one. 1: *line, without its newline; 0: none; -1: e, LIMIT.
 */
int pattern_next(struct pattern *p, struct str text, size_t from, struct str *line,
                 struct err *e);

#endif
