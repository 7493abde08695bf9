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

/* NULL: the pattern is not known, which does not mean invalid, or is very large. */
struct automaton *automaton_new(struct str pattern, bool ignore_case);
void automaton_free(struct automaton *a);

/*
 * Offset of a byte of the next line that matches, or text.n. text is whole lines, and
 * `from` the beginning of one. The byte may be the newline that ends the line.
 */
size_t automaton_find(struct automaton *a, struct str text, size_t from);
/* Whether every line of ASCII that is found matches. */
bool automaton_is_exact(const struct automaton *a);

/*
 * The longest text known to be in every line that matches; empty: none. With *fold it is
 * in lower case, and lines may have it in either. Valid as long as the automaton.
 */
struct str automaton_literal(const struct automaton *a, bool *fold);

#endif
