/* SPDX-License-Identifier: MIT */
/*
 * Writing tar archives: ustar (POSIX.1-2017, pax, "ustar Interchange Format"),
 * with a pax header before an entry whose name, link, size, numbers or time do
 * not fit. The same entries give the same bytes. The output is written in one pass.
 */
#ifndef OD_ARCHIVE_TAR_WRITE_H
#define OD_ARCHIVE_TAR_WRITE_H

#include "archive/tar_read.h"
#include "base/buf.h"

/*
 * Appends the header of an entry, of x->name, link, type, size, mode, uid, gid,
 * mtime, major and minor. The name of a folder gets its slash. The caller adds
 * x->size bytes of data, then tar_padding(x->size) zeroes. Returns -1 and sets *e if
 * out is full (and unchanged; 4 KiB and twice the names are enough), or a name is
 * empty, has a NUL or more than TAR_NAME_MAX bytes.
 */
int tar_add_header(struct buf *out, const struct tar_entry *x, struct err *e);
static inline unsigned tar_padding(uint64_t size)
{
    return (unsigned)(-size % TAR_BLOCK);
}
/* Appends header, data and padding of a file that is in memory. */
int tar_add_file(struct buf *out, const struct tar_entry *x, struct str data,
                 struct err *e);
/* Appends the two blocks at the end. */
int tar_add_end(struct buf *out, struct err *e);

#endif
