/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing whole files, and the errors of all operations on files, from which
 * a front-end can make its own messages:
 *
 *   NOTFOUND     no such file, or a part of the path is not a folder
 *   INVALID      it is a folder
 *   UNSUPPORTED  it is a pipe, a device or a socket: those are neither read nor written
 *   DENIED       not permitted, or a read-only file system
 *   LIMIT        larger than the caller's maximum; no space, quota
 *   IO           anything else
 *
 * The caller resolves paths. Nothing here waits for a pipe, a terminal or a
 * lock; a file system that hangs hangs the caller, so slow or large files belong in a
 * job (io/job.h).
 */
#ifndef OD_OS_FILE_H
#define OD_OS_FILE_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

/*
 * Appends the bytes of a regular file, at most max. A file whose size is 0, like those in
 * /proc, is read to its end or the maximum. Returns 0, or -1 with *e set and out
 * unchanged.
 */
int file_read(const char *path, size_t max, struct buf *out, struct err *e);
/*
 * Opens a file of our own in a folder where others may write: makes it, or takes the one
 * that is there if file_is_ours. flags: O_WRONLY or O_RDWR, O_TRUNC, O_EXCL. Never waits
 * for the reader of a pipe, and empties nothing that is not ours. Returns a descriptor,
 * which the caller closes; -1 with errno, EEXIST if something else is there.
 */
int file_make(int dir, const char *path, int flags, mode_t mode);
/* Is it a regular file of this user's, with one name? */
struct stat;
bool file_is_ours(const struct stat *st);
/* Writes all bytes, in as many calls as it takes. Returns 0, or -1 with errno. */
int file_write_all(int fd, struct str bytes);
/*
 * Has the disk give n bytes at this place of a file that has none there: by fallocate(2),
 * which leaves the size, or by zeros where the file system cannot. Returns 0, or -1 with
 * errno.
 */
int file_reserve(int fd, off_t at, size_t n);

/* Sets *e to "cannot VERB PATH: reason of errnum", code as above. Returns -1. */
int file_fail(struct err *e, int errnum, const char *verb, const char *path);
/* Returns 0 for a regular file, else -1 and sets *e, which names the kind of file. */
int file_check_kind(mode_t mode, const char *verb, const char *path, struct err *e);
/* Is an absolute path that of the folder, or below it? Both without links and "..". */
bool file_is_in(const char *path, const char *folder);
/* Whether the entry e of the folder fd is a folder, or a link to one. */
struct dirent;
bool file_entry_is_folder(int fd, const struct dirent *e);

/*
 * Makes a file without a place in the file system (memfd_create(2); name is for /proc)
 * and writes the text to it. Returns its descriptor, at offset 0, which the caller
 * closes; -1 with errno.
 */
int file_of_text(const char *name, struct str text);

#endif
