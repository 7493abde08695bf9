/* SPDX-License-Identifier: MIT */
/*
 * Replacing a file. The new bytes go into .od-TOKEN in the same folder, get the
 * old file's mode, owner and attributes, and are renamed over it: one step, which
 * happens or does not. Where the new file cannot be made, or cannot have the old
 * one's owner, the old one is written instead (files.h says when).
 *
 * Everything is done below a descriptor of the folder, so that it does not
 * matter if the path means another one meanwhile.
 */
#include "base/clock.h"
#include "file/files.h"
#include "os/landlock.h"
#include "os/within.h"
#include "os/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* As the kernel follows at most. */
#define LINKS_MAX 40
/* Bytes of the copied names, and of one value: the maxima of Linux. */
#define ATTRS_MAX (64 << 10)

/* A file in a folder; all of it is owned. */
struct put_place {
    char path[PATH_MAX];     /* after symbolic links, for errors too */
    char name[NAME_MAX + 1]; /* its last part */
    char tmp[NAME_MAX + 1];  /* .od-TOKEN */
    int dir;                 /* the folder, O_PATH */
    int old;                 /* the file, open for writing; -1: none */
    struct stat st;          /* of old */
    bool exists;
};

/* ---- where it is ---- */

static int too_long(const char *path, struct err *e)
{
    return file_fail(e, ENAMETOOLONG, "write", path);
}

/* The bytes of the folder's part of a path, with its last slash. */
static size_t folder_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Follows the last part of p->path while it is a symbolic link. */
static int follow(struct put_place *p, struct err *e)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        char to[PATH_MAX];
        ssize_t n = readlink(p->path, to, sizeof(to));
        if (n < 0)
            return 0; /* no link, or nothing there */
        size_t keep = n > 0 && to[0] == '/' ? 0 : folder_part(p->path);
        if ((size_t)n >= sizeof(to) || keep + (size_t)n >= sizeof(p->path))
            return too_long(p->path, e);
        memcpy(p->path + keep, to, (size_t)n);
        p->path[keep + (size_t)n] = '\0';
    }
    return file_fail(e, ELOOP, "write", p->path);
}

/* Makes the folders of p->path that are missing. */
static int make_parents(struct put_place *p, struct err *e)
{
    for (char *c = strchr(p->path + 1, '/'); c; c = strchr(c + 1, '/')) {
        *c = '\0';
        int rc = mkdir(p->path, 0777), why = errno;
        /* For an existing folder, mkdir may fail for another reason than EEXIST. */
        struct stat st;
        if (rc < 0 && why != EEXIST && stat(p->path, &st) < 0)
            return file_fail(e, why, "make the folder", p->path);
        *c = '/';
    }
    return 0;
}

static bool is_token(const char *token)
{
    size_t n = 0;
    for (; token[n]; n++)
        if (n == FILES_TOKEN_MAX ||
            (!isalnum((unsigned char)token[n]) && token[n] != '-' && token[n] != '_'))
            return false;
    return n > 0;
}

static int name_tmp(struct put_place *p, const char *token, struct err *e)
{
    char chance[17];
    if (!token) {
        random_hex(chance, 16);
        token = chance;
    }
    if (!is_token(token))
        return err_set(e, ERR_INTERNAL, "cannot write %s: the token is not a file name",
                       p->path);
    snprintf(p->tmp, sizeof(p->tmp), ".od-%s", token);
    return 0;
}

/* The folder and the names; p->dir is open when it is 0. */
static int find(struct put_place *p, const char *path, const char *token, bool parents,
                struct err *e)
{
    size_t n = strlen(path);
    *p = (struct put_place){.dir = -1, .old = -1};
    if (n >= sizeof(p->path))
        return too_long(path, e);
    memcpy(p->path, path, n + 1);
    if (follow(p, e) < 0 || (parents && make_parents(p, e) < 0) ||
        name_tmp(p, token, e) < 0)
        return -1;
    size_t folder = folder_part(p->path);
    if (strlen(p->path + folder) >= sizeof(p->name))
        return too_long(p->path, e);
    memcpy(p->name, p->path + folder, strlen(p->path + folder) + 1);
    if (!p->name[0])
        return file_fail(e, *p->path ? EISDIR : ENOENT, "write", p->path);
    char rest = p->path[folder];
    p->path[folder] = '\0';
    p->dir = open(folder ? p->path : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    p->path[folder] = rest;
    return p->dir < 0 ? file_fail(e, errno, "write", p->path) : 0;
}

static void leave(struct put_place *p)
{
    if (p->dir >= 0)
        close(p->dir);
    if (p->old >= 0)
        close(p->old);
}

/*
 * Opens the file for writing, as a writer would: without that permission it is an error,
 * though the file could be replaced. A running program can only be replaced.
 */
static int open_old(struct put_place *p, struct err *e)
{
    if (fstatat(p->dir, p->name, &p->st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : file_fail(e, errno, "write", p->path);
    if (file_check_kind(p->st.st_mode, "write", p->path, e) < 0)
        return -1;
    p->exists = true;
    int flags = O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
    p->old = openat(p->dir, p->name, O_WRONLY | flags);
    if (p->old < 0 && errno == ETXTBSY) {
        p->old = openat(p->dir, p->name, O_RDONLY | flags);
        return 0;
    }
    if (p->old < 0 || fstat(p->old, &p->st) < 0)
        return file_fail(e, errno, "write", p->path);
    return file_check_kind(p->st.st_mode, "write", p->path, e);
}

/* ---- properties that are kept ---- */

static bool is_kept(const char *attribute)
{
    return strncmp(attribute, "user.", 5) == 0 ||
           strcmp(attribute, "system.posix_acl_access") == 0;
}

/* As far as the file system and our rights let us. */
static void copy_attributes(int from, int to)
{
    ssize_t n = from < 0 ? 0 : flistxattr(from, NULL, 0);
    if (n <= 0 || n > ATTRS_MAX)
        return;
    char *names = malloc(ATTRS_MAX), *value = malloc(ATTRS_MAX);
    n = names && value ? flistxattr(from, names, ATTRS_MAX) : 0;
    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1) {
        if (!is_kept(names + at))
            continue;
        ssize_t size = fgetxattr(from, names + at, value, ATTRS_MAX);
        if (size >= 0)
            fsetxattr(to, names + at, value, (size_t)size, 0);
    }
    free(names);
    free(value);
}

/* Returns -1 if the file cannot get the old one's owner. */
static int own_as_old(const struct put_place *p, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -1;
    if (st.st_uid == p->st.st_uid && st.st_gid == p->st.st_gid)
        return 0;
    return fchown(fd, p->st.st_uid, p->st.st_gid);
}

/* After the bytes: writing them takes a set-user-id bit away. */
static void dress(const struct put_place *p, struct files_put *put, int fd)
{
    if (fchmod(fd, p->exists ? p->st.st_mode & 07777 : put->mode) < 0)
        put->owner_errno = errno;
    if (p->exists)
        copy_attributes(p->old, fd);
}

/* ---- writing ---- */

/* Returns 0, or -1 with errno. */
static int write_at(int fd, struct str bytes, size_t offset)
{
    while (bytes.n > 0) {
        ssize_t n = pwrite(fd, bytes.p, bytes.n, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes = str_sub(bytes, (size_t)n, bytes.n);
        offset += (size_t)n;
    }
    return 0;
}

/*
 * Writes over the old file: first the part beyond its old length, because that may
 * find no room, and then nothing is lost.
 */
static int write_in_place(struct put_place *p, struct str bytes, bool sync, struct err *e)
{
    if (p->old < 0)
        return file_fail(e, ETXTBSY, "write", p->path);
    size_t had = (size_t)p->st.st_size;
    if (write_at(p->old, str_sub(bytes, had, bytes.n), had) < 0) {
        file_fail(e, errno, "write", p->path);
        if (ftruncate(p->old, (off_t)had) < 0)
            return file_fail(e, errno, "shorten again, after writing,", p->path);
        return -1;
    }
    if (write_at(p->old, str_sub(bytes, 0, had), 0) < 0 ||
        ftruncate(p->old, (off_t)bytes.n) < 0 || (sync && fsync(p->old) < 0))
        return file_fail(e, errno, "write", p->path);
    /* The owner of the file may set its set-user-id bit again; others may not. */
    if (p->st.st_mode & (S_ISUID | S_ISGID))
        fchmod(p->old, p->st.st_mode & 07777);
    return 0;
}

/* Whether a file that cannot be replaced for this reason may be written in place. */
static bool may_write_instead(const struct put_place *p, int errnum)
{
    return p->exists &&
           (errnum == EACCES || errnum == EPERM || errnum == EROFS || errnum == EBUSY);
}

/* The new file, empty; one that an earlier attempt left is removed first. */
static int open_tmp(const struct put_place *p)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(p->dir, p->tmp, flags, 0600);
    if (fd >= 0 || errno != EEXIST || unlinkat(p->dir, p->tmp, 0) < 0)
        return fd;
    return openat(p->dir, p->tmp, flags, 0600);
}

static void sync_folder(const struct put_place *p)
{
    int fd = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

/* Renames .od-TOKEN to the file. Returns 0; or -1 with errno, and the part is removed. */
static int fill_and_rename(struct put_place *p, int fd, struct str bytes,
                           struct files_put *put)
{
    int rc = write_at(fd, bytes, 0);
    if (rc == 0)
        dress(p, put, fd);
    if (rc == 0 && put->sync)
        rc = fsync(fd);
    /* Some file systems report only now that there was no room. */
    int why = errno;
    if (close(fd) < 0 && rc == 0) {
        rc = -1;
        why = errno;
    }
    if (rc == 0 && (rc = renameat(p->dir, p->tmp, p->dir, p->name)) < 0)
        why = errno;
    if (rc < 0)
        unlinkat(p->dir, p->tmp, 0);
    else if (put->sync)
        sync_folder(p);
    errno = why;
    return rc;
}

static int replace(struct put_place *p, struct str bytes, struct files_put *put,
                   struct err *e)
{
    int fd = open_tmp(p);
    if (fd >= 0 && p->exists && own_as_old(p, fd) < 0) {
        close(fd);
        unlinkat(p->dir, p->tmp, 0);
        return write_in_place(p, bytes, put->sync, e);
    }
    if (fd >= 0 && !p->exists && put->chown && fchown(fd, put->uid, put->gid) < 0)
        put->owner_errno = errno;
    if (fd >= 0 && fill_and_rename(p, fd, bytes, put) == 0)
        return 0;
    if (may_write_instead(p, errno))
        return write_in_place(p, bytes, put->sync, e);
    return file_fail(e, errno, "write", p->path);
}

static int replace_here(const char *path, struct str bytes, struct files_put *put,
                        struct err *e)
{
    struct put_place p;
    put->owner_errno = 0;
    put->created = false;
    int rc = find(&p, path, put->token, put->parents, e);
    if (rc == 0)
        rc = open_old(&p, e);
    if (rc == 0)
        rc = replace(&p, bytes, put, e);
    put->created = rc == 0 && !p.exists;
    leave(&p);
    return rc;
}

struct replacing {
    const char *path;
    struct str bytes;
    struct files_put *put;
    struct err *e;
    int rc;
};

static void replace_within(void *arg)
{
    struct replacing *r = arg;
    r->rc = replace_here(r->path, r->bytes, r->put, r->e);
}

int files_replace(const char *path, struct str bytes, struct files_put *put,
                  struct err *e)
{
    struct replacing r = {path, bytes, put, e, -1};
    if (within_call(replace_within, &r) < 0)
        return err_sys(e, errno, "cannot write %s within the fence", path);
    if (r.rc < 0 && e && within_ruleset() >= 0)
        landlock_explain(e);
    return r.rc;
}
