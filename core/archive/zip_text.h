/* SPDX-License-Identifier: MIT */
/* A text that was compressed by gzip (RFC 1952), in memory. */
#ifndef OD_ARCHIVE_ZIP_TEXT_H
#define OD_ARCHIVE_ZIP_TEXT_H

#include "base/buf.h"

/* Appends the text. -1: damaged, or out is full, and only the beginning is in out. */
int zip_text(struct buf *out, struct str gz);

#endif
