/* SPDX-License-Identifier: MIT */
/* Deflated bytes outside an archive: streams of PDF files. */
#ifndef OD_ARCHIVE_ZIP_INFLATE_H
#define OD_ARCHIVE_ZIP_INFLATE_H

#include "base/buf.h"

/*
 * Appends the unpacked bytes of a zlib stream (RFC 1950); one with a damaged head is
 * taken as raw deflate (RFC 1951). Returns 0 if it is whole; 1 if it is damaged or cut
 * off, and out has the bytes before that; -1 if out is full, or there is no memory.
 */
int zip_inflate(struct str packed, struct buf *out);

#endif
