/* SPDX-License-Identifier: MIT */
/*
 * What the files of fileact share. All of it but the table runs in the helper, which may
 * block.
 *
 *   fileact.c         the table of verbs, the parent's side
 *   fileact_look.c    arguments, paths, stat, list
 *   fileact_tree.c    trees that are copied and removed
 *   fileact_change.c  mkdir, move, copy, remove, chmod
 *   fileact_stage.c   what is made next to its place
 *   fileact_pack.c    archive and extract
 *   fileact_tar.c     of those: tar, both ways
 *   fileact_watch.c   watch
 *   fileact_content.c send, receive, received
 */
#ifndef OD_FILE_FILEACT_OWN_H
#define OD_FILE_FILEACT_OWN_H

#include "file/fileact.h"

#include <limits.h>
#include <sys/stat.h>

enum {
    FA_BLOCK = 128 << 10,
    FA_RATIO_FREE = 64 << 20,
    FA_DEPTH = 200 /* folders below each other: two descriptors each */
};

/*
 * The note of a helper that there are files to be swept away; others are
 * a letter, as archive_own.h has them: W is a warning.
 */
#define FA_STAGED "staged"

/* A call, in the helper. */
struct fa {
    const struct job_child *c;
    const struct fileact_spec *q;
    struct buf out; /* the result: members of an object, without braces */
    uint64_t files, bytes;
    char part[PATH_MAX], whole[PATH_MAX]; /* of fa_stage; "": nothing is staged */
    char block[FA_BLOCK];
};

typedef int fa_fn(struct fa *f, struct err *e);
fa_fn fa_stat, fa_list, fa_mkdir, fa_move, fa_copy, fa_remove, fa_chmod, fa_archive,
    fa_extract, fa_watch, fa_send, fa_receive,
    fa_received;

/* ---- fileact_look.c ---- */

struct str fa_str(const struct fa *f, const char *name, const char *dflt);
bool fa_bool(const struct fa *f, const char *name);
/* A number of at least 1; dflt where none was given. */
int64_t fa_int(const struct fa *f, const char *name, int64_t dflt);
bool fa_has(const struct fa *f, const char *name);
/* The path that an argument has, absolute. Returns -1 and sets *e. */
int fa_path(const struct fa *f, const char *name, char out[PATH_MAX], struct err *e);
/* Something was left out: the result will report it. */
void fa_warn(const struct fa *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* "cannot VERB PATH: why", a long path cut; -1. */
int fa_fail(struct err *e, int errnum, const char *verb, const char *path);
/* "NAME":"…" and, if its text is not its bytes, ,"NAME_base64":"…". */
int fa_put_path(struct buf *out, const char *name, struct str path);
/* The names in a folder, sorted by their bytes. Takes fd. -1: e; path is for that. */
struct fa_names {
    char **v; /* owned, as are the names */
    size_t n;
};
int fa_names(struct fa_names *l, int fd, const char *path, struct err *e);
void fa_names_free(struct fa_names *l);

/* ---- fileact_tree.c ---- */

/*
 * Removes what is there, with all below it; it counts to f->files. Not across file
 * systems, and nothing that is a link's is followed.
 */
int fa_remove_tree(struct fa *f, const char *path, struct err *e);
/* A copy, which is not there yet: files, folders and links, with modes and times. */
int fa_copy_tree(struct fa *f, const char *from, const char *to, struct err *e);
int fa_write_all(int fd, struct str bytes);

/* ---- fileact_stage.c ---- */

struct fa_stage {
    char part[PATH_MAX];  /* what is being made */
    char whole[PATH_MAX]; /* an empty file: part is whole, or in its place already */
    enum { STAGE_NEW, STAGE_WHOLE, STAGE_PLACED } state;
};
/* In the folder dir. With f->q->again, what there is of it; a part of it is removed. */
int fa_stage(struct fa *f, struct fa_stage *s, const char *dir, struct err *e);
/* The same in the folder of path, which need not exist. */
int fa_stage_beside(struct fa *f, struct fa_stage *s, const char *path, struct err *e);
/* What is there is whole. */
int fa_stage_whole(struct fa_stage *s, struct err *e);
/* Puts part at path in one step. */
int fa_place(const char *part, const char *path, bool overwrite, struct err *e);
/* The same; errno, or 0. And the sentence for that; -1. */
int fa_try_place(const char *part, const char *path, bool overwrite);
int fa_no_place(int why, const char *path, bool overwrite, struct err *e);

/* ---- fileact_pack.c ---- */

enum fa_format { FA_ZIP, FA_TAR, FA_TGZ, FA_NO_FORMAT };
enum fa_format fa_format_of(struct str word); /* "zip", "tar", "tar.gz" */

/* ---- fileact_tar.c ---- */

/* All below the folder, or the file, that is open as fd, to out. skip: left out. */
int fa_tar_write(struct fa *f, int fd, const char *path, int out, bool gzip,
                 const struct stat *skip, struct err *e);
/* What an archive may unpack to; a ratio counts from FA_RATIO_FREE bytes on, 0: any. */
struct fa_limits {
    uint64_t files, bytes, ratio;
};
/* -1: e, this many bytes are too many of so many packed ones. */
int fa_check_size(const struct fa_limits *l, uint64_t bytes, uint64_t packed,
                  struct err *e);
/* What is in the archive to the folder that is open as dir, and empty. */
int fa_tar_read(struct fa *f, int in, bool gzip, int dir, const struct fa_limits *l,
                struct err *e);

#endif
