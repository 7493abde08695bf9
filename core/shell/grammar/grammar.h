/* SPDX-License-Identifier: MIT */
/*
 * How many commands a text for bash has: V0 refuses more than one complete
 * command at top level, unless the text has something that the parser of the
 * original server does not know.
 *
 * A scanner of bash's grammar, not of its meaning: quotes, expansions, here
 * documents, compound commands. Only a newline at top level separates commands;
 * `;`, `&`, `&&`, `|` and newlines inside of a compound command do not. Comments
 * are no commands. Linear in time, no allocation, at most V0_SCAN_DEPTH nested
 * constructs.
 */
#ifndef OD_SHELL_GRAMMAR_GRAMMAR_H
#define OD_SHELL_GRAMMAR_GRAMMAR_H

#include "base/str.h"

#define V0_SCAN_DEPTH 256

/*
 * A command with the blanks and comments after it; the first piece also has those
 * before it. All pieces in a row are the whole text.
 */
struct v0_piece {
    struct str text; /* borrowed from the scanned text */
};

/*
 * Returns the number of commands, at least 1: a text that is empty, does not parse or is
 * nested too deeply counts as one command. The first `max` pieces are written to out.
 */
size_t v0_scan(struct str text, struct v0_piece *out, size_t max);

/*
 * Names the first construct in the text that the parser of the original server does
 * not know, or returns NULL if it knows all of them. The original server runs a text
 * that its parser does not know as one command. The name is a static string.
 */
const char *v0_scan_beyond(struct str text);

/*
 * Would bash ask for more lines after this text and a newline? Yes if a here document,
 * quote, substitution, compound command or function has no end, or the text ends in &&,
 * ||, | or a backslash. No if it is complete, or wrong already (`fi`, `echo )`).
 */
bool v0_scan_open(struct str text);

/* Are all lines of a here document missing, and nothing else? */
bool v0_scan_lacks_document(struct str text);

#endif
