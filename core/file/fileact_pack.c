/* SPDX-License-Identifier: MIT */
/* archive and extract of fileact.h: a folder to a zip or tar file, and back. */
#include "base/limits.h"
#include "file/archive_own.h"
#include "file/fileact_own.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ZIP_LEVEL = 6,
    TAR_MAGIC_AT = 257,
    FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
};

static const struct {
    const char *word, *end;
    enum fa_format format;
} formats[] = {{"zip", ".zip", FA_ZIP},
               {"tar", ".tar", FA_TAR},
               {"tar.gz", ".tar.gz", FA_TGZ},
               {"tgz", ".tgz", FA_TGZ}};

enum fa_format fa_format_of(struct str word)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (str_eq(word, str_of(formats[i].word)))
            return formats[i].format;
    }
    return FA_NO_FORMAT;
}

static enum fa_format format_of_name(struct str name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (str_ends(name, str_of(formats[i].end)))
            return formats[i].format;
    }
    return FA_NO_FORMAT;
}

/* By the argument, else by the name. Returns -1 and sets *e. */
static int want_format(const struct fa *f, struct str name, enum fa_format *out,
                       struct err *e)
{
    struct str word = fa_str(f, "format", "");
    *out = word.n ? fa_format_of(word) : format_of_name(name);
    if (word.n && *out == FA_NO_FORMAT)
        return err_set(e, ERR_INVALID, "format must be zip, tar or tar.gz");
    return 0;
}

/* ---- archive ---- */

static int open_source(const char *path, struct stat *st, struct err *e)
{
    /* Not the opening of a pipe or a device: that may block, or do something. */
    if (stat(path, st) < 0)
        return fa_fail(e, errno, "read", path);
    if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot read %.200s: it is neither a file nor a folder", path);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, st) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return fa_fail(e, errno, "read", path);
}

static int pack_zip(struct fa *f, int fd, const char *path, const struct stat *st,
                    int out, const struct stat *skip, struct err *e)
{
    struct archive_zip_job job = {.level = ZIP_LEVEL, .folders = true, .st = *st};
    struct job_child c = *f->c;
    const char *slash = strrchr(path, '/');
    snprintf(job.name, sizeof(job.name), "%s", slash ? slash + 1 : path);
    job.skip = *skip;
    c.out = out;
    c.fds[ARCHIVE_PATH] = fd;
    return archive_zip_child(&job, &c, e);
}

static int pack(struct fa *f, const char *path, enum fa_format format, int out,
                const struct stat *skip, struct err *e)
{
    struct stat st;
    int fd = open_source(path, &st, e);
    if (fd < 0)
        return -1;
    struct fa_tar_rules rules = {.skip = skip};
    int rc = format == FA_ZIP
                 ? pack_zip(f, fd, path, &st, out, skip, e)
                 : fa_tar_write(f, fd, path, out, format == FA_TGZ, &rules, e);
    close(fd);
    return rc;
}

/* To a file next to its place. */
static int pack_staged(struct fa *f, struct fa_stage *s, const char *path,
                       enum fa_format format, struct err *e)
{
    struct stat skip = {0};
    int fd = open(s->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0 || fstat(fd, &skip) < 0)
        return fa_fail(e, errno, "write beside", s->part);
    int rc = pack(f, path, format, fd, &skip, e);
    if (close(fd) < 0 && rc == 0)
        rc = fa_fail(e, errno, "write", s->part);
    if (rc == 0)
        rc = fa_stage_whole(s, e);
    if (rc < 0)
        unlink(s->part);
    return rc;
}

int fa_archive(struct fa *f, struct err *e)
{
    char path[PATH_MAX], to[PATH_MAX];
    enum fa_format format;
    struct fa_stage s;
    struct stat st, none = {0};
    bool overwrite = fa_bool(f, "overwrite");
    if (fa_path(f, "path", path, e) < 0)
        return -1;
    if (f->q->output)
        return want_format(f, STR(""), &format, e) < 0
                   ? -1
                   : pack(f, path, format, f->c->out, &none, e);
    if (fa_path(f, "to", to, e) < 0 || want_format(f, str_of(to), &format, e) < 0 ||
        fa_stage_beside(f, &s, to, e) < 0)
        return -1;
    if (format == FA_NO_FORMAT)
        return err_set(e, ERR_INVALID,
                       "to does not end in .zip, .tar or .tar.gz: give a format");
    if (s.state == STAGE_NEW && !overwrite && lstat(to, &st) == 0)
        return fa_no_place(EEXIST, to, false, e);
    if (s.state == STAGE_NEW && pack_staged(f, &s, path, format, e) < 0)
        return -1;
    if (s.state != STAGE_PLACED && fa_place(s.part, to, overwrite, e) < 0)
        return -1;
    if (stat(to, &st) < 0)
        return fa_fail(e, errno, "look at", to);
    fa_put_path(&f->out, "to", str_of(to));
    buf_addf(&f->out, ",\"size\":%llu", (unsigned long long)st.st_size);
    return 0;
}

/* ---- extract ---- */

/* Stores the input in a file without a name, since it is read twice. */
static int spool(struct fa *f, const char *dir, struct err *e)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        fd = memfd_create("od-extract", MFD_CLOEXEC);
    for (;;) {
        ssize_t n = fd < 0 ? -1 : read(f->c->in, f->block, FA_BLOCK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || file_write_all(fd, str_n(f->block, (size_t)n)) < 0)
            return err_sys(e, errno, "cannot keep the archive in %.200s", dir);
        if (n == 0)
            return lseek(fd, 0, SEEK_SET) < 0 ? -1 : fd;
    }
}

/* By the first bytes. */
static enum fa_format format_of_bytes(int fd)
{
    char head[TAR_MAGIC_AT + 5] = "";
    ssize_t n = pread(fd, head, sizeof(head), 0);
    if (n >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0))
        return FA_ZIP;
    if (n >= 2 && memcmp(head, "\x1f\x8b", 2) == 0)
        return FA_TGZ;
    return n == sizeof(head) && memcmp(head + TAR_MAGIC_AT, "ustar", 5) == 0
               ? FA_TAR
               : FA_NO_FORMAT;
}

int fa_check_size(const struct fa_limits *l, uint64_t bytes, uint64_t packed,
                  struct err *e)
{
    if (bytes > l->bytes)
        return err_set(e, ERR_LIMIT, "the archive unpacks to more than %llu bytes",
                       (unsigned long long)l->bytes);
    if (l->ratio && bytes > FA_RATIO_FREE && bytes / l->ratio > packed)
        return err_set(e, ERR_LIMIT,
                       "the archive unpacks to more than %llu times what it has; if it "
                       "may, max_bytes says to how much",
                       (unsigned long long)l->ratio);
    return 0;
}

/* Checks the sizes that the archive declares, before anything is written. */
static int check_zip(struct fa *f, int fd, const struct fa_limits *l, struct err *e)
{
    struct zip_limits limits = {.entries = l->files, .total = l->bytes};
    struct zip_reader *r = zip_open(fd, &limits, e);
    struct zip_entry x;
    uint64_t packed = 0;
    int rc = r ? 0 : -1;
    while (rc == 0 && (rc = zip_next(r, &x, e)) > 0) {
        rc = 0;
        f->files += !x.folder;
        packed += x.packed;
        f->bytes += x.size;
        rc = fa_check_size(l, f->bytes, packed, e);
    }
    zip_close(r);
    return rc;
}

static int unpack_zip(struct fa *f, int fd, int dir, const struct fa_limits *l,
                      struct err *e)
{
    struct archive_unzip_job job = {.spec = {.uid = (uid_t)-1,
                                             .gid = (gid_t)-1,
                                             .modes = true,
                                             .strict = true,
                                             .limits = {l->files, l->bytes, UINT32_MAX}}};
    struct job_child c = *f->c;
    snprintf(job.token, sizeof(job.token), "%s", f->q->token);
    c.fds[ARCHIVE_PATH] = dir;
    c.fds[ARCHIVE_FILE] = fd;
    return check_zip(f, fd, l, e) < 0 ? -1 : archive_unzip_child(&job, &c, e);
}

/* Takes fd. */
static int unpack(struct fa *f, int fd, enum fa_format format, const char *part,
                  const struct fa_limits *l, struct err *e)
{
    ASSERT(fd >= 0);
    int dir = mkdir(part, 0777) < 0 ? -1 : open(part, FOLDER), rc;
    if (dir < 0)
        rc = fa_fail(e, errno, "make", part);
    else if (format == FA_ZIP)
        rc = unpack_zip(f, fd, dir, l, e);
    else
        rc = fa_tar_read(f, fd, format == FA_TGZ, dir, l, e);
    if (dir >= 0)
        close(dir);
    close(fd);
    return rc;
}

/* The archive, open to be read, and its format. */
static int open_archive(struct fa *f, const char *dir, enum fa_format *format,
                        struct err *e)
{
    char path[PATH_MAX] = "";
    struct stat st;
    int fd;
    if ((!f->q->input && fa_path(f, "path", path, e) < 0) ||
        want_format(f, STR(""), format, e) < 0)
        return -1;
    if (f->q->input && (*format == FA_TAR || *format == FA_TGZ))
        return dup(f->c->in);
    fd = f->q->input ? spool(f, dir, e) : open_source(path, &st, e);
    if (fd >= 0 && *format == FA_NO_FORMAT)
        *format = format_of_bytes(fd);
    if (fd >= 0 && *format == FA_NO_FORMAT) {
        close(fd);
        return err_set(
            e, ERR_INVALID,
            "cannot extract %.200s: it is not a zip, tar or tar.gz; format names "
            "one",
            path[0] ? path : "what was sent");
    }
    return fd;
}

/* ---- into a folder that exists ---- */

struct merge {
    bool overwrite, check; /* check: only whether it can be */
};

static int merge(const struct merge *m, int from, int to, int depth, struct err *e);

static int merge_one(const struct merge *m, int from, int to, const char *name, int depth,
                     struct err *e)
{
    struct stat a, b;
    if (fstatat(from, name, &a, AT_SYMLINK_NOFOLLOW) < 0)
        return fa_fail(e, errno, "look at", name);
    bool there = fstatat(to, name, &b, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && S_ISDIR(a.st_mode) && S_ISDIR(b.st_mode)) {
        int in = openat(from, name, FOLDER), out = openat(to, name, FOLDER);
        int rc = in < 0 || out < 0 ? fa_fail(e, errno, "enter", name)
                                   : merge(m, in, out, depth + 1, e);
        if (in >= 0)
            close(in);
        if (out >= 0)
            close(out);
        if (rc == 0 && !m->check)
            unlinkat(from, name, AT_REMOVEDIR);
        return rc;
    }
    if (there && (!m->overwrite || S_ISDIR(a.st_mode) || S_ISDIR(b.st_mode)))
        return err_set(e, ERR_EXISTS, "cannot extract %.200s: there is %s already%s",
                       name, S_ISDIR(b.st_mode) ? "a folder" : "a file",
                       m->overwrite ? "" : "; ask for overwrite");
    if (!m->check && renameat(from, name, to, name) < 0)
        return fa_fail(e, errno, "put in its place", name);
    return 0;
}

/* Moves the content of one folder into another of the same file system. */
static int merge(const struct merge *m, int from, int to, int depth, struct err *e)
{
    struct fa_names names = {0};
    int list = depth < FA_DEPTH ? openat(from, ".", FOLDER) : -1;
    int rc = list < 0
                 ? err_set(e, ERR_LIMIT,
                           "cannot extract: a folder cannot be read, or is more than "
                           "%d deep",
                           FA_DEPTH)
                 : fa_names(&names, list, "the archive's folder", e);
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        rc = merge_one(m, from, to, names.v[i], depth, e);
    fa_names_free(&names);
    return rc;
}

/* Checks first, so that a conflict is found before anything is moved. */
static int merge_staged(struct fa *f, struct fa_stage *s, const char *to, struct err *e)
{
    struct merge m = {.overwrite = fa_bool(f, "overwrite"), .check = true};
    int in = open(s->part, FOLDER), out = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = in < 0 || out < 0 ? fa_fail(e, errno, "enter", in < 0 ? s->part : to) : 0;
    if (rc == 0 && s->state == STAGE_NEW &&
        (merge(&m, in, out, 0, e) < 0 || fa_stage_whole(s, e) < 0))
        rc = -1;
    m.check = false;
    if (rc == 0)
        rc = merge(&m, in, out, 0, e);
    if (rc == 0)
        rmdir(s->part);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return rc;
}

/* Chooses where it is unpacked first. *inside: in `to` itself, which exists. */
static int stage(struct fa *f, struct fa_stage *s, const char *to, bool *inside,
                 struct err *e)
{
    struct stat st;
    *inside = false;
    if (fa_stage_beside(f, s, to, e) < 0)
        return -1;
    if (s->state != STAGE_NEW || stat(to, &st) < 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_EXISTS, "cannot extract to %.200s: it is not a folder", to);
    *inside = true;
    return fa_stage(f, s, to, e);
}

static int fill(struct fa *f, const struct fa_stage *s, struct err *e)
{
    const struct fa_limits limits = {
        (uint64_t)fa_int(f, "max_files", LIMIT_ZIP_ENTRIES),
        (uint64_t)fa_int(f, "max_bytes", (int64_t)LIMIT_ZIP_TOTAL_MIB << 20),
        json_get(f->q->args, "max_bytes") ? 0 : LIMIT_ZIP_RATIO};
    char dir[PATH_MAX];
    enum fa_format format;
    snprintf(dir, sizeof(dir), "%s", s->part);
    char *slash = strrchr(dir, '/');
    slash[slash == dir] = 0;
    int fd = open_archive(f, dir, &format, e);
    return fd < 0 ? -1 : unpack(f, fd, format, s->part, &limits, e);
}

int fa_extract(struct fa *f, struct err *e)
{
    char to[PATH_MAX];
    struct fa_stage s;
    bool inside;
    if (fa_path(f, "to", to, e) < 0 || (fa_bool(f, "parents") && fa_parents(to, e) < 0) ||
        stage(f, &s, to, &inside, e) < 0)
        return -1;
    if (s.state == STAGE_NEW &&
        (fill(f, &s, e) < 0 || (!inside && fa_stage_whole(&s, e) < 0)))
        return -1;
    if (s.state != STAGE_PLACED) {
        int rc = inside ? merge_staged(f, &s, to, e) : fa_place(s.part, to, false, e);
        if (rc < 0)
            return -1;
    }
    fa_put_path(&f->out, "to", str_of(to));
    buf_addf(&f->out, ",\"files\":%llu,\"bytes\":%llu", (unsigned long long)f->files,
             (unsigned long long)f->bytes);
    return 0;
}
