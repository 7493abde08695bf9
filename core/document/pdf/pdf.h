/* SPDX-License-Identifier: MIT */
/* PDF files as text, in reading order (ISO 32000-1:2008). */
#ifndef OD_DOCUMENT_PDF_PDF_H
#define OD_DOCUMENT_PDF_PDF_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/*
 * Appends the text of all pages of a file that is in memory, each after its mark;
 * markdown: marks are comments. Blocks, with memory and work bounded by
 * own.h: for helpers. Returns -1 with *e set and out unchanged: INVALID for
 * a damaged file, UNSUPPORTED for one that needs a password, LIMIT.
 */
int docread_pdf(struct str bytes, bool markdown, struct buf *out, struct err *e);

#endif
