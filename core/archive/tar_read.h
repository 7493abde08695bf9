/* SPDX-License-Identifier: MIT */
/*
 * Reading untrusted tar archives, in one pass: ustar and pax (POSIX.1-2017,
 * pax, "ustar Interchange Format" and "pax Extended Header"), GNU's long names,
 * numbers in base 256 and old sparse headers (GNU tar manual, "Basic Tar
 * Format"), and the formats before them.
 *
 * Bytes come from a function, in pieces of any size. Blocking, and meant for a
 * job's child. Names are as the archive has them: the caller must handle
 * leading slashes and `..`.
 */
#ifndef OD_ARCHIVE_TAR_READ_H
#define OD_ARCHIVE_TAR_READ_H

#include "base/err.h"
#include "base/str.h"

#include <sys/types.h>

enum {
    TAR_BLOCK = 512,
    TAR_NAME_MAX = 4096,      /* bytes of a name or a link's target */
    TAR_RECORDS_MAX = 1 << 20 /* bytes of one pax header */
};

enum tar_type {
    TAR_FILE,
    TAR_HARD, /* another name of the file that `link` names */
    TAR_SYMLINK,
    TAR_CHAR,
    TAR_BLOCK_DEVICE,
    TAR_FOLDER,
    TAR_FIFO,
    TAR_OTHER /* a type of none of these documents; its bytes can be read */
};

struct tar_entry {
    struct str name,
        link; /* valid until the next call; terminated, no NUL in them, name not "" */
    enum tar_type type;
    bool sparse;     /* its bytes lack the holes: they cannot be read, only skipped */
    uint64_t size;   /* bytes of data; 0 for all but TAR_FILE and TAR_OTHER */
    uint64_t offset; /* of its data, from the archive's first byte */
    mode_t mode;     /* 07777 */
    uint64_t uid, gid;
    int64_t mtime; /* seconds since 1970 */
    unsigned major, minor;
    /*
     * Records of pax: read, all of its own header, valid until the next call; to be
     * written, further ones.
     */
    struct str records;
};

struct tar_source {
    /* Reads at most n bytes to p. Returns how many, 0 at the end, -1 with e. */
    ssize_t (*read)(void *arg, void *p, size_t n, struct err *e);
    /* Skips n bytes, which need not all exist. Returns 0, or -1 and sets *e. NULL: they
     * are read. */
    int (*skip)(void *arg, uint64_t n, struct err *e);
    void *arg;
};

struct tar_reader;

struct tar_reader *tar_reader_new(const struct tar_source *source); /* copies *source */
void tar_reader_free(struct tar_reader *r); /* NULL is fine */
/* Reads the next entry. Returns 1; 0 after the last; -1 and sets *e. */
int tar_next(struct tar_reader *r, struct tar_entry *x, struct err *e);
/* Reads the entry's data. Returns how many bytes; 0 at its end; -1 and sets *e. */
ssize_t tar_read(struct tar_reader *r, void *p, size_t n, struct err *e);
/* After the last entry: whether the archive marks its end, and is not cut off there. */
bool tar_is_whole(const struct tar_reader *r);
/* Cuts the next record of pax off. Returns 1; 0 at the end; -1 if it is damaged. */
int tar_record(struct str *records, struct str *key, struct str *value);

#endif
