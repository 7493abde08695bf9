/* SPDX-License-Identifier: MIT */
/* Log messages about a backend that is tried repeatedly. */
#ifndef OD_FRONT_BACKEND_WORDS_H
#define OD_FRONT_BACKEND_WORDS_H

#include <stdbool.h>

/*
 * Whether two messages are the same except for their numbers: times and addresses change
 * with each try.
 */
bool backend_same_words(const char *a, const char *b);

#endif
