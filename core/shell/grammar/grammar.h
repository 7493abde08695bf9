/* SPDX-License-Identifier: MIT */
/*
 * How many commands a text for bash has: V0 refuses more than one complete
 * command at top level, unless the text has something that the parser of the
 * original server does not know.
 *
 * A scanner of bash's grammar, not of its meaning: quotes, expansions, here
 * documents, compound commands. What separates is a newline at top level;
 * `;`, `&`, `&&`, `|` and whatever is inside of a compound command do not.
 * Comments count for nothing. Linear in time, no memory, at most
 * V0_SCAN_DEPTH constructs in one another.
 */
#ifndef OD_SHELL_GRAMMAR_GRAMMAR_H
#define OD_SHELL_GRAMMAR_GRAMMAR_H

#include "base/str.h"

#define V0_SCAN_DEPTH 256

/*
 * A command with the blanks and comments behind it; the first one also has
 * those before it. One after the other, pieces are the whole text.
 */
struct v0_piece {
    struct str text; /* borrowed from the scanned text */
};

/*
 * The number of commands, at least 1: an empty text is one empty command, and
 * a text that does not parse, or is nested too deeply, is one as it is. The
 * first `max` pieces are written to out; when there are more, the last one
 * written ends where its successor begins.
 */
size_t v0_scan(struct str text, struct v0_piece *out, size_t max);

/*
 * Names the first construct in the text that the parser of the original server does
 * not know, or returns NULL if it knows all of them. The original server runs a text
 * that its parser does not know as one command. The name is a static string.
 */
const char *v0_scan_beyond(struct str text);

/*
 * Whether a bash that is typed this text asks for more lines: a here document, a
 * quote, a substitution, a compound command or a function without its end, and
 * nothing behind &&, ||, | or a backslash. Not when a newline behind the text
 * completes it, and not when it is wrong already (`fi`, `echo )`), whatever follows.
 */
bool v0_scan_open(struct str text);

/* Whether only the lines of a here document are missing, and all of them are. */
bool v0_scan_lacks_document(struct str text);

#endif
