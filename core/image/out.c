/* SPDX-License-Identifier: MIT */
/*
 * The result: a tar archive or a folder, written under another name in the same folder,
 * "OUT.TOKEN.part", and renamed when it is complete. Bytes of files are copied inside the
 * kernel if it supports that.
 */
#include "archive/tar_write.h"
#include "base/log.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "image/own.h"
#include "os/file.h"
#include "os/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 8 << 20, BLOCK = 128 << 10 };

struct image_out {
    bool folder, force, finished;
    int fd; /* owned; of the archive or the folder */
    struct map names;
    char path[PATH_MAX], part[PATH_MAX];
};

/*
 * Makes the path without slashes at the end, and from it the name of the unfinished
 * result.
 */
static int names_of(const char *path, const char *token, char out[PATH_MAX],
                    char part[PATH_MAX])
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (!n || n + strlen(token) + 8 > PATH_MAX)
        return -1;
    memcpy(out, path, n);
    out[n] = 0;
    snprintf(part, PATH_MAX, "%.*s.%s.part", (int)n, path, token);
    return 0;
}

void image_clean(const char *out, const char *token)
{
    char path[PATH_MAX], part[PATH_MAX];
    if (names_of(out, token, path, part) == 0)
        remove_tree(part);
}

static bool is_empty(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;
    while (dir && n < 3 && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n == 2; /* "." and ".." */
}

/* Checked before the work, so that a refusal comes at once. */
static int may_be_put(const struct image_out *o, struct err *e)
{
    struct stat st;
    if (lstat(o->path, &st) < 0)
        return errno == ENOENT ? 0 : err_sys(e, errno, "cannot write %.200s", o->path);
    if (o->folder && S_ISDIR(st.st_mode) && is_empty(o->path))
        return 0; /* a rename replaces an empty folder */
    if (o->folder || !S_ISREG(st.st_mode))
        return err_set(e, ERR_EXISTS,
                       "%.200s exists already: remove it, or give another name",
                       o->path);
    if (!o->force)
        return err_set(e, ERR_EXISTS, "%.200s exists already: --force replaces it",
                       o->path);
    return 0;
}

struct image_out *image_out_open(const char *path, bool folder, bool force,
                                 const char *token, struct err *e)
{
    struct image_out *o = xnew(struct image_out);
    o->folder = folder;
    o->force = force;
    o->fd = -1;
    map_init(&o->names);
    if (names_of(path, token, o->path, o->part) < 0)
        err_set(e, ERR_INVALID, "cannot write %.200s: the name is empty or too long",
                path);
    else if (may_be_put(o, e) == 0) {
        if (!folder)
            o->fd = open(o->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         0666);
        else if (mkdir(o->part, 0777) == 0)
            o->fd = open(o->part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (o->fd >= 0)
            return o;
        err_sys(e, errno, "cannot write %.200s", path);
    }
    o->finished = true; /* there is nothing to remove */
    image_out_close(o);
    return NULL;
}

void image_out_close(struct image_out *o)
{
    if (!o)
        return;
    if (o->fd >= 0)
        close(o->fd);
    if (!o->finished)
        remove_tree(o->part);
    map_release(&o->names);
    free(o);
}

bool image_out_has(const struct image_out *o, const char *name)
{
    return map_get(&o->names, str_of(name)) != NULL;
}

/* ---- bytes ---- */

static int cannot_write(const struct image_out *o, int why, struct err *e)
{
    return err_sys(e, why, "cannot write %.200s", o->path);
}

static int put(const struct image_out *o, int fd, struct str bytes, struct err *e)
{
    return file_write_all(fd, bytes) < 0 ? cannot_write(o, errno, e) : 0;
}

/* Copies what the kernel cannot copy, and what is hashed at the same time. */
static int copy_by_hand(const struct image_out *o, int fd, const struct image_file *f,
                        uint64_t from, struct hash *hash, struct err *e)
{
    char *block = xcalloc(1, BLOCK);
    ssize_t n = 0;
    int rc = 0;
    while (rc == 0 && (n = image_file_read(f, from, block, BLOCK, e)) > 0) {
        if (hash)
            hash_add(hash, str_n(block, (size_t)n));
        rc = put(o, fd, str_n(block, (size_t)n), e);
        from += (uint64_t)n;
    }
    free(block);
    return n < 0 ? -1 : rc;
}

/*
 * Returns how many bytes the kernel copied; less than the size if it does not support it.
 */
static uint64_t copy_in_kernel(int fd, const struct image_file *f)
{
    uint64_t done = 0;
    bool range = true;
    while (done < f->size) {
        off_t at = (off_t)(f->at + done);
        size_t n = f->size - done < CHUNK ? (size_t)(f->size - done) : CHUNK;
        ssize_t got = range ? copy_file_range(f->fd, &at, fd, NULL, n, 0)
                            : sendfile(fd, f->fd, &at, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 && !range)
            break;
        if (got <= 0)
            range = false;
        else
            done += (uint64_t)got;
    }
    return done;
}

static int copy(const struct image_out *o, int fd, const struct image_file *f,
                struct hash *hash, struct err *e)
{
    uint64_t done = hash ? 0 : copy_in_kernel(fd, f);
    return done < f->size ? copy_by_hand(o, fd, f, done, hash, e) : 0;
}

/* ---- files ---- */

/* Makes a file of that name in the folder, with the folders of its path. */
static int make_file(const struct image_out *o, const char *name, struct err *e)
{
    char path[IMAGE_NAME_MAX + 1];
    for (size_t i = 1; name[i]; i++) {
        if (name[i] != '/')
            continue;
        memcpy(path, name, i);
        path[i] = 0;
        if (mkdirat(o->fd, path, 0777) < 0 && errno != EEXIST)
            return cannot_write(o, errno, e);
    }
    int fd = openat(o->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0666);
    return fd < 0 ? cannot_write(o, errno, e) : fd;
}

static int put_header(const struct image_out *o, const char *name, uint64_t size,
                      struct err *e)
{
    struct tar_entry x = {.name = str_of(name), .size = size, .mode = 0644};
    struct buf b = BUF_INIT(4 * TAR_NAME_MAX);
    int rc = tar_add_header(&b, &x, e);
    if (rc == 0)
        rc = put(o, o->fd, buf_str(&b), e);
    buf_release(&b);
    return rc;
}

/* Writes a file from text, or from f if that is not NULL. */
static int put_file(struct image_out *o, const char *name, struct str text,
                    const struct image_file *f, struct hash *hash, struct err *e)
{
    static const char zeroes[TAR_BLOCK];
    if (image_out_has(o, name))
        return 0;
    map_put(&o->names, str_of(name), o);
    uint64_t size = f ? f->size : text.n;
    int fd = o->fd;
    if (o->folder ? (fd = make_file(o, name, e)) < 0 : put_header(o, name, size, e) < 0)
        return -1;
    int rc = f ? copy(o, fd, f, hash, e) : put(o, fd, text, e);
    if (!o->folder)
        return rc < 0 ? rc : put(o, fd, str_n(zeroes, tar_padding(size)), e);
    if (close(fd) < 0 && rc == 0)
        rc = cannot_write(o, errno, e);
    return rc;
}

int image_out_text(struct image_out *o, const char *name, struct str text, struct err *e)
{
    return put_file(o, name, text, NULL, NULL, e);
}

int image_out_copy(struct image_out *o, const char *name, const struct image_file *f,
                   struct hash *hash, struct err *e)
{
    return put_file(o, name, STR(""), f, hash, e);
}

int image_out_finish(struct image_out *o, struct err *e)
{
    ASSERT(!o->finished); /* once */
    if (!o->folder) {
        struct buf end = BUF_INIT(4 * TAR_BLOCK);
        int rc = tar_add_end(&end, e);
        if (rc == 0)
            rc = put(o, o->fd, buf_str(&end), e);
        buf_release(&end);
        if (rc < 0)
            return -1;
    }
    /* A network disk may report only now that it is full. */
    int fd = o->fd;
    o->fd = -1;
    if (close(fd) < 0)
        return cannot_write(o, errno, e);
    /*
     * link() does not replace a file; without hard links, rename() would replace one that
     * just appeared.
     */
    bool replace = o->folder || o->force;
    int rc = replace ? -1 : link(o->part, o->path);
    if (rc == 0)
        unlink(o->part);
    else if (replace || errno != EEXIST)
        rc = rename(o->part, o->path);
    if (rc < 0)
        return cannot_write(o, errno, e);
    o->finished = true;
    return 0;
}
