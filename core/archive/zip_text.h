/* SPDX-License-Identifier: MIT */
/* A text that was compressed by gzip (RFC 1952), in memory. */
#ifndef OD_ARCHIVE_ZIP_TEXT_H
#define OD_ARCHIVE_ZIP_TEXT_H

#include "base/buf.h"

/* Appends it, whole. -1: damaged, or out is full; what was appended is the beginning. */
int zip_text(struct buf *out, struct str gz);

#endif
