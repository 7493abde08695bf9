/* SPDX-License-Identifier: MIT */
/* The log's sentences about a backend that is tried again and again. */
#ifndef OD_FRONT_BACKEND_WORDS_H
#define OD_FRONT_BACKEND_WORDS_H

#include <stdbool.h>

/*
 * Are these the same except for their numbers? Times and addresses change with each try.
 */
bool backend_same_words(const char *a, const char *b);

#endif
