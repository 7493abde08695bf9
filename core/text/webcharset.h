/* SPDX-License-Identifier: MIT */
/* Pages to UTF-8: the Encoding standard, and HTML 13.2.3. */
#ifndef OD_TEXT_WEBCHARSET_H
#define OD_TEXT_WEBCHARSET_H

#include "base/buf.h"

/*
 * Appends bytes as UTF-8. Their character set is what a byte order mark says, else
 * header (of Content-Type; may be empty), else if html a meta element within the first
 * KiB, else UTF-8 if they are valid, else windows-1252. Known are UTF-8, UTF-16, the sets
 * of one byte and those of charset.h. Returns 0; 1: the set is not known, its name is in
 * unknown, and bytes that are neither ASCII nor UTF-8 became U+FFFD; -1: out is full.
 */
int webcharset_read(struct str bytes, struct str header, bool html, struct buf *out,
                    char unknown[40]);

#endif
