/* SPDX-License-Identifier: MIT */
/*
 * Learning which files programs change: the lines "write PATH" that would have allowed
 * it.
 *
 * The filter stops each call that makes, changes or removes a file (filter.c); the path
 * is read from the program's memory, and the kernel does the call. A program could change
 * the path between the two: this enforces nothing, so a wrong line is all that it would
 * get. A file system that a program of the sandbox serves (FUSE) could wait for us while
 * we wait for it.
 *
 * A line names a folder, as a file that is made, or replaced by a rename, needs the
 * rights of its folder. It names the file alone in the home and in /, which are not given
 * whole for the sake of one file.
 */
#include "reach/own.h"

#include "base/xalloc.h"
#include "os/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINES_MAX = 500, PIECE = 256, OPENAT2 = 437 };

struct learner {
    char *home, *state; /* owned; "": unknown */
    char *lines[LINES_MAX];
    unsigned n;
};

/* The numbers of two arguments: the path, and the folder that it begins in; -1: the
 * working directory. */
struct path_at {
    int folder, path;
};
static const struct learn_row {
    int nr;
    enum learn_what {
        OPENS,  /* a link at the path's end is followed */
        MAKES,  /* fails if there is something */
        REMOVES /* fails if there is nothing; `to` replaces what is there */
    } what;
    struct path_at at, to; /* to.path is 0 in calls with one path */
} rows[] = {
    {SYS_openat, OPENS, {0, 1}, {0}},
    {OPENAT2, OPENS, {0, 1}, {0}},
    {SYS_truncate, OPENS, {-1, 0}, {0}},
    {SYS_mkdirat, MAKES, {0, 1}, {0}},
    {SYS_mknodat, MAKES, {0, 1}, {0}},
    {SYS_symlinkat, MAKES, {1, 2}, {0}},
    {SYS_linkat, MAKES, {2, 3}, {0}},
    {SYS_unlinkat, REMOVES, {0, 1}, {0}},
    {SYS_renameat2, REMOVES, {0, 1}, {2, 3}},
#ifdef SYS_renameat
    {SYS_renameat, REMOVES, {0, 1}, {2, 3}},
#endif
#ifdef SYS_open
    {SYS_open, OPENS, {-1, 0}, {0}},
    {SYS_creat, OPENS, {-1, 0}, {0}},
    {SYS_mkdir, MAKES, {-1, 0}, {0}},
    {SYS_mknod, MAKES, {-1, 0}, {0}},
    {SYS_symlink, MAKES, {-1, 1}, {0}},
    {SYS_link, MAKES, {-1, 1}, {0}},
    {SYS_unlink, REMOVES, {-1, 0}, {0}},
    {SYS_rmdir, REMOVES, {-1, 0}, {0}},
    {SYS_rename, REMOVES, {-1, 0}, {-1, 1}},
#endif
};

struct learner *learner_new(const struct json *files)
{
    if (!files)
        return NULL;
    struct learner *r = xnew(struct learner);
    const char *home = json_str(files, "home", "").p;
    char real[PATH_MAX];
    r->home = xstrdup(realpath(home, real) ? real : home);
    r->state = xstrdup(json_str(files, "state", "").p);
    return r;
}

/* ---- the path of a call ---- */

/* Reads a text that ends with 0. Pieces end where a page may. */
static bool read_text(pid_t pid, uint64_t from, char out[PATH_MAX])
{
    for (size_t n = 0; n < PATH_MAX;) {
        size_t piece = PIECE - (size_t)((from + n) % PIECE);
        piece = piece < PATH_MAX - n ? piece : PATH_MAX - n;
        if (!notify_read(pid, from + n, out + n, piece))
            return false;
        if (memchr(out + n, 0, piece))
            return true;
        n += piece;
    }
    return false;
}

/* The folder that a path without / begins in. */
static bool begin_of(const struct notify_call *c, int folder, char out[PATH_MAX])
{
    char link[64];
    int fd = folder < 0 ? AT_FDCWD : (int)c->arg[folder];
    ssize_t n;
    if (fd == AT_FDCWD) {
        snprintf(link, sizeof(link), "/proc/%d/cwd", (int)c->pid);
        n = readlink(link, out, PATH_MAX - 1);
    } else {
        n = notify_link((pid_t)c->pid, fd, out, PATH_MAX - 1);
    }
    out[n > 0 ? n : 0] = 0;
    return n > 0 && out[0] == '/';
}

static bool whole_path(const struct notify_call *c, struct path_at at,
                       char out[2 * PATH_MAX])
{
    char path[PATH_MAX], begin[PATH_MAX];
    if (!read_text((pid_t)c->pid, c->arg[at.path], path) || !path[0])
        return false;
    if (path[0] == '/')
        snprintf(out, 2 * PATH_MAX, "%s", path);
    else if (begin_of(c, at.folder, begin))
        snprintf(out, 2 * PATH_MAX, "%s/%s", begin, path);
    else
        return false;
    return true;
}

/*
 * The path without links; of one that does not exist its folder must. follows: a link at
 * its end, too. Returns false if the call cannot succeed.
 */
static bool real_path(char *path, bool follows, char out[2 * PATH_MAX])
{
    char folder[PATH_MAX];
    size_t n = strlen(path);
    if (follows && realpath(path, out))
        return true;
    while (n > 1 && path[n - 1] == '/')
        path[--n] = 0;
    char *name = strrchr(path, '/') + 1;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return false;
    char first = *name;
    *name = 0;
    bool there = realpath(path, folder) != NULL;
    *name = first;
    if (there)
        snprintf(out, 2 * PATH_MAX, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder,
                 name);
    return there;
}

/* ---- the lines ---- */

/* Devices and what the kernel makes need no line, and none would allow them. */
static bool needs_line(const struct learner *r, const char *path)
{
    struct stat st;
    if (file_is_in(path, "/proc") || file_is_in(path, "/sys") ||
        (file_is_in(path, "/dev") && !file_is_in(path, "/dev/shm")) ||
        (r->state[0] && file_is_in(path, r->state)))
        return false;
    for (const char *p = path; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '"')
            return false; /* a line cannot name it */
    }
    return stat(path, &st) < 0 || !(S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode));
}

/* Makes the path of a file that of what the line is to name. */
static void name_folder(const struct learner *r, char *path)
{
    char *slash = strrchr(path, '/');
    size_t n = (size_t)(slash - path);
    if (n > 0 && !(strlen(r->home) == n && strncmp(path, r->home, n) == 0))
        *slash = 0;
}

/* Could this user do it without a fence? */
static bool may_write(const char *folder, const char *path)
{
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ||
           faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) == 0;
}

/* makes: also what is not there. */
static void learn_path(struct supervisor *s, pid_t pid, char *path, bool follows,
                       bool makes)
{
    struct learner *r = s->learner;
    char real[2 * PATH_MAX], line[2 * PATH_MAX];
    struct stat st;
    if (!real_path(path, follows, real) || !needs_line(r, real) ||
        (!makes && lstat(real, &st) < 0))
        return;
    snprintf(line, sizeof(line), "%s", real);
    name_folder(r, line);
    for (unsigned i = 0; i < r->n; i++) {
        if (file_is_in(line, r->lines[i]))
            return;
    }
    char *slash = strrchr(real, '/');
    char folder[2 * PATH_MAX];
    snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - real), real);
    if (r->n == LINES_MAX || strlen(line) >= PATH_MAX || !may_write(folder, real))
        return;
    unsigned kept = 0; /* those that the new one has in it go */
    for (unsigned i = 0; i < r->n; i++) {
        if (file_is_in(r->lines[i], line))
            free(r->lines[i]);
        else
            r->lines[kept++] = r->lines[i];
    }
    r->n = kept;
    r->lines[r->n++] = xstrdup(line);
    say_written(s, pid, line);
}

/* The flags of a call that opens; openat2 has them in memory. */
static uint64_t flags_of(const struct notify_call *c, const struct learn_row *row)
{
    uint64_t flags = 0;
#ifdef SYS_creat
    if (c->nr == SYS_creat)
        return O_CREAT | O_WRONLY | O_TRUNC;
#endif
    if (c->nr == SYS_truncate)
        return O_WRONLY;
    if (c->nr != OPENAT2)
        return c->arg[row->at.path + 1];
    return notify_read((pid_t)c->pid, c->arg[2], &flags, sizeof(flags)) ? flags : 0;
}

static void learn_row(struct supervisor *s, const struct notify_call *c,
                      const struct learn_row *row)
{
    char path[2 * PATH_MAX];
    struct stat st;
    uint64_t flags = row->what == OPENS ? flags_of(c, row) : 0;
    if ((row->what == OPENS && !(flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))) ||
        !whole_path(c, row->at, path) || (row->what == MAKES && lstat(path, &st) == 0))
        return;
    learn_path(s, (pid_t)c->pid, path, row->what == OPENS,
               row->what == MAKES || flags & O_CREAT);
    if (row->to.path && whole_path(c, row->to, path))
        learn_path(s, (pid_t)c->pid, path, false, true);
}

bool learn_call(struct supervisor *s, struct reach_listener *l,
                const struct notify_call *c)
{
    const struct learn_row *row = NULL;
    for (size_t i = 0; s->learner && i < sizeof(rows) / sizeof(rows[0]); i++)
        row = rows[i].nr == c->nr ? &rows[i] : row;
    if (!row)
        return false;
    learn_row(s, c, row);
    notify_go_on(l->fd, c->id);
    return true;
}
