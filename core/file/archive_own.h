/* SPDX-License-Identifier: MIT */
/* Shared by the parent and both children of archive.h. */
#ifndef OD_FILE_ARCHIVE_OWN_H
#define OD_FILE_ARCHIVE_OWN_H

#include "file/archive.h"

#include <sys/stat.h>

enum {
    ARCHIVE_BLOCK = 128 << 10,
    ARCHIVE_PATH = 0, /* the child's descriptors: file or folder, */
    ARCHIVE_FILE = 1, /* and the archive to be unpacked */
    ARCHIVE_TOKEN = 16
};

/* A child's counters. Notes are a letter and what it stands for. */
struct archive_count {
    const struct job_child *child;
    uint64_t files, bytes, told_files, told_bytes;
};

/* Adds, and notifies the parent when it is time, or at once. */
void archive_tell(struct archive_count *c, uint64_t files, uint64_t bytes, bool now);
void archive_warn(struct archive_count *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

struct archive_zip_job {
    int level;
    bool folders;
    struct stat st;
    struct stat skip; /* a file that is left out: the archive itself; st_ino 0: none */
    char name[256];   /* of a single file */
};

struct archive_unzip_job {
    struct archive_unzip_spec spec;
    char token[ARCHIVE_TOKEN + 1]; /* makes the names of temporary files ours */
};

/* In the child. */
job_fn archive_zip_child, archive_unzip_child;
/* In the parent, after the child has ended: removes what a killed child left in dir. */
void archive_unzip_clean(int dir, const char *token);

#endif
