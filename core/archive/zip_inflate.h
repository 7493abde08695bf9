/* SPDX-License-Identifier: MIT */
/* Deflated bytes outside an archive: streams of PDF files. */
#ifndef OD_ARCHIVE_ZIP_INFLATE_H
#define OD_ARCHIVE_ZIP_INFLATE_H

#include "base/buf.h"

/*
 * Appends what a zlib stream (RFC 1950) unpacks to; one with a damaged head is
 * taken as raw deflate (RFC 1951). 0: whole; 1: damaged or cut off, and out has the
 * bytes before that; -1: out is full, or no memory.
 */
int zip_inflate(struct str packed, struct buf *out);

#endif
