/* SPDX-License-Identifier: MIT */
/* The bytes that a terminal sends for a key named as in tmux. A pure function. */
#ifndef OD_TERM_TERMKEY_H
#define OD_TERM_TERMKEY_H

#include "base/str.h"

#include <stdbool.h>

enum { TERMKEY_MAX = 16 };

/*
 * Writes the bytes of the key to out, which has TERMKEY_MAX. A name is a character or
 * one of Enter, Tab, Up, F1 and so on, in any case, after any of the prefixes C- (or
 * ^), M- and S-. application: the program has switched the cursor keys (DECCKM).
 * Returns the number of bytes, or 0 if the name is not that of a key; a character
 * without C- or M- is text, not a key.
 */
size_t termkey(char out[TERMKEY_MAX], struct str name, bool application);

#endif
