/* SPDX-License-Identifier: MIT */
/*
 * Files and folders that are made next to their place, and moved there when complete.
 *
 *   .od-TOKEN        a part, or all of it
 *   .od-TOKEN.whole  an empty file: .od-TOKEN is complete
 *
 *   neither, or the first only    not complete: it is made again
 *   both                          complete: it is moved to its place
 *   the second only               it is in its place
 *
 * The second is removed when the call has ended (fileact.c).
 */
#include "file/fileact_own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NO_REPLACE = 1 }; /* RENAME_NOREPLACE of linux/fs.h */

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

int fa_stage(struct fa *f, struct fa_stage *s, const char *dir, struct err *e)
{
    const char *slash = strcmp(dir, "/") == 0 ? "" : "/";
    if (snprintf(s->part, PATH_MAX, "%s%s.od-%s", dir, slash, f->q->token) >= PATH_MAX ||
        snprintf(s->whole, PATH_MAX, "%.*s.whole", PATH_MAX - 10, s->part) >=
            PATH_MAX - 10)
        return err_set(e, ERR_INVALID,
                       "the path %.200s… is too long for a temporary file next to it",
                       dir);
    job_note(f->c, STR(FA_STAGED));
    snprintf(f->part, PATH_MAX, "%s", s->part);
    snprintf(f->whole, PATH_MAX, "%s", s->whole);
    s->state = STAGE_NEW;
    if (!f->q->resumed)
        return 0;
    if (is_there(s->whole)) {
        s->state = is_there(s->part) ? STAGE_WHOLE : STAGE_PLACED;
        return 0;
    }
    return is_there(s->part) ? fa_remove_tree(f, s->part, e) : 0;
}

int fa_stage_beside(struct fa *f, struct fa_stage *s, const char *path, struct err *e)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof(dir), "%s", path);
    char *slash = strrchr(dir, '/');
    slash[slash == dir] = 0;
    return fa_stage(f, s, dir, e);
}

int fa_stage_whole(struct fa_stage *s, struct err *e)
{
    int fd = open(s->whole, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fa_fail(e, errno, "write beside", s->part);
    close(fd);
    return 0;
}

int fa_try_place(const char *part, const char *path, bool overwrite)
{
    long rc = overwrite
                  ? rename(part, path)
                  : syscall(SYS_renameat2, AT_FDCWD, part, AT_FDCWD, path, NO_REPLACE);
    /* A file system that does not know the flag; here the look and the step are two. */
    if (rc < 0 && !overwrite && (errno == EINVAL || errno == ENOSYS))
        rc = is_there(path) ? (errno = EEXIST, -1) : rename(part, path);
    return rc < 0 ? errno : 0;
}

int fa_no_place(int why, const char *path, bool overwrite, struct err *e)
{
    if (why == EEXIST || why == ENOTEMPTY)
        return err_set(e, ERR_EXISTS, "cannot make %.200s: %s", path,
                       overwrite ? "a folder that is not empty exists already; "
                                   "remove it first"
                                 : "there is something already; ask for overwrite");
    return fa_fail(e, why, "make", path);
}

int fa_place(const char *part, const char *path, bool overwrite, struct err *e)
{
    int why = fa_try_place(part, path, overwrite);
    return why ? fa_no_place(why, path, overwrite, e) : 0;
}
