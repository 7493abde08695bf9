/* SPDX-License-Identifier: MIT */
#include "checkpoint/levels.h"

#include "base/xalloc.h"
#include "checkpoint/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES_MAX = LEVELS_MAX * 257 };

static int push(struct levels *l, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -1;
    if (l->n == l->cap)
        l->v = xrealloc(l->v, l->cap = l->cap ? 2 * l->cap : 64, sizeof(*l->v));
    l->v[l->n++] = (struct level){fd, st.st_dev, st.st_ino};
    return 0;
}

int levels_init(struct levels *l, int root)
{
    *l = (struct levels){.path = BUF_INIT(PATH_BYTES_MAX)};
    return push(l, root);
}

void levels_release(struct levels *l)
{
    for (size_t i = 1; i < l->n; i++)
        if (l->v[i].fd >= 0)
            close(l->v[i].fd);
    free(l->v);
    buf_release(&l->path);
}

int levels_enter(struct levels *l, struct str name)
{
    char z[256];
    if (l->n > LEVELS_MAX)
        return errno = ELOOP, -1;
    if (!buf_fill(z, sizeof(z), "%.*s", STR_ARG(name)))
        return errno = ENAMETOOLONG, -1;
    int fd = scan_folder(levels_fd(l), z);
    if (fd < 0)
        return -1;
    if (push(l, fd) < 0) {
        close(fd);
        return -1;
    }
    if (l->n > LEVELS_OPEN + 1) {
        struct level *far = &l->v[l->n - 1 - LEVELS_OPEN];
        close(far->fd);
        far->fd = -1;
    }
    buf_adds(&l->path, name);
    buf_addc(&l->path, '/');
    return 0;
}

int levels_leave(struct levels *l, struct err *e)
{
    struct level *below = &l->v[l->n - 1], *up = below - 1;
    struct stat st;
    if (up->fd < 0) {
        up->fd = scan_folder(below->fd, "..");
        if (up->fd >= 0 && fstat(up->fd, &st) == 0 &&
            (st.st_dev != up->dev || st.st_ino != up->ino)) {
            close(up->fd);
            up->fd = -1;
            errno = ESTALE;
        }
    }
    size_t n = l->path.n - 1;
    while (n > 0 && l->path.p[n - 1] != '/')
        n--;
    if (up->fd < 0)
        return err_set(e, ERR_BUSY, "the folder %.200s was moved meanwhile",
                       buf_z(&l->path));
    buf_truncate(&l->path, n);
    close(below->fd);
    l->n--;
    return 0;
}

struct str levels_name(struct levels *l, struct str name)
{
    buf_adds(&l->path, name);
    return buf_str(&l->path);
}

void levels_unname(struct levels *l, struct str name)
{
    buf_truncate(&l->path, l->path.n - name.n);
}
