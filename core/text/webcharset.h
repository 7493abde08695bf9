/* SPDX-License-Identifier: MIT */
/* Pages to UTF-8: the Encoding standard, and HTML 13.2.3. */
#ifndef OD_TEXT_WEBCHARSET_H
#define OD_TEXT_WEBCHARSET_H

#include "base/buf.h"

/*
 * Appends bytes as UTF-8. Their character set is that of a byte order mark, else of
 * header (of Content-Type; may be empty), else if html of a meta element within the first
 * KiB, else UTF-8 if they are valid, else windows-1252. Known are UTF-8, UTF-16, the sets
 * of one byte and those of charset.h. Returns 0; -1 if out is full; 1 if the set is not
 * known: its name is in unknown, and bytes that are not ASCII or UTF-8 became U+FFFD.
 */
int webcharset_read(struct str bytes, struct str header, bool html, struct buf *out,
                    char unknown[40]);

#endif
