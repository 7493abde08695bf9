/* SPDX-License-Identifier: MIT */
/*
 * Which lines of a text may a regular expression match? A finite automaton that is
 * built while it runs: time is proportional to the text, whatever the pattern, and
 * an order of magnitude below what a backtracking matcher takes.
 *
 * It knows a part of pcre2's language (pcre2pattern(3)) and answers for a superset of
 * it: a line that it leaves out does not match. What it cannot say exactly, it says
 * so: look around, \b, back references, and characters beyond ASCII, which are
 * bytes here. Then, or with a pattern it does not know, the matcher itself decides.
 */
#ifndef OD_TEXT_AUTOMATON_H
#define OD_TEXT_AUTOMATON_H

#include "base/buf.h"

struct automaton;

/* NULL: a pattern, valid or not, that it does not know, or a very large one. */
struct automaton *automaton_new(struct str pattern, bool ignore_case);
void automaton_free(struct automaton *a);

/*
 * In text, whole lines: a byte of the next line that matches, or text.n. `from` is
 * at the beginning of a line. What is found may be the newline that ends the line.
 */
size_t automaton_find(struct automaton *a, struct str text, size_t from);
/* No line of ASCII is found that does not match. */
bool automaton_is_exact(const struct automaton *a);

/*
 * The longest text that every line has which matches, in either case with *fold, in
 * lower case then; empty: none is known. Valid as long as the automaton.
 */
struct str automaton_literal(const struct automaton *a, bool *fold);

#endif
