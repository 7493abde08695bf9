/* SPDX-License-Identifier: MIT */
/*
 * Walks folders by descriptors. A folder's entries are read 64 KiB at a time, and names
 * are checked as they come: only those that may match take more system calls.
 *
 * gitignore(5): rules count in a repository, from its top folder down; each unit of work
 * has the lengths of the leading parts of its path that have a .gitignore. A repository
 * within another one has only its own rules.
 */
#include "base/xalloc.h"
#include "file/files.h"
#include "os/sys.h"
#include "search/own.h"
#include "text/glob.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    IGNORES_MAX = 4096, /* folders whose .gitignore, or lack of one, is remembered, */
    IGNORE_BYTES_MAX = 16 << 20, /* and bytes of those files */
    OPEN_AT_ONCE = PATH_MAX - 256,
    TOLD_MAX = 20 /* unreadable files that a helper names */
};

/* Marks a folder without a .gitignore. */
static char none_there;

/* The current folder. */
struct folder {
    int fd;
    size_t path_n; /* length of its path in w->path, with the slash at its end */
    struct search_rules rules;
};

void search_unread(struct search_helper *w, const char *doing, struct str path,
                   int errnum)
{
    char note[JOB_NOTE_MAX];
    if (w->unread++ >= TOLD_MAX)
        return;
    int n = snprintf(note, sizeof(note), "cannot %s %.*s: %s", doing,
                     (int)(path.n > 1000 ? 1000 : path.n), path.n ? path.p : ".",
                     errnum ? strerror(errnum) : "too much of it");
    job_note(w->child, str_n(note, (size_t)n));
}

/* ---- opening ---- */

/* Opens a path of any length, part by part if it is too long for the kernel. */
static int open_folder(int root, struct str path)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, dir = root;
    char part[PATH_MAX];
    while (path.n > OPEN_AT_ONCE) {
        const char *slash = memrchr(path.p, '/', OPEN_AT_ONCE);
        size_t n = slash ? (size_t)(slash - path.p) : 0;
        memcpy(part, path.p, n);
        part[n] = '\0';
        int next = openat(dir, part, flags | O_PATH);
        if (dir != root)
            close(dir);
        if (next < 0)
            return -1;
        dir = next;
        path = str_sub(path, n + 1, path.n);
    }
    memcpy(part, path.n ? path.p : ".", path.n ? path.n : 1);
    part[path.n ? path.n : 1] = '\0';
    int fd = openat(dir, part, flags);
    if (dir != root)
        close(dir);
    return fd;
}

/* ---- .gitignore ---- */

static struct ignore *read_rules(struct search_helper *w, int dir)
{
    int fd = openat(dir, ".gitignore",
                    O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    struct buf text = BUF_INIT(IGNORE_FILE_MAX);
    struct stat st;
    struct ignore *g = NULL;
    ssize_t n = 1;
    if (fd < 0)
        return NULL;
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    while (regular && n > 0 && buf_room(&text) > 0) {
        size_t room = buf_room(&text) < 16384 ? buf_room(&text) : 16384;
        char *p = buf_reserve(&text, room);
        n = p ? read(fd, p, room) : -1;
        buf_commit(&text, n > 0 ? (size_t)n : 0);
    }
    close(fd);
    if (regular && n >= 0)
        g = ignore_new(buf_str(&text));
    w->ignore_bytes += text.n;
    buf_release(&text);
    return g;
}

static void forget_ignores(struct search_helper *w)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&w->ignores, it, &key, &value));) {
        if (value != &none_there)
            ignore_free(value);
    }
    map_release(&w->ignores);
    map_init(&w->ignores);
    w->ignore_bytes = 0;
}

/*
 * Returns the rules of a folder, by its path with a slash at the end; NULL if it has
 * none.
 */
static const struct ignore *rules_of(struct search_helper *w, struct str folder, int fd)
{
    void *known = map_get(&w->ignores, folder);
    if (!known) {
        int dir = fd >= 0 ? fd
                          : open_folder(w->root,
                                        str_sub(folder, 0, folder.n ? folder.n - 1 : 0));
        struct ignore *g = dir >= 0 ? read_rules(w, dir) : NULL;
        if (fd < 0 && dir >= 0)
            close(dir);
        known = g ? (void *)g : &none_there;
        map_put(&w->ignores, folder, known);
    }
    return known == &none_there ? NULL : known;
}

/* Whether the rules leave out the file or folder at w->path. */
static bool is_ignored(struct search_helper *w, const struct folder *f, bool folder)
{
    struct str path = buf_str(&w->path);
    for (unsigned i = f->rules.n; i-- > 0;) {
        struct str top = str_sub(path, 0, f->rules.at[i]);
        const struct ignore *g = rules_of(w, top, -1);
        enum ignore_verdict v = g ? ignore_match(g, str_sub(path, top.n, path.n), folder)
                                  : IGNORE_UNKNOWN;
        if (v != IGNORE_UNKNOWN)
            return v == IGNORE_YES;
    }
    for (unsigned i = 0; f->rules.outer && i < w->outer_n; i++) {
        char whole[2 * PATH_MAX];
        int n = snprintf(whole, sizeof(whole), "%.*s%.*s", STR_ARG(w->outer[i].below),
                         STR_ARG(path));
        if (n < 0 || (size_t)n >= sizeof(whole))
            return false;
        enum ignore_verdict v = ignore_match(w->outer[i].rules, str_of(whole), folder);
        if (v != IGNORE_UNKNOWN)
            return v == IGNORE_YES;
    }
    return false;
}

/*
 * Finds the folders above the root, up to the top of its repository. Returns false if it
 * is not in one.
 */
static bool find_outer(struct search_helper *w)
{
    char dir[PATH_MAX], real[PATH_MAX], git[PATH_MAX + 8];
    snprintf(dir, sizeof(dir), "/proc/self/fd/%d", w->root);
    ssize_t n = readlink(dir, real, sizeof(real) - 2);
    if (n <= 0 || real[0] != '/')
        return false;
    real[n++] = '/';
    w->outer_path = xstrndup(real, (size_t)n);
    for (size_t end = (size_t)n; end > 0 && w->outer_n < SEARCH_RULES_MAX;) {
        snprintf(git, sizeof(git), "%.*s.git", (int)end, real);
        if (access(git, F_OK) == 0)
            return true;
        while (end > 1 && real[end - 2] != '/')
            end--;
        if (end-- <= 1)
            break;
        snprintf(git, sizeof(git), "%.*s", (int)end, real);
        int fd = open(git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct ignore *g = fd >= 0 ? read_rules(w, fd) : NULL;
        if (fd >= 0)
            close(fd);
        if (g)
            w->outer[w->outer_n++] = (struct search_outer){g, str_n(w->outer_path + end,
                                                                    (size_t)n - end)};
    }
    while (w->outer_n > 0)
        ignore_free(w->outer[--w->outer_n].rules);
    return false;
}

/* Checks whether a folder is a repository, and has rules. */
static void look_for_rules(struct search_helper *w, struct folder *f, size_t first_n,
                           bool more)
{
    bool git = false, rules = false;
    const char *p = (const char *)w->entries;
    for (size_t i = 0; i < first_n;) {
        const struct sys_entry *x = (const struct sys_entry *)(const void *)(p + i);
        git |= strcmp(x->name, ".git") == 0;
        rules |= strcmp(x->name, ".gitignore") == 0;
        i += x->size;
    }
    if (more) {
        git = git || faccessat(f->fd, ".git", F_OK, 0) == 0;
        rules = rules || faccessat(f->fd, ".gitignore", F_OK, 0) == 0;
    }
    if (git) {
        f->rules.n = 0;
        f->rules.repository = true;
        f->rules.outer = false;
    }
    if (!rules || !f->rules.repository || f->rules.n == SEARCH_RULES_MAX)
        return;
    if (rules_of(w, str_sub(buf_str(&w->path), 0, f->path_n), f->fd))
        f->rules.at[f->rules.n++] = (uint32_t)f->path_n;
}

/* ---- judging names ---- */

/* Whether one of the patterns matches: with a slash the path, else the name. */
static bool is_listed(const struct buf *patterns, struct str path, struct str name)
{
    for (size_t i = 0; i < patterns->n;) {
        struct str one = str_of(patterns->p + i);
        i += one.n + 1;
        bool whole = str_chr(one, '/') >= 0;
        if (whole && one.p[0] == '/')
            one = str_sub(one, 1, one.n);
        if (glob_match(one, whole ? path : name))
            return true;
    }
    return false;
}

static bool has_part(const struct search_spec *q, struct str name)
{
    return !q->name_part.n || str_find(name, q->name_part) >= 0;
}

static bool file_is_wanted(struct search_helper *w, const struct folder *f,
                           struct str name)
{
    const struct search_spec *q = w->spec;
    struct str path = buf_str(&w->path);
    if (!has_part(q, name) || (w->exclude.n && is_listed(&w->exclude, path, name)))
        return false;
    if (w->include.n)
        return is_listed(&w->include, path, name);
    if (!q->hidden_files && name.p[0] == '.')
        return false;
    return !q->gitignore || !f->rules.repository || !is_ignored(w, f, false);
}

static bool folder_is_wanted(struct search_helper *w, const struct folder *f,
                             struct str name)
{
    const struct search_spec *q = w->spec;
    if (!q->hidden_folders && name.p[0] == '.')
        return false;
    if (w->exclude.n && is_listed(&w->exclude, buf_str(&w->path), name))
        return false;
    return !q->gitignore || !f->rules.repository || !is_ignored(w, f, true);
}

/* Returns DT_DIR, DT_REG for a file that is searched, or DT_UNKNOWN for anything else. */
static unsigned char kind_of(const struct search_helper *w, const struct folder *f,
                             const struct sys_entry *x)
{
    struct stat st;
    unsigned char type = x->type;
    bool any = w->spec->links && w->spec->what == SEARCH_NAMES;
    if (type == DT_UNKNOWN && fstatat(f->fd, x->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        type = (unsigned char)IFTODT(st.st_mode);
    if (type == DT_DIR || type == DT_REG)
        return type;
    if (type != DT_LNK || !w->spec->links)
        return any && type != DT_LNK ? DT_REG : DT_UNKNOWN;
    if (fstatat(f->fd, x->name, &st, 0) < 0)
        return any ? DT_REG : DT_UNKNOWN;
    return S_ISREG(st.st_mode) || (any && !S_ISDIR(st.st_mode)) ? DT_REG : DT_UNKNOWN;
}

/* ---- batches of files ---- */

/*
 * Searches the files in `names` of the folder dir; w->path begins with the folder's path.
 */
static int look_at(struct search_helper *w, int dir, size_t path_n, struct str names,
                   struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < names.n && !search_is_stopped(w);) {
        struct str name = str_of(names.p + i);
        i += name.n + 1;
        buf_truncate(&w->path, path_n);
        buf_adds(&w->path, name);
        rc = search_file(w, dir, name.p, e);
    }
    buf_truncate(&w->path, path_n);
    return rc;
}

static int end_batch(struct search_helper *w, const struct folder *f, struct err *e)
{
    struct str names = buf_str(&w->batch);
    int rc = 0;
    buf_truncate(&w->path, f->path_n);
    if (w->batch_n == SEARCH_BATCH && search_is_wanted(w))
        search_push(w, SEARCH_BATCH_OF_FILES, buf_str(&w->path), names, &f->rules);
    else
        rc = look_at(w, f->fd, f->path_n, names, e);
    buf_reset(&w->batch);
    w->batch_n = 0;
    return rc;
}

/* ---- folders ---- */

static int enter(struct search_helper *w, const struct folder *f,
                 const struct sys_entry *x, struct err *e)
{
    struct str name = str_of(x->name);
    if (str_eq(name, STR(".")) || str_eq(name, STR("..")))
        return 0;
    unsigned char kind = kind_of(w, f, x);
    if (kind != DT_DIR && kind != DT_REG)
        return 0;
    buf_truncate(&w->path, f->path_n);
    if (buf_adds(&w->path, name) < 0 || buf_room(&w->path) < 2) {
        buf_resume(&w->path);
        search_unread(w, "search", buf_str(&w->path), ENAMETOOLONG);
        return 0;
    }
    if (kind == DT_DIR) {
        if (folder_is_wanted(w, f, name)) {
            buf_addc(&w->path, '/');
            search_push(w, SEARCH_FOLDER, buf_str(&w->path), STR(""), &f->rules);
        }
        return 0;
    }
    if (!file_is_wanted(w, f, name))
        return 0;
    if (w->spec->what == SEARCH_NAMES)
        return search_hit_name(w, f->fd, x->name, e);
    buf_add(&w->batch, name.p, name.n + 1);
    return ++w->batch_n == SEARCH_BATCH ? end_batch(w, f, e) : 0;
}

static int walk_folder(struct search_helper *w, struct folder *f, struct err *e)
{
    char *p = (char *)w->entries;
    bool first = true;
    int rc = 0;
    while (rc == 0 && !search_is_stopped(w)) {
        ssize_t n = sys_entries(f->fd, p, sizeof(w->entries));
        if (n <= 0) {
            if (n < 0)
                search_unread(w, "list", str_sub(buf_str(&w->path), 0, f->path_n), errno);
            break;
        }
        if (first && w->spec->gitignore)
            look_for_rules(w, f, (size_t)n, (size_t)n > sizeof(w->entries) / 2);
        first = false;
        for (size_t i = 0; rc == 0 && i < (size_t)n;) {
            const struct sys_entry *x = (const struct sys_entry *)(const void *)(p + i);
            i += x->size;
            rc = enter(w, f, x, e);
        }
    }
    return rc == 0 && w->batch_n ? end_batch(w, f, e) : rc;
}

/* ---- units ---- */

static int do_unit(struct search_helper *w, struct err *e)
{
    struct search_unit u;
    struct folder f = {.fd = -1};
    struct stat st;
    memcpy(&u, w->unit.p, sizeof(u));
    const char *p = w->unit.p + sizeof(u);
    f.rules.n = u.rules_n;
    f.rules.repository = u.repository;
    f.rules.outer = u.outer;
    memcpy(f.rules.at, p, u.rules_n * sizeof(*f.rules.at));
    p += u.rules_n * sizeof(*f.rules.at);
    struct str path = str_n(p, u.path_n), names = str_n(p + u.path_n, u.names_n);
    f.path_n = path.n;
    buf_reset(&w->path);
    buf_adds(&w->path, path);
    f.fd = open_folder(w->root, str_sub(path, 0, path.n ? path.n - 1 : 0));
    int rc = 0;
    if (f.fd < 0 || fstat(f.fd, &st) < 0)
        search_unread(w, "open", path, errno);
    else if (u.kind == SEARCH_BATCH_OF_FILES)
        rc = look_at(w, f.fd, path.n, names, e);
    else if (st.st_dev == w->root_dev || !files_invented(f.fd))
        rc = walk_folder(w, &f, e);
    if (f.fd >= 0)
        close(f.fd);
    return rc;
}

int search_walk(struct search_helper *w, struct err *e)
{
    struct search_rules rules = {.n = 0};
    int rc = 0;
    if (w->spec->gitignore)
        rules.repository = rules.outer = find_outer(w);
    /* Every helper tries to push the root; the first one does. */
    search_lock(w->shared);
    bool first = !w->shared->stop && w->shared->turn == 0;
    w->shared->turn += first;
    search_unlock(w->shared);
    if (first)
        search_push(w, SEARCH_FOLDER, STR(""), STR(""), &rules);
    while (rc == 0 && !search_is_stopped(w) && search_take(w)) {
        rc = do_unit(w, e);
        if (rc == 0)
            rc = search_flush(w, false, e);
        if (w->ignores.count > IGNORES_MAX || w->ignore_bytes > IGNORE_BYTES_MAX)
            forget_ignores(w);
    }
    forget_ignores(w);
    while (w->outer_n > 0)
        ignore_free(w->outer[--w->outer_n].rules);
    free(w->outer_path);
    return rc == 0 ? search_flush(w, true, e) : rc;
}
