/* SPDX-License-Identifier: MIT */
/* A text of this program's own, which build/ compressed by gzip (RFC 1952). */
#ifndef OD_ARCHIVE_ZIP_TEXT_H
#define OD_ARCHIVE_ZIP_TEXT_H

#include "base/buf.h"

/* Appends the text, for which out must have room. Aborts without memory, as xalloc.h
 * does: its size is ours. */
void zip_text(struct buf *out, struct str gz);

#endif
