/* SPDX-License-Identifier: MIT */
/*
 * Extended attributes of a file, and with them its ACLs, as one text: for each, sorted by
 * name, the lengths of name and value (2 and 4 bytes, low byte first), name and value.
 * Labels of security modules are the system's and are left out.
 */
#ifndef OD_CHECKPOINT_XATTR_H
#define OD_CHECKPOINT_XATTR_H

#include "base/buf.h"

enum { XATTR_MAX = 256 << 10 }; /* bytes of all of a file */

/*
 * Appends those of the file at fd; path_only: fd is an O_PATH one. Returns 0, also where
 * there are none or the file system has none; -1 with errno.
 */
int xattr_read(int fd, bool path_only, struct buf *out);
/*
 * Appends one; those of security modules are left out. Returns -1 if name or value are
 * none that a file can have, or out is full.
 */
int xattr_add(struct buf *out, struct str name, struct str value);
/* Cuts the next one off. Returns 1; 0 at the end; -1 if the text is damaged. */
int xattr_next(struct str *rest, struct str *name, struct str *value);
/*
 * Makes those of the file at fd, an O_PATH one, the wanted ones. Returns 0, or -1 with
 * errno if some could not be set or removed.
 */
int xattr_write(int fd, struct str wanted);

#endif
