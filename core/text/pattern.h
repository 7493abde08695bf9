/* SPDX-License-Identifier: MIT */
/*
 * Finds the lines of a text that match a fixed string, or a regular expression of pcre2
 * (pcre2pattern(3)). Each line is matched by itself, so no match spans two. A pattern of
 * pattern_new_across finds matches in a text, also over several lines.
 *
 * Characters are UTF-8; for an expression, invalid bytes are U+FFFD, as in output.
 * Classes like \w have ASCII only. A pattern that takes too many steps is an error,
 * after a tenth of a second per line.
 */
#ifndef OD_TEXT_PATTERN_H
#define OD_TEXT_PATTERN_H

#include "base/err.h"
#include "base/str.h"

enum { PATTERN_MAX = 64 << 10 };

struct pattern;

/* Unpacks pcre2's tables of characters, 127 KiB, once in a process. Making an expression
 * does it; it is for tests, which call pcre2 themselves. */
void pattern_tables(void);

/* text is copied. Returns NULL and sets *e: INVALID (where, and why), or LIMIT: too long
 * or too large. */
struct pattern *pattern_new(struct str text, bool fixed, bool ignore_case, struct err *e);
void pattern_free(struct pattern *p);

/*
 * Finds the next line that matches, from `from` on. text is whole lines, and `from` the
 * beginning of one. Returns 1 and sets *line, without its newline; 0 if there is none; -1
 * and sets *e: LIMIT.
 */
int pattern_next(struct pattern *p, struct str text, size_t from, struct str *line,
                 struct err *e);

/*
 * Makes an expression for pattern_find: `.` also matches a newline, and classes like \w
 * have Unicode's characters, as in Python's re with DOTALL. text is copied. Returns NULL
 * and sets *e as pattern_new.
 */
struct pattern *pattern_new_across(struct str text, struct err *e);
/*
 * Finds the first match in text, which is valid UTF-8, from `from` on. Returns 1 and sets
 * *match, which may be empty; 0 if there is none; -1 and sets *e: LIMIT, too many steps.
 */
int pattern_find(struct pattern *p, struct str text, size_t from, struct str *match,
                 struct err *e);

#endif
