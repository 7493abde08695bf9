/* SPDX-License-Identifier: MIT */
/*
 * Many small pieces of bytes, each packed by itself as raw deflate (RFC 1951) at the
 * fastest level. The library's state, 270 KB, is made once and used for all of them.
 */
#ifndef OD_ARCHIVE_ZIP_PRESS_H
#define OD_ARCHIVE_ZIP_PRESS_H

#include "base/str.h"

struct zip_press;

struct zip_press *zip_press_new(void);    /* aborts without memory */
void zip_press_free(struct zip_press *z); /* NULL is fine */
/* Packs to at most n bytes at out. Returns how many; 0 if they do not fit. */
size_t zip_press_pack(struct zip_press *z, struct str bytes, void *out, size_t n);
/* Unpacks to exactly n bytes at out. Returns 0, or -1 if the bytes are damaged. */
int zip_press_unpack(struct zip_press *z, struct str packed, void *out, size_t n);

#endif
