/* SPDX-License-Identifier: MIT */
#include "file/root.h"

#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as the kernel follows at most */

/* A path on its way through links. */
struct root_walk {
    char root[PATH_MAX]; /* the root, without links; "" for / */
    char full[PATH_MAX]; /* root and the resolved part: "/app/a/b" */
    char todo[PATH_MAX]; /* the part that is left */
    int links;
};

static int leads_out(struct err *e)
{
    return err_set(e, ERR_DENIED, "the path leads out of the folder that is served");
}

static int too_long(struct err *e)
{
    return err_set(e, ERR_INVALID, "the path is longer than a path can be (%d bytes)",
                   PATH_MAX - 1);
}

/* Cuts the first part off w->todo. Returns its length; 0 if there are no more. */
static size_t next_part(struct root_walk *w, char part[NAME_MAX + 1], struct err *e)
{
    size_t from = strspn(w->todo, "/"), n = strcspn(w->todo + from, "/");
    if (n > NAME_MAX) {
        too_long(e);
        return n;
    }
    memcpy(part, w->todo + from, n);
    part[n] = 0;
    memmove(w->todo, w->todo + from + n, strlen(w->todo + from + n) + 1);
    return n;
}

/* One part up. */
static void leave(struct root_walk *w) { *strrchr(w->full, '/') = 0; }

/* The target of a link is followed from here on. */
static int follow(struct root_walk *w, struct str target, struct err *e)
{
    char rest[PATH_MAX];
    size_t root = strlen(w->root);
    if (++w->links > LINKS_MAX)
        return err_set(e, ERR_INVALID, "the path has more than %d links", LINKS_MAX);
    leave(w);
    if (target.n > 0 && target.p[0] == '/') {
        if (!str_starts(target, str_of(w->root)) ||
            (target.n > root && target.p[root] != '/'))
            return leads_out(e);
        target = str_sub(target, root, target.n);
        w->full[root] = 0;
    }
    memcpy(rest, w->todo, strlen(w->todo) + 1);
    if (snprintf(w->todo, PATH_MAX, "%.*s/%s", STR_ARG(target), rest) >= PATH_MAX)
        return too_long(e);
    return 0;
}

static int step(struct root_walk *w, const char *part, struct err *e)
{
    char target[PATH_MAX];
    size_t at = strlen(w->full);
    if (strcmp(part, ".") == 0)
        return 0;
    if (strcmp(part, "..") == 0) {
        if (at == strlen(w->root))
            return leads_out(e);
        leave(w);
        return 0;
    }
    if (snprintf(w->full + at, PATH_MAX - at, "/%s", part) >= (int)(PATH_MAX - at))
        return too_long(e);
    ssize_t n = readlink(w->full, target, sizeof(target));
    return n < 0 ? 0 : follow(w, str_n(target, (size_t)n), e);
}

int root_resolve(const char *root, struct str path, char out[PATH_MAX], struct err *e)
{
    struct root_walk w = {.links = 0};
    char part[NAME_MAX + 1];
    size_t n;
    if (path.n >= PATH_MAX)
        return too_long(e);
    if (path.n > 0 && memchr(path.p, 0, path.n))
        return err_set(e, ERR_INVALID, "the path has a zero byte");
    if (!realpath(root, w.root))
        return file_fail(e, errno, "enter", root);
    if (strcmp(w.root, "/") == 0)
        w.root[0] = 0;
    memcpy(w.full, w.root, sizeof(w.full));
    if (path.n > 0)
        memcpy(w.todo, path.p, path.n);
    while ((n = next_part(&w, part, e)) > 0) {
        if (n > NAME_MAX || step(&w, part, e) < 0)
            return -1;
    }
    const char *inside = w.full + strlen(w.root);
    snprintf(out, PATH_MAX, "%s", inside[0] == '/' ? inside + 1 : inside);
    return 0;
}

/*
 * Opens the folder `name` in dir, and closes dir, also on failure. Returns -1 and sets
 * *e.
 */
static int enter(int dir, const char *name, bool make, struct err *e)
{
    int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dir, name, flags);
    if (fd < 0 && errno == ENOENT && make &&
        (mkdirat(dir, name, 0777) == 0 || errno == EEXIST))
        fd = openat(dir, name, flags);
    int why = errno;
    struct stat st;
    /* A link that is not followed is not a folder. */
    bool link = fd < 0 && (why == ENOTDIR || why == ELOOP) &&
                fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
    close(dir);
    if (fd >= 0)
        return fd;
    return link ? leads_out(e) : file_fail(e, why, "enter", name);
}

int root_enter(const char *root, char *inside, bool parents, const char **name,
               struct err *e)
{
    int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *part = inside, *slash;
    *name = ".";
    if (fd < 0)
        return file_fail(e, errno, "enter", root);
    for (; (slash = strchr(part, '/')); part = slash + 1) {
        *slash = 0;
        fd = enter(fd, part, parents, e);
        *slash = '/';
        if (fd < 0)
            return -1;
    }
    if (*part)
        *name = part;
    return fd;
}
