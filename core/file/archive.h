/* SPDX-License-Identifier: MIT */
/*
 * Packs a folder into a zip archive, and unpacks one into a folder: each in a job,
 * whose memory does not depend on the amount of data.
 *
 * The loop owns the returned job (io/job.h): job_cancel ends it without `done`,
 * job_pause and job_resume hold its bytes. NULL and *e: nothing was started.
 */
#ifndef OD_FILE_ARCHIVE_H
#define OD_FILE_ARCHIVE_H

#include "archive/zip.h"
#include "io/job.h"

struct archive_result {
    struct err err;        /* ERR_NONE: it worked */
    uint64_t files, bytes; /* packed or unpacked, the bytes before or after packing */
    struct str warnings;   /* a line for each omitted entry, with the reason */
    unsigned warnings_n;   /* their number; the text has the first 64 KiB */
};

/* Returns how many bytes it took; if not all, job_resume goes on. */
typedef size_t archive_data_fn(void *arg, struct str bytes);
typedef void archive_done_fn(void *arg, const struct archive_result *r);

struct archive_zip_spec {
    const char *path;
    int level;    /* 0: stored; else deflated, except compressed formats */
    bool folders; /* entries for folders too; without, empty ones are lost */
};

/*
 * Packs all files below the folder at path, by names relative to it; or a single file by
 * its name. Links to files are stored as their targets, links to folders are not
 * followed; pipes, sockets, devices and the kernel's file systems (/proc, /sys) are
 * left out silently. A file that cannot be read or has vanished is a warning. A
 * file that grows meanwhile is cut at the size it had.
 */
struct job *archive_zip(struct loop *l, const struct archive_zip_spec *spec,
                        archive_data_fn *data, archive_done_fn *done, void *arg,
                        struct err *e);

struct archive_unzip_spec {
    int fd;          /* the archive, seekable; may be closed after the call */
    const char *dir; /* exists */
    uid_t uid;       /* owner of the new files; (uid_t)-1: the process's */
    gid_t gid;
    bool modes;  /* give files the permissions of the archive, but no set-id bits */
    bool strict; /* names that lead out and links are errors, as below */
    struct zip_limits limits;
};

/*
 * Unpacks every entry below dir, whatever its name: `..` and leading slashes are
 * dropped, and a link becomes a file with the link's text (as in Python's zipfile).
 * Existing links are never followed: a file replaces one, and in place of a folder
 * one is an error. Existing files are replaced, each in one step.
 *
 * On an error, which names the entry, files written before stay, but never half
 * of a file: each is first written under another name, in a folder in dir
 * (".od-unzip-…") that is removed at the end, after a cancel too. The folder
 * stays only if the server itself is killed meanwhile.
 */
struct job *archive_unzip(struct loop *l, const struct archive_unzip_spec *spec,
                          archive_done_fn *done, void *arg, struct err *e);

/* Gets the progress of either job; it is updated every 4 MiB or 256 files. */
void archive_progress(const struct job *j, uint64_t *files, uint64_t *bytes);

#endif
