/* SPDX-License-Identifier: MIT */
/*
 * Which lines of a text may a regular expression match? A finite automaton that is
 * built while it runs: time is proportional to the text, whatever the pattern, and
 * an order of magnitude below what a backtracking matcher takes.
 *
 * It knows a part of pcre2's language (pcre2pattern(3)) and may find too many lines: a
 * line that it leaves out does not match. It is not exact (automaton_is_exact) for look
 * around, \b, back references, and characters beyond ASCII, which are bytes here. Then,
 * or with a pattern that it does not know, the matcher itself decides.
 */
#ifndef OD_TEXT_AUTOMATON_H
#define OD_TEXT_AUTOMATON_H

#include "base/buf.h"

struct automaton;

/* Returns NULL if the pattern is not known, though it may be valid, or very large. */
struct automaton *automaton_new(struct str pattern, bool ignore_case);
void automaton_free(struct automaton *a);

/*
 * Returns the offset of a byte of the next line that matches, or text.n. text is whole
 * lines, and `from` the beginning of one. The byte may be the newline of the line.
 */
size_t automaton_find(struct automaton *a, struct str text, size_t from);
/* Returns whether every found line matches, if it is ASCII. */
bool automaton_is_exact(const struct automaton *a);

/*
 * Returns the longest text known to be in every line that matches; empty if there is
 * none. With *fold it is in lower case, and lines may have it in either. Valid as long as
 * the automaton.
 */
struct str automaton_literal(const struct automaton *a, bool *fold);

#endif
