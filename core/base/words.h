/* SPDX-License-Identifier: MIT */
/* Text as the words of a command line, as a shell splits it, and as one such word. */
#ifndef OD_BASE_WORDS_H
#define OD_BASE_WORDS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/*
 * Splits text at blanks and newlines. Single quotes, double quotes and backslashes
 * mean what they mean in a POSIX shell; every other character, `$` and `*` too, stands
 * for itself. Returns a NULL-terminated array of *n words, which the caller frees with
 * words_free. Returns NULL and sets *e if a quote is not closed, if the text ends in a
 * backslash, or if it has more than WORDS_MAX words.
 */
enum { WORDS_MAX = 4096 };
char **words_split(struct str text, int *n, struct err *e);
/* Accepts NULL. */
void words_free(char **words);

/* Appends s in single quotes, as one word for any shell. Returns -1 if it has no room. */
int words_quote(struct buf *out, struct str s);

#endif
