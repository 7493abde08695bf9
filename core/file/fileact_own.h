/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of fileact. All of it except the table runs in the helper, which
 * may block.
 *
 *   fileact.c         the table of verbs, the parent's side
 *   fileact_list.c    arguments, paths, stat, list
 *   fileact_tree.c    trees that are copied and removed
 *   fileact_change.c  mkdir, move, copy, remove, chmod
 *   fileact_join.c    join
 *   fileact_stage.c   files that are made next to their place
 *   fileact_pack.c    archive and extract
 *   fileact_tar.c     of those: tar, both ways
 *   fileact_watch.c   watch
 *   fileact_content.c send
 *   fileact_receive.c receive, receive_all, received
 *   fileact_folders.c folders
 *   fileact_snapshot.c snapshot
 */
#ifndef OD_FILE_FILEACT_OWN_H
#define OD_FILE_FILEACT_OWN_H

#include "file/fileact.h"

#include <limits.h>
#include <sys/stat.h>

enum {
    FA_BLOCK = 128 << 10,
    FA_PIPE = 1 << 20, /* of pipes that bytes of files go through */
    FA_RATIO_FREE = 64 << 20,
    FA_DEPTH = 200 /* folders below each other: two descriptors each */
};

/*
 * The note of a helper that there are files to be removed; other notes are a letter, as
 * in archive_own.h: W is a warning.
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
fa_fn fa_stat, fa_list, fa_mkdir, fa_move, fa_copy, fa_remove, fa_replace, fa_join,
    fa_chmod, fa_archive, fa_extract, fa_watch, fa_send, fa_send_lines, fa_receive,
    fa_receive_all, fa_received, fa_folders, fa_snapshot;

/* ---- fileact_list.c ---- */

struct str fa_str(const struct fa *f, const char *name, const char *dflt);
bool fa_bool(const struct fa *f, const char *name);
/* Returns a number of at least 1; dflt if none was given. */
int64_t fa_int(const struct fa *f, const char *name, int64_t dflt);
bool fa_has(const struct fa *f, const char *name);
/*
 * Gets the path in an argument, made absolute. With a root it becomes "./NAME", and the
 * helper changes to its folder, so that one call can use only one path. Returns -1 and
 * sets *e.
 */
int fa_path(const struct fa *f, const char *name, char out[PATH_MAX], struct err *e);
/* The same for a path that is given; name is for errors. */
int fa_path_of(const struct fa *f, const char *name, struct str given, char out[PATH_MAX],
               struct err *e);
/* Adds a warning to the result: something was left out. */
void fa_warn(const struct fa *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Sets *e to "cannot VERB PATH: why", with a long path cut. Returns -1. */
int fa_fail(struct err *e, int errnum, const char *verb, const char *path);
/* Appends "NAME":"…" and, if its bytes are not valid text, ,"NAME_base64":"…". */
int fa_put_path(struct buf *out, const char *name, struct str path);
/* Appends "path":…, and the result of stat with full. Returns -1 if it does not exist. */
int fa_put_entry(struct buf *out, const char *path);
/* Makes the missing parent folders of a path, by the umask. Returns -1 and sets *e. */
int fa_parents(const char *path, struct err *e);
/*
 * Gives a file, or a link's target, to the arguments owner and group, names or numbers,
 * if they are given; path begins in dir. Returns -1 and sets *e: INVALID if there is no
 * such name.
 */
int fa_give(const struct fa *f, int dir, const char *path, struct err *e);
/* The same with an open file; path is for errors. */
int fa_give_file(const struct fa *f, int fd, const char *path, struct err *e);
/* The names in a folder, sorted by bytes. fa_names takes fd; on error it returns -1 and
 * sets *e, which names path. */
struct fa_names {
    char **v; /* owned, as are the names */
    size_t n;
};
int fa_names(struct fa_names *l, int fd, const char *path, struct err *e);
void fa_names_free(struct fa_names *l);

/* ---- fileact_tree.c ---- */

/*
 * Removes the file or the whole tree at path, and adds to f->files. Does not cross file
 * systems, and follows no links.
 */
int fa_remove_tree(struct fa *f, const char *path, struct err *e);
/* Copies to a new place: files, folders and links, with modes and times. */
int fa_copy_tree(struct fa *f, const char *from, const char *to, struct err *e);

/* ---- fileact_content.c ---- */

/*
 * Moves up to most bytes, through memory if splice(2) does not work. Returns how many; 0
 * at the end; -1 with errno.
 */
ssize_t fa_move_bytes(struct fa *f, int from, int to, uint64_t most, bool *by_memory);

/* ---- fileact_stage.c ---- */

struct fa_stage {
    char part[PATH_MAX];  /* being made */
    char whole[PATH_MAX]; /* an empty file: part is complete, or already in its place */
    enum { STAGE_NEW, STAGE_WHOLE, STAGE_PLACED } state;
};
/* Stages in the folder dir. With f->q->resumed finds its state, or removes a torn part.
 */
int fa_stage(struct fa *f, struct fa_stage *s, const char *dir, struct err *e);
/* The same in the folder of path, which need not exist. */
int fa_stage_beside(struct fa *f, struct fa_stage *s, const char *path, struct err *e);
/* Marks the part as complete. */
int fa_stage_whole(struct fa_stage *s, struct err *e);
/* Puts part at path in one step. */
int fa_place(const char *part, const char *path, bool overwrite, struct err *e);
/* fa_try_place does the same and returns errno or 0; fa_no_place sets *e for it. */
int fa_try_place(const char *part, const char *path, bool overwrite);
int fa_no_place(int why, const char *path, bool overwrite, struct err *e);

/* ---- fileact_pack.c ---- */

enum fa_format { FA_ZIP, FA_TAR, FA_TGZ, FA_NO_FORMAT };
enum fa_format fa_format_of(struct str word); /* "zip", "tar", "tar.gz" */

/* ---- fileact_tar.c ---- */

struct ignore; /* text/ignore.h */
/* How the tar differs from the whole tree. */
struct fa_tar_rules {
    const struct stat *skip;     /* a file that is left out; NULL: none */
    const char *root;            /* a folder that all names begin with; NULL: none */
    const struct ignore *ignore; /* patterns of omitted files; NULL: none */
    bool no_links;               /* symbolic links are left out */
    /* Files of .git folders that may hold a secret are left out: configuration,
     * credentials, fetched addresses, logs. */
    bool no_secrets;
    /* Called after the last entry: appends to out; may be NULL. */
    int (*last)(struct fa *f, const struct fa_tar_rules *r, struct buf *out,
                struct err *e);
};
/* Writes the file, or everything below the folder, that is open as fd, to out. */
int fa_tar_write(struct fa *f, int fd, const char *path, int out, bool gzip,
                 const struct fa_tar_rules *rules, struct err *e);
/* How much an archive may unpack to; ratio counts from FA_RATIO_FREE bytes on, 0: any. */
struct fa_limits {
    uint64_t files, bytes, ratio;
};
/* Returns -1 and sets *e if bytes are too many for that many packed bytes. */
int fa_check_size(const struct fa_limits *l, uint64_t bytes, uint64_t packed,
                  struct err *e);
/* Unpacks the archive into the folder that is open as dir, and empty. */
int fa_tar_read(struct fa *f, int in, bool gzip, int dir, const struct fa_limits *l,
                struct err *e);

#endif
