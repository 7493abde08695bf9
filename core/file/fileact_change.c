/* SPDX-License-Identifier: MIT */
/* mkdir, move, copy, remove and chmod of fileact.h. */
#include "file/fileact_own.h"
#include "file/files.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { REPLACE_MAX = 64 << 20 }; /* bytes of a file that is kept in memory */

/* ---- modes ---- */

/* u, g, o, a: the bits that a letter stands for. */
static mode_t who_of(char c)
{
    return c == 'u' ? 04700 : c == 'g' ? 02070 : c == 'o' ? 01007 : 07777;
}

static mode_t bits_of(char c, mode_t now, bool folder)
{
    switch (c) {
    case 'r':
        return 0444;
    case 'w':
        return 0222;
    case 'x':
        return 0111;
    case 'X':
        return folder || (now & 0111) ? 0111 : 0;
    case 's':
        return 06000;
    case 't':
        return 01000;
    default:
        return 0;
    }
}

/* One of u+rwx, go-w, a=r, +x. Returns -1 if it is not one. */
static int apply_clause(struct str s, mode_t *mode, bool folder)
{
    mode_t who = 0, now = *mode;
    size_t i = 0;
    while (i < s.n && memchr("ugoa", s.p[i], 4))
        who |= who_of(s.p[i++]);
    if (who == 0)
        who = 07777;
    if (i == s.n || !memchr("+-=", s.p[i], 3))
        return -1;
    while (i < s.n && memchr("+-=", s.p[i], 3)) {
        char op = s.p[i++];
        mode_t bits = 0;
        for (; i < s.n && memchr("rwxXst", s.p[i], 6); i++)
            bits |= bits_of(s.p[i], now, folder) & who;
        /* A folder keeps set-id bits that are not named, as with chmod(1). */
        mode_t cleared = who & (folder ? 01777 : 07777);
        *mode = op == '+'   ? *mode | bits
                : op == '-' ? *mode & ~bits
                            : (*mode & ~cleared) | bits;
    }
    return i == s.n ? 0 : -1;
}

/*
 * Parses octal digits, or clauses that change the mode `now`. Returns -1 if it is
 * neither.
 */
static int mode_of(struct str s, mode_t now, bool folder, mode_t *out)
{
    mode_t octal = 0;
    size_t i = 0;
    *out = now & 07777;
    while (i < s.n && i < 5 && s.p[i] >= '0' && s.p[i] <= '7')
        octal = octal * 8 + (mode_t)(s.p[i++] - '0');
    if (i > 0 && i == s.n && octal <= 07777) {
        *out = octal;
        return 0;
    }
    if (s.n == 0 || s.p[s.n - 1] == ',')
        return -1;
    while (s.n > 0) {
        if (apply_clause(str_cut(&s, ','), out, folder) < 0)
            return -1;
    }
    return 0;
}

static int want_mode(const struct fa *f, mode_t now, bool folder, mode_t *out,
                     struct err *e)
{
    struct str s = fa_str(f, "mode", "");
    if (mode_of(s, now, folder, out) == 0)
        return 0;
    return err_set(e, ERR_INVALID,
                   "mode must be octal, as in \"644\", or as in \"u+x,go-w\", not "
                   "\"%.*s\"",
                   s.n > 60 ? 60 : (int)s.n, s.p);
}

static int chmod_one(struct fa *f, int dir, const char *name, const struct stat *st,
                     struct err *e)
{
    mode_t mode = st->st_mode & 07777;
    if ((fa_has(f, "mode") &&
         want_mode(f, st->st_mode, S_ISDIR(st->st_mode), &mode, e) < 0) ||
        fa_give(f, dir, name, e) < 0)
        return -1;
    if (fa_has(f, "owner") || fa_has(f, "group")) { /* the kernel drops set-id bits */
        if (fchmodat(dir, name, mode, 0) < 0)
            return fa_fail(e, errno, "change the mode of", name);
    } else if (mode != (st->st_mode & 07777) && fchmodat(dir, name, mode, 0) < 0)
        return fa_fail(e, errno, "change the mode of", name);
    f->files++;
    return 0;
}

/* All below the folder that is open as fd, which is taken; links are left alone. */
static int chmod_below(struct fa *f, int fd, const char *shown, int depth, struct err *e)
{
    struct fa_names names = {0};
    int list = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    if (depth == FA_DEPTH) {
        if (list >= 0)
            close(list);
        rc = err_set(e, ERR_LIMIT, "%.200s is more than %d folders deep", shown,
                     FA_DEPTH);
    } else {
        rc = list < 0 ? fa_fail(e, errno, "list", shown)
                      : fa_names(&names, list, shown, e);
    }
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = names.v[i];
        struct stat st;
        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode))
            continue;
        /* A folder is entered first: it may no longer be readable afterwards. */
        int below = S_ISDIR(st.st_mode)
                        ? openat(fd, name,
                                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                        : -1;
        rc = chmod_one(f, fd, name, &st, e);
        if (rc == 0 && S_ISDIR(st.st_mode) && below < 0)
            below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (rc == 0 && S_ISDIR(st.st_mode))
            rc = below < 0 ? fa_fail(e, errno, "enter", name)
                           : chmod_below(f, below, name, depth + 1, e);
        else if (below >= 0)
            close(below);
    }
    fa_names_free(&names);
    close(fd);
    return rc;
}

int fa_chmod(struct fa *f, struct err *e)
{
    char path[PATH_MAX];
    struct stat st;
    if (fa_path(f, "path", path, e) < 0)
        return -1;
    if (stat(path, &st) < 0)
        return fa_fail(e, errno, "change the mode of", path);
    if (fa_bool(f, "recursive") && S_ISDIR(st.st_mode)) {
        mode_t mode;
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fa_has(f, "mode") && want_mode(f, st.st_mode, true, &mode, e) < 0)
            return -1;
        if (fd < 0)
            return fa_fail(e, errno, "enter", path);
        if (chmod_below(f, fd, path, 0, e) < 0)
            return -1;
    }
    if (chmod_one(f, AT_FDCWD, path, &st, e) < 0 || stat(path, &st) < 0)
        return -1;
    fa_put_path(&f->out, "path", str_of(path));
    buf_addf(&f->out, ",\"mode\":\"%04o\",\"changed\":%llu", (unsigned)st.st_mode & 07777,
             (unsigned long long)f->files);
    return 0;
}

/* ---- mkdir ---- */

int fa_mkdir(struct fa *f, struct err *e)
{
    char path[PATH_MAX];
    mode_t mode = 0777;
    struct stat st;
    bool made = false;
    if (fa_path(f, "path", path, e) < 0 ||
        (fa_has(f, "mode") && want_mode(f, 0777, true, &mode, e) < 0))
        return -1;
    for (char *p = path + 1; p[-1]; p++) {
        if (*p && *p != '/')
            continue;
        char c = *p;
        *p = 0;
        int rc = mkdir(path, 0777), why = errno;
        made = rc == 0;
        if (rc < 0 && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
            return fa_fail(e, why == EEXIST && c ? ENOTDIR : why, "make the folder",
                           path);
        *p = c;
        if (!c)
            break;
    }
    if (made && fa_give(f, AT_FDCWD, path, e) < 0)
        return -1;
    if (made && fa_has(f, "mode") && chmod(path, mode) < 0)
        return fa_fail(e, errno, "change the mode of", path);
    fa_put_path(&f->out, "path", str_of(path));
    buf_addf(&f->out, ",\"created\":%s", made || f->q->resumed ? "true" : "false");
    return 0;
}

/* ---- copy and move ---- */

/* Returns -1 and sets *e if the folder of `to` is `from`, or below it. */
static int check_inside(const char *from, const char *to, struct err *e)
{
    char dir[PATH_MAX];
    struct stat st, top;
    snprintf(dir, sizeof(dir), "%s", to);
    char *slash = strrchr(dir, '/');
    slash[slash == dir] = 0;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || stat("/", &top) < 0) {
        if (fd >= 0)
            close(fd);
        return fa_fail(e, errno, "enter", dir);
    }
    struct stat source;
    int rc = lstat(from, &source) < 0 ? fa_fail(e, errno, "look at", from) : 0;
    while (rc == 0) {
        if (st.st_dev == source.st_dev && st.st_ino == source.st_ino)
            rc = err_set(e, ERR_INVALID, "%.200s would be inside of %.200s itself", to,
                         from);
        if (rc < 0 || (st.st_dev == top.st_dev && st.st_ino == top.st_ino))
            break;
        int up = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (up < 0)
            break; /* as far as we may see */
        close(fd);
        fd = up;
        if (fstat(fd, &st) < 0)
            break;
    }
    close(fd);
    return rc;
}

/* Makes a whole copy at `to`; with again, only the parts that are missing. */
static int copy_to(struct fa *f, struct fa_stage *s, const char *from, const char *to,
                   struct err *e)
{
    bool overwrite = fa_bool(f, "overwrite");
    if (s->state == STAGE_PLACED)
        return 0;
    if (s->state == STAGE_NEW) {
        struct stat st;
        if (check_inside(from, to, e) < 0)
            return -1;
        if (!overwrite && lstat(to, &st) == 0)
            return err_set(e, ERR_EXISTS,
                           "cannot make %.200s: there is something already; ask for "
                           "overwrite",
                           to);
        if (fa_copy_tree(f, from, s->part, e) < 0 || fa_stage_whole(s, e) < 0) {
            struct err none = ERR_INIT;
            fa_remove_tree(f, s->part, &none);
            return -1;
        }
    }
    return fa_place(s->part, to, overwrite, e);
}

static int two_paths(struct fa *f, char from[PATH_MAX], char to[PATH_MAX], struct err *e)
{
    if (fa_path(f, "from", from, e) < 0 || fa_path(f, "to", to, e) < 0)
        return -1;
    return strcmp(from, to) == 0 ? err_set(e, ERR_INVALID, "from and to are the same")
                                 : 0;
}

static void put_both(struct fa *f, const char *from, const char *to)
{
    fa_put_path(&f->out, "from", str_of(from));
    buf_addc(&f->out, ',');
    fa_put_path(&f->out, "to", str_of(to));
}

int fa_copy(struct fa *f, struct err *e)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct fa_stage s;
    struct stat st;
    if (two_paths(f, from, to, e) < 0)
        return -1;
    if (!f->q->resumed && lstat(from, &st) < 0)
        return fa_fail(e, errno, "copy", from);
    if (fa_stage_beside(f, &s, to, e) < 0 || copy_to(f, &s, from, to, e) < 0)
        return -1;
    put_both(f, from, to);
    buf_addf(&f->out, ",\"copied\":%llu,\"bytes\":%llu", (unsigned long long)f->files,
             (unsigned long long)f->bytes);
    return 0;
}

/* To another file system: copies, then removes the source. */
static int move_far(struct fa *f, const char *from, const char *to, struct err *e)
{
    struct fa_stage s;
    struct stat st;
    if (fa_stage_beside(f, &s, to, e) < 0 || copy_to(f, &s, from, to, e) < 0)
        return -1;
    return lstat(from, &st) < 0 ? 0 : fa_remove_tree(f, from, e);
}

/* The argument `name`, if `to` is a folder. */
static int name_in_folder(const struct fa *f, char to[PATH_MAX], struct err *e)
{
    struct str name = fa_str(f, "name", "");
    struct stat st;
    size_t n = strlen(to);
    if (name.n == 0 || stat(to, &st) < 0 || !S_ISDIR(st.st_mode))
        return 0;
    if (str_chr(name, '/') >= 0 || n + name.n + 2 > PATH_MAX)
        return err_set(e, ERR_INVALID, "the name cannot be one of a file in a folder");
    snprintf(to + n, PATH_MAX - n, "/%.*s", STR_ARG(name));
    return 0;
}

/* The mode of a new file, as open(2) would give it. */
static mode_t new_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* A file of more than REPLACE_MAX bytes takes the place, with mode and owner of the one
 * that it replaces; attributes are lost. */
static int dress_as(const char *from, const struct stat *old, struct err *e)
{
    if (chown(from, old->st_uid, old->st_gid) < 0)
        return fa_fail(e, errno, "keep the owner, for", from);
    return chmod(from, old->st_mode & 07777) < 0
               ? fa_fail(e, errno, "set the mode of", from)
               : 0;
}

/*
 * keep: the file `from` becomes the content of the file `to`. Returns 1 if it is done; 0
 * if `from`, as it is now, is to be moved to `to`, which may have become the target of a
 * link. Doing it twice is the same as once: `from` goes last.
 */
static int move_content(struct fa *f, const char *from, char to[PATH_MAX], struct err *e)
{
    char full[PATH_MAX];
    struct stat a, b;
    struct buf bytes = BUF_INIT(REPLACE_MAX);
    if (lstat(from, &a) < 0)
        return 0; /* moved already, or an error of the move */
    if (file_check_kind(a.st_mode, "move", from, e) < 0)
        return -1;
    if (stat(to, &b) < 0)
        return chmod(from, new_mode()) < 0 ? fa_fail(e, errno, "set the mode of", from)
                                           : 0;
    if (!fa_bool(f, "overwrite"))
        return 0; /* the move reports that it exists */
    if (file_check_kind(b.st_mode, "write", to, e) < 0)
        return -1;
    if (a.st_size > REPLACE_MAX) {
        if (realpath(to, full))
            snprintf(to, PATH_MAX, "%s", full);
        return dress_as(from, &b, e);
    }
    struct files_put put = {.token = f->q->token, .mode = new_mode()};
    int rc = file_read(from, REPLACE_MAX, &bytes, e);
    if (rc == 0)
        rc = files_replace(to, buf_str(&bytes), &put, e);
    if (rc == 0 && unlink(from) < 0 && errno != ENOENT)
        rc = fa_fail(e, errno, "remove", from);
    buf_release(&bytes);
    return rc < 0 ? -1 : 1;
}

int fa_move(struct fa *f, struct err *e)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct stat a, b;
    struct fa_stage s = {.state = STAGE_NEW};
    bool overwrite = fa_bool(f, "overwrite");
    if (two_paths(f, from, to, e) < 0 || name_in_folder(f, to, e) < 0 ||
        (f->q->resumed && fa_stage_beside(f, &s, to, e) < 0))
        return -1;
    if (fa_bool(f, "parents") && fa_parents(to, e) < 0)
        return -1;
    if (fa_bool(f, "keep") && s.state == STAGE_NEW) {
        int done = move_content(f, from, to, e);
        if (done > 0)
            put_both(f, from, to);
        if (done)
            return done < 0 ? -1 : 0;
    }
    bool there = lstat(from, &a) == 0, copied = s.state != STAGE_NEW;
    if (!there && !copied && !(f->q->resumed && lstat(to, &b) == 0))
        return fa_fail(e, ENOENT, "move", from);
    int why = there && !copied ? fa_try_place(from, to, overwrite) : 0, rc = 0;
    /* Another file system; or a folder of an image's layer, which cannot be renamed. */
    if (why == EXDEV || copied)
        rc = move_far(f, from, to, e);
    else if (why)
        rc = fa_no_place(why, to, overwrite, e);
    if (rc == 0)
        put_both(f, from, to);
    return rc;
}

/* ---- remove ---- */

/* The working folder and all above it stay. */
static int check_above(const struct fa *f, const char *path, const struct stat *st,
                       struct err *e)
{
    struct stat now, top;
    int fd = open(f->q->cwd, O_PATH | O_DIRECTORY | O_CLOEXEC), rc = 0;
    bool found = stat("/", &top) == 0 && st->st_dev == top.st_dev &&
                 st->st_ino == top.st_ino;
    while (fd >= 0 && !found && fstat(fd, &now) == 0) {
        found = now.st_dev == st->st_dev && now.st_ino == st->st_ino;
        if (now.st_dev == top.st_dev && now.st_ino == top.st_ino)
            break;
        int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = up;
    }
    if (fd >= 0)
        close(fd);
    if (found)
        rc = err_set(e, ERR_DENIED,
                     "cannot remove %.200s: it is the working folder, or one above it",
                     path);
    return rc;
}

/* All that is in a folder, which stays. */
static int remove_contents(struct fa *f, const char *path, struct err *e)
{
    struct fa_names names;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fa_fail(e, errno, "list", path);
    int rc = fa_names(&names, fd, path, e);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        char below[PATH_MAX];
        snprintf(below, sizeof(below), "%.*s/%s", PATH_MAX - NAME_MAX - 2, path,
                 names.v[i]);
        rc = fa_remove_tree(f, below, e);
    }
    if (rc == 0)
        fa_names_free(&names);
    return rc;
}

/* Is it the folder at which relative paths begin? */
static bool is_working(const struct fa *f, const struct stat *st)
{
    struct stat cwd;
    return stat(f->q->cwd, &cwd) == 0 && cwd.st_dev == st->st_dev &&
           cwd.st_ino == st->st_ino;
}

int fa_remove(struct fa *f, struct err *e)
{
    char path[PATH_MAX];
    struct stat st;
    if (fa_path(f, "path", path, e) < 0)
        return -1;
    int rc = lstat(path, &st) < 0 ? errno : 0;
    if (rc != 0 && !(rc == ENOENT && f->q->resumed))
        return fa_fail(e, rc, "remove", path);
    if (rc == 0 && fa_bool(f, "contents") && is_working(f, &st)) {
        if (!fa_bool(f, "recursive"))
            return err_set(e, ERR_EXISTS,
                           "cannot remove the content of %.200s: ask for recursive",
                           path);
        if (remove_contents(f, path, e) < 0)
            return -1;
    } else if (rc == 0) {
        if (S_ISDIR(st.st_mode) && fa_bool(f, "file"))
            return err_set(e, ERR_INVALID, "cannot remove %.200s: it is a folder", path);
        if (S_ISDIR(st.st_mode) && check_above(f, path, &st, e) < 0)
            return -1;
        if (S_ISDIR(st.st_mode) && !fa_bool(f, "recursive")) {
            if (rmdir(path) < 0)
                return errno == ENOTEMPTY
                           ? err_set(
                                 e, ERR_EXISTS,
                                 "cannot remove %.200s: there is something in it; ask "
                                 "for recursive",
                                 path)
                           : fa_fail(e, errno, "remove", path);
            f->files++;
        } else if (fa_remove_tree(f, path, e) < 0) {
            return -1;
        }
    }
    fa_put_path(&f->out, "path", str_of(path));
    buf_addf(&f->out, ",\"removed\":%llu", (unsigned long long)f->files);
    return 0;
}

/* ---- replace ---- */

/* Appends text to out with `with` in place of each `old`. Returns how many there
 * were. */
static int64_t put_replaced(struct buf *out, struct str text, struct str old,
                            struct str with)
{
    int64_t n = 0;
    long at;
    while ((at = str_find(text, old)) >= 0) {
        buf_add(out, text.p, (size_t)at);
        buf_adds(out, with);
        text = str_sub(text, (size_t)at + old.n, text.n);
        n++;
    }
    buf_adds(out, text);
    return n;
}

/* The new text, staged; as the file that it replaces, but of this user. */
static int write_staged(struct fa *f, struct fa_stage *s, struct str text,
                        const struct stat *st, struct err *e)
{
    int fd = open(s->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fa_fail(e, errno, "write", s->part);
    int rc = file_write_all(fd, text) < 0 ? fa_fail(e, errno, "write", s->part) : 0;
    if (rc == 0 && fchown(fd, st->st_uid, st->st_gid) < 0)
        fa_warn(f, "%s has another owner now", s->part);
    if (rc == 0 && fchmod(fd, st->st_mode & 07777) < 0)
        rc = fa_fail(e, errno, "set the mode of", s->part);
    close(fd);
    return rc == 0 ? fa_stage_whole(s, e) : rc;
}

int fa_replace(struct fa *f, struct err *e)
{
    char path[PATH_MAX], full[PATH_MAX];
    struct fa_stage s = {.state = STAGE_NEW};
    struct stat st;
    struct buf text = BUF_INIT(REPLACE_MAX), out = BUF_INIT(2 * REPLACE_MAX);
    int64_t n = 0;
    if (fa_path(f, "path", path, e) < 0)
        return -1;
    if (!f->q->root && realpath(path, full))
        snprintf(path, sizeof(path), "%s", full);
    int rc = fa_stage_beside(f, &s, path, e);
    if (rc == 0 && s.state == STAGE_NEW) {
        rc = stat(path, &st) < 0 ? fa_fail(e, errno, "read", path)
                                 : file_read(path, REPLACE_MAX, &text, e);
        if (rc == 0)
            n = put_replaced(&out, buf_str(&text), fa_str(f, "old", ""),
                             fa_str(f, "new", ""));
        if (rc == 0 && buf_full(&out))
            rc = err_set(e, ERR_LIMIT, "the new text of %.200s is too long", path);
        if (rc == 0 && n > 0)
            rc = write_staged(f, &s, buf_str(&out), &st, e);
    }
    if (rc == 0 && (n > 0 || s.state == STAGE_WHOLE))
        rc = fa_place(s.part, path, true, e);
    fa_put_path(&f->out, "path", str_of(path));
    buf_addf(&f->out, ",\"replaced\":%lld", (long long)n);
    buf_release(&text);
    buf_release(&out);
    return rc;
}
