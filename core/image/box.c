/* SPDX-License-Identifier: MIT */
/*
 * The source of images: a tar archive, whose headers are read once and whose files are
 * then read by offset, or a folder. Names are not trusted: in an archive they have no
 * meaning outside of it, in a folder every step is opened without following a link.
 */
#include "base/log.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "image/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_MAX = 20000, LINKS_MAX = 8, BLOCK = 64 << 10 };

struct box_entry {
    bool symlink;
    struct image_file file;
    char link[];
};

struct image_box {
    int fd; /* owned; of the archive or the folder */
    bool folder;
    uint64_t size, at; /* of the archive; at: while its headers are read */
    struct map entries;
};

void image_file_close(struct image_file *f)
{
    if (f->own && f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

ssize_t image_file_read(const struct image_file *f, uint64_t from, void *p, size_t n,
                        struct err *e)
{
    if (from >= f->size)
        return 0;
    if (n > f->size - from)
        n = (size_t)(f->size - from);
    for (;;) {
        ssize_t got = pread(f->fd, p, n, (off_t)(f->at + from));
        if (got > 0 || n == 0)
            return got;
        if (got == 0)
            return err_set(e, ERR_GONE, "the image became shorter while it was read");
        if (errno != EINTR)
            return err_sys(e, errno, "cannot read the image");
    }
}

/* ---- names ---- */

/*
 * Writes the name without empty parts and `.`. Returns -1 if it is too long, or leads
 * out: a part `..`, or a slash at the beginning.
 */
static int clean(struct str name, char out[IMAGE_NAME_MAX + 1])
{
    size_t n = 0;
    if (str_starts(name, STR("/")))
        return -1;
    while (name.n > 0) {
        struct str part = str_cut(&name, '/');
        if (str_eq(part, STR("..")) || n + part.n + 1 > IMAGE_NAME_MAX ||
            (part.n && memchr(part.p, 0, part.n)))
            return -1;
        if (!part.n || str_eq(part, STR(".")))
            continue;
        if (n)
            out[n++] = '/';
        memcpy(out + n, part.p, part.n);
        n += part.n;
    }
    out[n] = 0;
    return 0;
}

/* Resolves a link in the archive: its target, from the folder that it is in. */
static int follow(const char *from, struct str link, char out[IMAGE_NAME_MAX + 1])
{
    const char *slash = strrchr(from, '/');
    struct str dir = slash ? str_n(from, (size_t)(slash - from)) : STR("");
    while (str_starts(link, STR("../")) || str_starts(link, STR("./"))) {
        if (link.p[1] == '.') {
            if (!dir.n)
                return -1;
            while (dir.n && dir.p[dir.n - 1] != '/')
                dir.n--;
            dir.n -= dir.n > 0;
        }
        str_cut(&link, '/');
    }
    char path[2 * IMAGE_NAME_MAX + 2];
    if (str_starts(link, STR("/")) || dir.n + 1 + link.n >= sizeof(path))
        return -1;
    int n = snprintf(path, sizeof(path), "%.*s/%.*s", STR_ARG(dir), STR_ARG(link));
    return clean(str_n(path + (dir.n ? 0 : 1), (size_t)n - (dir.n ? 0 : 1)), out);
}

/* ---- archives ---- */

static ssize_t read_archive(void *arg, void *p, size_t n, struct err *e)
{
    struct image_box *b = arg;
    struct image_file all = {.fd = b->fd, .size = b->size};
    ssize_t got = image_file_read(&all, b->at, p, n, e);
    if (got > 0)
        b->at += (size_t)got;
    return got;
}

static int skip_archive(void *arg, uint64_t n, struct err *e)
{
    struct image_box *b = arg;
    (void)e;
    b->at = n > INT64_MAX - b->at ? INT64_MAX : b->at + n;
    return 0;
}

static int add_entry(struct image_box *b, const struct tar_entry *x, struct err *e)
{
    char name[IMAGE_NAME_MAX + 1];
    if (x->type == TAR_FOLDER)
        return 0;
    if (clean(x->name, name) < 0 || !*name)
        return err_set(e, ERR_DENIED,
                       "the archive has a file that leads out of it: %.200s", x->name.p);
    bool symlink = x->type == TAR_SYMLINK || x->type == TAR_HARD;
    if ((x->type != TAR_FILE && !symlink) || x->sparse)
        return err_set(e, ERR_UNSUPPORTED,
                       "%.200s in the archive is not a file, folder or link", name);
    if (b->entries.count >= ENTRIES_MAX)
        return err_set(e, ERR_LIMIT, "more than %d files: this is not an image's archive",
                       ENTRIES_MAX);
    /* The target of a hard link begins at the archive's root. */
    char path[IMAGE_NAME_MAX + 1] = "";
    if (symlink &&
        (x->type == TAR_HARD ? clean(x->link, path) : follow(name, x->link, path)) < 0)
        return err_set(e, ERR_DENIED,
                       "the link %.200s in the archive leads out of it: %.200s", name,
                       x->link.p);
    struct box_entry *entry = xcalloc(1, sizeof(*entry) + strlen(path) + 1);
    entry->symlink = symlink;
    entry->file = (struct image_file){.fd = b->fd, .at = x->offset, .size = x->size};
    memcpy(entry->link, path, strlen(path) + 1);
    struct box_entry *old = map_put(&b->entries, str_of(name), entry);
    if (!old)
        return 0;
    free(old);
    return err_set(e, ERR_INVALID, "the archive has two files called %.200s", name);
}

static int read_headers(struct image_box *b, struct err *e)
{
    struct tar_source source = {read_archive, skip_archive, b};
    struct tar_reader *r = tar_reader_new(&source);
    struct tar_entry x;
    int rc;
    while ((rc = tar_next(r, &x, e)) > 0) {
        /*
         * The error of a root file system, with devices and thousands of files, reports
         * what it is.
         */
        if (add_entry(b, &x, e) < 0) {
            rc = -1;
            break;
        }
    }
    tar_reader_free(r);
    return rc;
}

/* ---- opening ---- */

/* Copies fd to a nameless file. Returns its descriptor. */
static int spool(int fd, struct err *e)
{
    char path[256], block[BLOCK];
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof(path), "%.200s/od-image-XXXXXX",
             tmp && *tmp ? tmp : "/var/tmp");
    int out = mkostemp(path, O_CLOEXEC);
    if (out < 0)
        return err_sys(e, errno, "cannot keep the image in %.200s", path);
    unlink(path);
    for (;;) {
        ssize_t n = read(fd, block, sizeof(block)), done = 0, w = 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            return out;
        while (n > 0 && done < n &&
               (w = write(out, block + done, (size_t)(n - done))) >= 0)
            done += w;
        if (n < 0 || w < 0) {
            err_sys(e, errno, "cannot %s",
                    n < 0 ? "read the image" : "keep the image aside");
            close(out);
            return -1;
        }
    }
}

static int open_path(const char *path, struct err *e)
{
    int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                    : open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? err_sys(e, errno, "cannot open %.200s", path) : fd;
}

/* Takes fd. Returns it, or a file with a copy of its content if it cannot be sought. */
static int seekable(int take, const char *path, uint64_t *size, struct err *e)
{
    struct stat st;
    int fd = take;
    ASSERT(take >= 0);
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
        fd = spool(take, e);
        close(take);
        if (fd < 0)
            return -1;
    }
    if (fstat(fd, &st) < 0) {
        err_sys(e, errno, "cannot read %.200s", path);
        close(fd);
        return -1;
    }
    *size = (uint64_t)st.st_size;
    return fd;
}

int image_file_open(const char *path, struct image_file *out, struct err *e)
{
    int fd = open_path(path, e);
    *out = (struct image_file){.fd = fd, .own = true};
    if (fd >= 0)
        out->fd = seekable(fd, path, &out->size, e);
    return out->fd < 0 ? -1 : 0;
}

static int open_archive(struct image_box *b, const char *path, struct err *e)
{
    b->fd = seekable(b->fd, path, &b->size, e);
    if (b->fd < 0)
        return -1;
    struct image_file all = {.fd = b->fd, .size = b->size};
    if (layer_is_gzip(&all))
        return err_set(e, ERR_UNSUPPORTED,
                       "%.200s is compressed as a whole: give gunzip's output", path);
    struct err why = ERR_INIT;
    if (read_headers(b, &why) < 0)
        return err_set(e, why.code, "cannot read %.150s: %.300s", path, why.text);
    return 0;
}

struct image_box *image_box_open(const char *path, struct err *e)
{
    struct stat st;
    int fd = open_path(path, e);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) < 0) {
        err_sys(e, errno, "cannot read %.200s", path);
        close(fd);
        return NULL;
    }
    struct image_box *b = xnew(struct image_box);
    b->fd = fd;
    b->folder = S_ISDIR(st.st_mode);
    map_init(&b->entries);
    if (!b->folder && open_archive(b, path, e) < 0) {
        image_box_close(b);
        return NULL;
    }
    return b;
}

void image_box_close(struct image_box *b)
{
    if (!b)
        return;
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&b->entries, it, &key, &value));)
        free(value);
    map_release(&b->entries);
    if (b->fd >= 0)
        close(b->fd);
    free(b);
}

bool image_box_is_folder(const struct image_box *b) { return b->folder; }

/* ---- finding ---- */

static int find_in_folder(struct image_box *b, const char *name, struct image_file *out,
                          struct err *e)
{
    int dir = b->fd, fd = -1;
    struct str rest = str_of(name);
    struct stat st;
    while (rest.n > 0) {
        char part[IMAGE_NAME_MAX + 1];
        struct str s = str_cut(&rest, '/');
        memcpy(part, s.p, s.n);
        part[s.n] = 0;
        fd = openat(dir, part,
                    O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
                        (rest.n ? O_DIRECTORY : 0));
        int why = errno;
        if (dir != b->fd)
            close(dir);
        dir = fd;
        if (fd < 0 && why == ENOENT)
            return 0;
        if (fd < 0 && (why == ELOOP || why == ENOTDIR))
            return err_set(e, ERR_DENIED,
                           "%.200s in the image's folder is a link, or below one", name);
        if (fd < 0)
            return err_sys(e, why, "cannot open %.200s in the image's folder", name);
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return err_set(e, ERR_INVALID, "%.200s in the image's folder is not a file",
                       name);
    }
    *out = (struct image_file){.fd = fd, .own = true, .size = (uint64_t)st.st_size};
    return 1;
}

int image_box_find(struct image_box *b, struct str given, struct image_file *out,
                   char real[IMAGE_NAME_MAX + 1], struct err *e)
{
    char name[IMAGE_NAME_MAX + 1];
    if (clean(given, name) < 0 || !*name)
        return err_set(e, ERR_DENIED, "the image names a file that leads out of it: %.*s",
                       (int)(given.n < 200 ? given.n : 200), given.p);
    if (real)
        memcpy(real, name, strlen(name) + 1);
    if (b->folder)
        return find_in_folder(b, name, out, e);
    const struct box_entry *x = map_get(&b->entries, str_of(name));
    for (int i = 0; x && x->symlink; i++) {
        if (i == LINKS_MAX)
            return err_set(e, ERR_INVALID, "%.200s is a link that leads nowhere", name);
        if (real)
            memcpy(real, x->link, strlen(x->link) + 1);
        x = map_get(&b->entries, str_of(x->link));
    }
    if (!x)
        return 0;
    *out = x->file;
    return 1;
}

int image_box_text(struct image_box *b, const char *name, bool maybe, struct buf *out,
                   struct err *e)
{
    struct image_file f;
    int rc = image_box_find(b, str_of(name), &f, NULL, e);
    if (rc < 0 || (rc == 0 && maybe))
        return rc;
    if (rc == 0)
        return err_set(e, ERR_NOTFOUND, "there is no %.200s in the image", name);
    buf_reset(out);
    if (f.size > IMAGE_JSON_MAX) {
        image_file_close(&f);
        return err_set(e, ERR_LIMIT, "%.200s has %llu bytes: at most %d", name,
                       (unsigned long long)f.size, IMAGE_JSON_MAX);
    }
    while (out->n < f.size) {
        char *p = buf_reserve(out, f.size - out->n);
        ssize_t n = p ? image_file_read(&f, out->n, p, f.size - out->n, e)
                      : err_set(e, ERR_LIMIT, "no memory for %.200s", name);
        buf_commit(out, n > 0 ? (size_t)n : 0);
        if (n < 0) {
            image_file_close(&f);
            return -1;
        }
    }
    image_file_close(&f);
    return 1;
}
