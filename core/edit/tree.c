/* SPDX-License-Identifier: MIT */
/* Lists a folder and the folders in it. */
#include "base/xalloc.h"
#include "edit/edit.h"
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The paths below the folder: "sub", "sub/file". Owned. */
struct entries {
    struct entry {
        char *path;
        bool dir;
    } * of;
    size_t n, cap;
    bool more; /* there were too many */
};

static void add(struct entries *l, const char *below, const char *name, bool dir)
{
    if (l->n == EDIT_TREE_MAX) {
        l->more = true;
        return;
    }
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 64;
        l->of = xrealloc(l->of, l->cap, sizeof(*l->of));
    }
    size_t a = strlen(below), b = strlen(name);
    char *path = xcalloc(a + b + 2, 1);
    memcpy(path, below, a);
    if (a > 0)
        path[a++] = '/';
    memcpy(path + a, name, b);
    l->of[l->n++] = (struct entry){path, dir};
}

static void entries_release(struct entries *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->of[i].path);
    free(l->of);
}

/* Takes fd. */
static void read_entries(struct entries *l, int fd, const char *below, size_t *hidden)
{
    DIR *d = fdopendir(fd);
    struct dirent *e;
    if (!d)
        close(fd);
    while (d && !l->more && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (e->d_name[0] == '.')
            *hidden += 1;
        else
            add(l, below, e->d_name, file_entry_is_folder(fd, e));
    }
    if (d)
        closedir(d);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

/*
 * Orders paths with the slash before every other byte, so that a folder's entries follow
 * it.
 */
static int by_levels(const void *a, const void *b)
{
    const char *x = ((const struct entry *)a)->path;
    const char *y = ((const struct entry *)b)->path;
    while (*x && *x == *y) {
        x++;
        y++;
    }
    int cx = *x == '/' ? 1 : (unsigned char)*x + (*x != 0);
    int cy = *y == '/' ? 1 : (unsigned char)*y + (*y != 0);
    return cx - cy;
}

static int put_entries(const struct entries *l, const char *path, struct buf *out)
{
    size_t before = out->n, n = strlen(path);
    const char *slash = n > 0 && path[n - 1] == '/' ? "" : "/";
    int rc = buf_addf(out, "%s%s", path, slash);
    for (size_t i = 0; i < l->n && rc == 0; i++)
        rc = buf_addf(out, "\n%s%s%s%s", path, slash, l->of[i].path,
                      l->of[i].dir ? "/" : "");
    if (rc < 0)
        buf_truncate(out, before);
    return rc;
}

int edit_tree(const char *path, bool by_level, struct buf *out, struct edit_tree *tree,
              struct err *e)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC;
    int fd = open(path, flags);
    if (fd < 0)
        return file_fail(e, errno, "list", path);
    struct entries l = {0};
    *tree = (struct edit_tree){0};
    read_entries(&l, fd, "", &tree->hidden);
    size_t top = l.n, ignored = 0;
    for (size_t i = 0; i < top && !l.more; i++) {
        char sub[PATH_MAX];
        if (!l.of[i].dir ||
            snprintf(sub, sizeof(sub), "%s/%s", path, l.of[i].path) >= (int)sizeof(sub))
            continue;
        fd = open(sub, flags);
        if (fd >= 0)
            read_entries(&l, fd, l.of[i].path, &ignored);
    }
    tree->more = l.more;
    if (l.n > 0)
        qsort(l.of, l.n, sizeof(*l.of), by_level ? by_levels : by_bytes);
    int rc = put_entries(&l, path, out);
    if (rc < 0)
        err_set(e, ERR_LIMIT, "cannot list %s: it has too many entries", path);
    entries_release(&l);
    return rc;
}
