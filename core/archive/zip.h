/* SPDX-License-Identifier: MIT */
/*
 * Zip archives: PKWARE's APPNOTE.TXT 6.3.10, whose sections are cited.
 *
 * The writer needs no seeking and keeps only the records of the files
 * for the central directory: an entry's size and checksum follow its bytes
 * (4.3.9). The reader is for untrusted archives in a seekable file: it
 * follows the central directory, and local headers must agree with it.
 * Both are blocking and meant for a job's child.
 */
#ifndef OD_ARCHIVE_ZIP_H
#define OD_ARCHIVE_ZIP_H

#include "base/err.h"
#include "base/str.h"

#include <sys/types.h>

enum { ZIP_NAME_MAX = 4096 };

/* ---- writing ---- */

struct zip_writer;

/* Takes all bytes. Returns 0, or -1 and sets *e. */
typedef int zip_put_fn(void *arg, struct str bytes, struct err *e);

struct zip_meta {
    struct str name; /* relative, with slashes; a folder's ends in one */
    mode_t mode;     /* as of stat */
    int64_t mtime;   /* seconds since 1970 */
    uint64_t size;   /* as expected; an entry of 4 GiB or more needs it */
    int level;       /* 0: stored; 1 to 9: deflated */
};

/*
 * spill: a file (the caller's, open for reading and writing) for the records of
 * the central directory, 60 to 100 bytes and a name each, once they exceed 256 KiB.
 * -1: they stay in memory, and more than 64 MiB of them are an error.
 */
struct zip_writer *zip_writer_new(zip_put_fn *put, void *arg, int spill);
void zip_writer_free(struct zip_writer *w); /* NULL is fine */
/*
 * Write an entry: begin, any number of adds, end; a folder has no adds. Each returns
 * 0, or -1 and sets *e; after that only zip_writer_free is allowed.
 */
int zip_begin(struct zip_writer *w, const struct zip_meta *m, struct err *e);
int zip_add(struct zip_writer *w, struct str bytes, struct err *e);
int zip_end(struct zip_writer *w, struct err *e);
/* Writes the central directory. */
int zip_finish(struct zip_writer *w, struct err *e);

/* ---- reading ---- */

struct zip_reader;

struct zip_limits {
    uint64_t entries; /* 0: LIMIT_ZIP_ENTRIES */
    uint64_t total;   /* bytes of all files unpacked; 0: LIMIT_ZIP_TOTAL_MIB */
    uint64_t ratio;   /* to one; counts from LIMIT_ZIP_FREE_MIB on; 0: LIMIT_ZIP_RATIO */
};

struct zip_entry {
    struct str name; /* holds until the next zip_next; not empty, no NUL in it */
    uint64_t size, packed, offset;
    int64_t mtime;
    uint32_t crc;
    mode_t mode; /* 0: it was not made on Unix */
    uint16_t method, flags;
    bool folder; /* the name ends in a slash */
};

/* Borrows fd, and uses pread only. Returns NULL and sets *e if it is not a zip file, or
 * damaged. */
struct zip_reader *zip_open(int fd, const struct zip_limits *limits, struct err *e);
void zip_close(struct zip_reader *r); /* NULL is fine */
uint64_t zip_count(const struct zip_reader *r);
/* Reads the next record of the central directory. Returns 1; 0 after the last; -1 and
 * sets *e. */
int zip_next(struct zip_reader *r, struct zip_entry *entry, struct err *e);
/*
 * Read the entry of the last zip_next. begin returns -1 and sets *e if the entry is
 * encrypted, shares bytes with another, or has a method other than stored and deflate.
 * read returns the number of bytes; 0 after the last, if size and checksum are right; -1
 * and sets *e.
 */
int zip_read_begin(struct zip_reader *r, struct err *e);
ssize_t zip_read(struct zip_reader *r, void *p, size_t n, struct err *e);

#endif
