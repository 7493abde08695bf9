/* SPDX-License-Identifier: MIT */
/* Arguments and paths of fileact.h; stat and list. */
#include "base/enc.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "file/root.h"
#include "file/fileact_own.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    NAMES_MAX = 1 << 20, /* in one folder */
    LIST_LIMIT = 1000,   /* entries of a page, where nothing else is asked */
    LIST_LIMIT_MAX = 10000,
    LIST_BYTES = 256 << 10 /* of a page; one more entry may be as long */
};

/* ---- arguments ---- */

struct str fa_str(const struct fa *f, const char *name, const char *dflt)
{
    return json_str(f->q->args, name, dflt);
}

bool fa_bool(const struct fa *f, const char *name)
{
    return json_bool(f->q->args, name, false);
}

int64_t fa_int(const struct fa *f, const char *name, int64_t dflt)
{
    int64_t n = json_int(f->q->args, name, dflt);
    return n > 0 ? n : dflt;
}

bool fa_has(const struct fa *f, const char *name)
{
    char base64[32];
    snprintf(base64, sizeof(base64), "%s_base64", name);
    return json_is_string(json_get(f->q->args, name)) ||
           json_is_string(json_get(f->q->args, base64));
}

static int too_long(const char *name, struct err *e)
{
    return err_set(e, ERR_INVALID, "%s is longer than a path can be (%d bytes)", name,
                   PATH_MAX - 1);
}

/* fa_path within the root. */
static int path_inside(const struct fa *f, struct str given, char out[PATH_MAX],
                       struct err *e)
{
    char inside[PATH_MAX];
    const char *name;
    if (root_resolve(f->q->root, given, inside, e) < 0)
        return -1;
    int dir = root_enter(f->q->root, inside, fa_bool(f, "parents"), &name, e);
    if (dir < 0)
        return -1;
    int rc = fchdir(dir) < 0 ? fa_fail(e, errno, "enter the folder of", inside) : 0;
    close(dir);
    if (snprintf(out, PATH_MAX, "./%s", name) >= PATH_MAX)
        return too_long("path", e);
    return rc;
}

int fa_path_of(const struct fa *f, const char *name, struct str given, char out[PATH_MAX],
               struct err *e)
{
    if (given.n == 0 && !f->q->root)
        return err_set(e, ERR_INVALID, "%s is empty", name);
    if (given.n && memchr(given.p, 0, given.n))
        return err_set(e, ERR_INVALID, "%s has a zero byte", name);
    bool absolute = given.n > 0 && given.p[0] == '/';
    size_t n = absolute ? 0 : strlen(f->q->cwd) + 1;
    if (n + given.n >= PATH_MAX)
        return too_long(name, e);
    if (f->q->root)
        return path_inside(f, given, out, e);
    snprintf(out, PATH_MAX, "%s%s%.*s", absolute ? "" : f->q->cwd, absolute ? "" : "/",
             STR_ARG(given));
    /* A slash at the end would make a link's name its target's. */
    for (size_t end = strlen(out); end > 1 && out[end - 1] == '/'; end--)
        out[end - 1] = 0;
    return 0;
}

int fa_path(const struct fa *f, const char *name, char out[PATH_MAX], struct err *e)
{
    char base64[32];
    struct buf b = BUF_INIT(4 * PATH_MAX);
    snprintf(base64, sizeof(base64), "%s_base64", name);
    struct str given = fa_str(f, name, ""), bytes = fa_str(f, base64, "");
    int rc = 0;
    if (bytes.n > 0 && dec_base64(&b, bytes) < 0 && bytes.n < 2 * PATH_MAX)
        rc = err_set(e, ERR_INVALID, "%s must be base64", base64);
    else if (bytes.n >= 2 * PATH_MAX || (bytes.n == 0 && buf_adds(&b, given) < 0))
        rc = too_long(name, e);
    if (rc == 0)
        rc = fa_path_of(f, name, buf_str(&b), out, e);
    buf_release(&b);
    return rc;
}

int fa_fail(struct err *e, int errnum, const char *verb, const char *path)
{
    char shown[256];
    snprintf(shown, sizeof(shown), "%.200s%s", path, strlen(path) > 200 ? "…" : "");
    file_fail(e, errnum, verb, shown);
    if (errnum == EEXIST || errnum == ENOTEMPTY)
        e->code = ERR_EXISTS;
    else if (errnum == ENAMETOOLONG || errnum == ELOOP || errnum == EINVAL)
        e->code = ERR_INVALID;
    else if (errnum == EBUSY)
        e->code = ERR_BUSY;
    return -1;
}

void fa_warn(const struct fa *f, const char *fmt, ...)
{
    char note[1024] = "W";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(note + 1, sizeof(note) - 1, fmt, ap);
    va_end(ap);
    job_note(f->c, str_of(note));
}

int fa_put_path(struct buf *out, const char *name, struct str path)
{
    buf_addf(out, "\"%s\":", name);
    json_quote(out, path);
    if (!utf8_valid(path)) {
        buf_addf(out, ",\"%s_base64\":\"", name);
        enc_base64(out, path);
        buf_addc(out, '"');
    }
    return buf_full(out) ? -1 : 0;
}

/* ---- facts ---- */

static const char *type_of(mode_t mode)
{
    return S_ISREG(mode)    ? "file"
           : S_ISDIR(mode)  ? "folder"
           : S_ISLNK(mode)  ? "link"
           : S_ISFIFO(mode) ? "pipe"
           : S_ISSOCK(mode) ? "socket"
                            : "device";
}

static int put_target(struct buf *out, int dir, const char *name)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(dir, name, target, sizeof(target));
    if (n < 0)
        return 0;
    buf_addc(out, ',');
    return fa_put_path(out, "target", str_n(target, (size_t)n));
}

/* After a path, without a comma at its end. */
static int put_facts(struct buf *out, int dir, const char *name, const struct stat *st)
{
    int rc = buf_addf(out, ",\"type\":\"%s\",\"size\":%llu,\"mode\":\"%04o\"",
                      type_of(st->st_mode), (unsigned long long)st->st_size,
                      (unsigned)st->st_mode & 07777);
    rc |= buf_addf(out, ",\"mtime\":%lld.%06ld", (long long)st->st_mtim.tv_sec,
                   st->st_mtim.tv_nsec / 1000);
    return S_ISLNK(st->st_mode) ? rc | put_target(out, dir, name) : rc;
}

/* The names of owner and group, where there are such. */
static void put_owner(struct buf *out, const struct stat *st)
{
    struct passwd *pw = getpwuid(st->st_uid);
    struct group *gr = getgrgid(st->st_gid);
    buf_addf(out, ",\"uid\":%u,\"gid\":%u", (unsigned)st->st_uid, (unsigned)st->st_gid);
    if (pw) {
        buf_addz(out, ",\"owner\":");
        json_quote(out, str_of(pw->pw_name));
    }
    if (gr) {
        buf_addz(out, ",\"group\":");
        json_quote(out, str_of(gr->gr_name));
    }
    buf_addf(out, ",\"ctime\":%lld.%06ld", (long long)st->st_ctim.tv_sec,
             st->st_ctim.tv_nsec / 1000);
}

/* ---- parents, owners ---- */

int fa_parents(const char *path, struct err *e)
{
    char part[PATH_MAX];
    struct stat st;
    snprintf(part, sizeof(part), "%s", path);
    for (char *p = part; (p = strchr(p + 1, '/'));) {
        *p = 0;
        if (mkdir(part, 0777) < 0 && (stat(part, &st) < 0 || !S_ISDIR(st.st_mode)))
            return fa_fail(e, errno == EEXIST ? ENOTDIR : errno, "make the folder", part);
        *p = '/';
    }
    return 0;
}

/* Sets *id to the id that an argument names; UINT32_MAX if it is missing. */
static int id_of(const struct fa *f, const char *name, bool group, uint32_t *id,
                 struct err *e)
{
    struct str text = fa_str(f, name, "");
    uint64_t n;
    char z[256];
    *id = UINT32_MAX;
    if (text.n == 0)
        return 0;
    snprintf(z, sizeof(z), "%.*s", (int)(text.n < 255 ? text.n : 255), text.p);
    struct passwd *pw = group ? NULL : getpwnam(z);
    struct group *gr = group ? getgrnam(z) : NULL;
    if (pw || gr)
        *id = pw ? pw->pw_uid : gr->gr_gid;
    else if (str_to_u64(text, &n) == 0 && n < UINT32_MAX)
        *id = (uint32_t)n;
    else
        return err_set(e, ERR_INVALID, "there is no %s %.200s", group ? "group" : "user",
                       z);
    return 0;
}

/* Returns 1 if the arguments name an owner or a group; 0; -1 and sets *e. */
static int new_owner(const struct fa *f, uint32_t *uid, uint32_t *gid, struct err *e)
{
    if (id_of(f, "owner", false, uid, e) < 0 || id_of(f, "group", true, gid, e) < 0)
        return -1;
    return *uid != UINT32_MAX || *gid != UINT32_MAX;
}

int fa_give(const struct fa *f, int dir, const char *path, struct err *e)
{
    uint32_t uid, gid;
    int rc = new_owner(f, &uid, &gid, e);
    if (rc > 0 && fchownat(dir, path, uid, gid, 0) < 0)
        return fa_fail(e, errno, "change the owner of", path);
    return rc < 0 ? -1 : 0;
}

int fa_give_file(const struct fa *f, int fd, const char *path, struct err *e)
{
    uint32_t uid, gid;
    int rc = new_owner(f, &uid, &gid, e);
    if (rc > 0 && fchown(fd, uid, gid) < 0)
        return fa_fail(e, errno, "change the owner of", path);
    return rc < 0 ? -1 : 0;
}

/* The final target of a link: ,"to":"PATH","to_type","to_mode". */
static void put_end(struct buf *out, int dir, const char *name)
{
    char path[64], to[PATH_MAX];
    struct stat st;
    int fd = openat(dir, name, O_PATH | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) {
        if (fd >= 0)
            close(fd);
        return;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, to, sizeof(to));
    close(fd);
    if (n > 0 && (size_t)n < sizeof(to)) {
        buf_addc(out, ',');
        fa_put_path(out, "to", str_n(to, (size_t)n));
    }
    buf_addf(out, ",\"to_type\":\"%s\",\"to_mode\":\"%04o\"", type_of(st.st_mode),
             (unsigned)st.st_mode & 07777);
}

/* The extended attributes user.* as an object, if there are any. */
static void put_attributes(struct buf *out, int dir, const char *name)
{
    char path[PATH_MAX + 64], names[4096], value[4096];
    bool any = false;
    if (dir == AT_FDCWD)
        snprintf(path, sizeof(path), "%s", name);
    else
        snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir, name);
    ssize_t n = llistxattr(path, names, sizeof(names));
    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1) {
        if (strncmp(names + at, "user.", 5) != 0)
            continue;
        ssize_t size = lgetxattr(path, names + at, value, sizeof(value));
        if (size < 0)
            continue;
        buf_addz(out, any ? "," : ",\"attributes\":{");
        json_quote(out, str_of(names + at));
        buf_addc(out, ':');
        json_quote(out, str_n(value, (size_t)size));
        any = true;
    }
    if (any)
        buf_addc(out, '}');
}

static void put_full(struct buf *out, int dir, const char *name, const struct stat *st)
{
    put_owner(out, st);
    if (S_ISLNK(st->st_mode))
        put_end(out, dir, name);
    put_attributes(out, dir, name);
}

int fa_put_entry(struct buf *out, const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return -1;
    fa_put_path(out, "path", str_of(path));
    put_facts(out, AT_FDCWD, path, &st);
    put_full(out, AT_FDCWD, path, &st);
    return 0;
}

int fa_stat(struct fa *f, struct err *e)
{
    char path[PATH_MAX];
    struct stat st;
    if (fa_path(f, "path", path, e) < 0)
        return -1;
    int flags = fa_bool(f, "follow") ? 0 : AT_SYMLINK_NOFOLLOW;
    if (fstatat(AT_FDCWD, path, &st, flags) < 0)
        return fa_fail(e, errno, "look at", path);
    fa_put_path(&f->out, "path", str_of(path));
    put_facts(&f->out, AT_FDCWD, path, &st);
    if (fa_bool(f, "full"))
        put_full(&f->out, AT_FDCWD, path, &st);
    else
        put_owner(&f->out, &st);
    buf_addf(&f->out, ",\"links\":%llu", (unsigned long long)st.st_nlink);
    return 0;
}

/* ---- list ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void fa_names_free(struct fa_names *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
    *l = (struct fa_names){0};
}

int fa_names(struct fa_names *l, int fd, const char *path, struct err *e)
{
    DIR *d = fdopendir(fd);
    struct dirent *x;
    size_t cap = 0;
    int rc = 0;
    *l = (struct fa_names){0};
    if (!d) {
        rc = fa_fail(e, errno, "list", path);
        close(fd);
        return rc;
    }
    while (rc == 0 && (errno = 0, x = readdir(d))) {
        if (strcmp(x->d_name, ".") == 0 || strcmp(x->d_name, "..") == 0)
            continue;
        if (l->n == cap) {
            cap = cap ? 2 * cap : 64;
            l->v = xrealloc(l->v, cap, sizeof(*l->v));
        }
        l->v[l->n++] = xstrdup(x->d_name);
        if (l->n == NAMES_MAX)
            rc = err_set(e, ERR_LIMIT, "cannot list %.200s: it has more than %d names",
                         path, NAMES_MAX);
    }
    if (rc == 0 && errno)
        rc = fa_fail(e, errno, "list", path);
    closedir(d);
    if (rc < 0)
        fa_names_free(l);
    else if (l->n > 0)
        qsort(l->v, l->n, sizeof(*l->v), by_name);
    return rc;
}

struct fileact_listing {
    struct fa *f;
    struct buf path; /* of the current entry, relative */
    struct buf last; /* the entry that was put last */
    size_t n, limit;
    int depth; /* folders below each other that are listed */
    bool follow;
    bool all;  /* what `full` asks for is reported, too */
    bool full; /* the page is */
};

static int put_entry(struct fileact_listing *l, int dir, const char *name,
                     const struct stat *st)
{
    struct buf *out = &l->f->out;
    if (l->n == l->limit || out->n > LIST_BYTES) {
        l->full = true;
        return -1;
    }
    buf_addz(out, l->n++ ? ",{" : "{");
    fa_put_path(out, "path", buf_str(&l->path));
    put_facts(out, dir, name, st);
    if (l->all)
        put_full(out, dir, name, st);
    buf_reset(&l->last);
    buf_adds(&l->last, buf_str(&l->path));
    return buf_addc(out, '}');
}

static int list_folder(struct fileact_listing *l, int fd, const char *shown,
                       struct str after, int depth, struct err *e);

/* Below the folder `name`, as far as it can be seen. */
static void enter(struct fileact_listing *l, int dir, const char *name, struct str after,
                  int depth)
{
    struct err e = ERR_INIT;
    int fd = depth + 1 < l->depth
                 ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                 : -1;
    if (fd >= 0)
        list_folder(l, fd, name, after, depth + 1, &e);
}

static void list_one(struct fileact_listing *l, int dir, const char *name,
                     struct str part, struct str after, int depth)
{
    struct stat st, at;
    size_t before = l->path.n;
    bool seen = part.n && str_eq(part, str_of(name));
    if (before)
        buf_addc(&l->path, '/');
    buf_addz(&l->path, name);
    bool there = fstatat(dir, name, &at, AT_SYMLINK_NOFOLLOW) == 0;
    st = at;
    if (there && l->follow && S_ISLNK(at.st_mode))
        there = fstatat(dir, name, &st, 0) == 0;
    if (there && (seen || put_entry(l, dir, name, &st) == 0) && S_ISDIR(at.st_mode))
        enter(l, dir, name, seen ? after : STR(""), depth);
    buf_truncate(&l->path, before);
}

/* Takes fd. after: the last name that was already listed; "": none. */
static int list_folder(struct fileact_listing *l, int fd, const char *shown,
                       struct str after, int depth, struct err *e)
{
    ASSERT(fd >= 0);
    struct fa_names names;
    struct str part = str_cut(&after, '/');
    char first[NAME_MAX + 1] = "";
    int keep = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (keep < 0 || part.n > NAME_MAX) {
        close(fd);
        if (keep >= 0)
            close(keep);
        return err_set(e, ERR_LIMIT, "cannot list %.200s: no descriptor, or a bad cursor",
                       shown);
    }
    if (part.n)
        memcpy(first, part.p, part.n);
    int rc = fa_names(&names, fd, shown, e);
    for (size_t i = 0; rc == 0 && i < names.n && !l->full; i++) {
        if (strcmp(names.v[i], first) >= 0)
            list_one(l, keep, names.v[i], part, after, depth);
    }
    if (rc == 0)
        fa_names_free(&names);
    close(keep);
    return rc;
}

/* The next page begins after the last entry. */
static void put_cursor(struct fileact_listing *l)
{
    if (!l->full)
        return;
    buf_addz(&l->f->out, ",\"cursor\":\"");
    enc_base64(&l->f->out, buf_str(&l->last));
    buf_addc(&l->f->out, '"');
}

int fa_list(struct fa *f, struct err *e)
{
    struct fileact_listing l = {.f = f,
                                .all = fa_bool(f, "full"),
                                .follow = fa_bool(f, "follow"),
                                .limit = (size_t)fa_int(f, "limit", LIST_LIMIT),
                                .path = BUF_INIT(FA_DEPTH * (NAME_MAX + 1)),
                                .last = BUF_INIT(FA_DEPTH * (NAME_MAX + 1))};
    struct buf cursor = BUF_INIT(FA_DEPTH * (NAME_MAX + 1));
    char path[PATH_MAX];
    int fd = -1, rc = 0;
    int64_t depth = fa_int(f, "depth", fa_bool(f, "recursive") ? FA_DEPTH : 1);
    l.depth = depth < FA_DEPTH ? (int)depth : FA_DEPTH;
    if (l.limit > LIST_LIMIT_MAX)
        l.limit = LIST_LIMIT_MAX;
    if (dec_base64(&cursor, fa_str(f, "cursor", "")) < 0)
        rc = err_set(e, ERR_INVALID, "cursor is not one that list returned");
    if (rc == 0 && !fa_has(f, "path") && !f->q->root)
        snprintf(path, sizeof(path), "%s", f->q->cwd);
    else if (rc == 0)
        rc = fa_path(f, "path", path, e);
    if (rc == 0 && (fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC)) < 0)
        rc = errno == ENOTDIR && access(path, F_OK) == 0
                 ? err_set(e, ERR_INVALID, "cannot list %.200s: it is not a folder", path)
                 : fa_fail(e, errno, "list", path);
    if (rc == 0) {
        fa_put_path(&f->out, "path", str_of(path));
        buf_addz(&f->out, ",\"entries\":[");
        rc = list_folder(&l, fd, path, buf_str(&cursor), 0, e);
        buf_addz(&f->out, "]");
    }
    if (rc == 0)
        put_cursor(&l);
    buf_release(&l.path);
    buf_release(&l.last);
    buf_release(&cursor);
    return rc;
}
