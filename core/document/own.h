/* SPDX-License-Identifier: MIT */
/*
 * What the readers of documents share: each appends the text of one format. All of
 * them block, and run in a helper.
 */
#ifndef OD_DOCUMENT_OWN_H
#define OD_DOCUMENT_OWN_H

#include "base/arena.h"
#include "document/document.h"

/* ---- the formats: bytes of a file to text, appended ---- */

int docread_latex(struct str bytes, struct buf *out, struct err *e);
/* markdown: with marks of headings, and indented items. */
int docread_html(struct str bytes, bool markdown, struct buf *out, struct err *e);
int docread_rtf(struct str bytes, struct buf *out, struct err *e);
int docread_ipynb(struct str bytes, struct buf *out, struct err *e);
/*
 * Appends a row of a table in Markdown. cells is separated by tabs. first: appends the
 * line after it that makes it the table's head.
 */
int docread_row(struct buf *out, struct str cells, bool first);

/*
 * Finds a word in a table: "\1word\2what is known of it\1…\1". Returns what is known, up
 * to the next \1; the end of the table, which is "", if the word is not there.
 */
const char *docread_word(const char *table, struct str word);

/* Sets *e to "the text is longer than …". Returns -1. */
int docread_too_long(const struct buf *out, struct err *e);

#endif
