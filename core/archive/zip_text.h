/* SPDX-License-Identifier: MIT */
/* A text that was compressed by gzip (RFC 1952), in memory. */
#ifndef OD_ARCHIVE_ZIP_TEXT_H
#define OD_ARCHIVE_ZIP_TEXT_H

#include "base/buf.h"

/* Appends the text. Returns -1 if it is damaged, or out is full; out then has only the
 * beginning. */
int zip_text(struct buf *out, struct str gz);

#endif
