/* SPDX-License-Identifier: MIT */
#include "checkpoint/xattr.h"

#include "base/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/xattr.h>

enum { LIST_MAX = 64 << 10, HEAD = 6, LINK = 40, NAME_BYTES = 255 };

static bool is_ours(const char *name)
{
    static const char *const not [] = {"security.selinux", "security.ima", "security.evm",
                                       "security.apparmor", "security.SMACK64"};
    for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
        if (strcmp(name, not [i]) == 0)
            return false;
    return !str_starts(str_of(name), STR("trusted.overlay."));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_head(char *p, size_t name, size_t value)
{
    for (int i = 0; i < 2; i++)
        p[i] = (char)(name >> (8 * i));
    for (int i = 0; i < 4; i++)
        p[2 + i] = (char)(value >> (8 * i));
}

/* Who may read a file may read these; others of it are the system's. */
static bool is_the_files(const char *name)
{
    return str_starts(str_of(name), STR("user.")) ||
           str_starts(str_of(name), STR("system.posix_acl_"));
}

/* Appends one; one that is gone, or the system's and secret, is left out. */
static int read_one(const char *link, int fd, const char *name, struct buf *out)
{
    size_t length = strlen(name);
    char *p = buf_reserve(out, HEAD + length + XATTR_MAX);
    if (!p)
        return errno = E2BIG, -1;
    char *value = p + HEAD + length;
    ssize_t n = fd >= 0 ? fgetxattr(fd, name, value, XATTR_MAX)
                        : getxattr(link, name, value, XATTR_MAX);
    if (n < 0)
        return errno == ENODATA ||
                       ((errno == EACCES || errno == EPERM) && !is_the_files(name))
                   ? 0
                   : -1;
    put_head(p, length, (size_t)n);
    memcpy(p + HEAD, name, length);
    buf_commit(out, HEAD + length + (size_t)n);
    return 0;
}

static int read_all(const char *link, int fd, char *list, size_t n, struct buf *out)
{
    char **names = xcalloc(n, sizeof(*names)); /* each has a byte, and its end */
    size_t count = 0;
    int rc = 0;
    for (char *at = list; at < list + n; at += strlen(at) + 1)
        if (is_ours(at))
            names[count++] = at;
    qsort(names, count, sizeof(*names), by_name);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = read_one(link, fd, names[i], out);
    free(names);
    return rc;
}

int xattr_read(int fd, bool path_only, struct buf *out)
{
    char link[LINK], small[256], *list = small;
    buf_fill(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = path_only ? listxattr(link, small, sizeof(small))
                          : flistxattr(fd, small, sizeof(small));
    if (n < 0 && errno == ERANGE) {
        list = xcalloc(1, LIST_MAX);
        n = path_only ? listxattr(link, list, LIST_MAX) : flistxattr(fd, list, LIST_MAX);
    }
    int rc = 0;
    if (n > 0)
        rc = read_all(link, path_only ? -1 : fd, list, (size_t)n, out);
    else if (n < 0 && errno != ENOTSUP && errno != ENOSYS && errno != ENOENT)
        rc = -1;
    if (list != small)
        free(list);
    return rc;
}

int xattr_add(struct buf *out, struct str name, struct str value)
{
    char z[NAME_BYTES + 1], head[HEAD];
    if (name.n == 0 || memchr(name.p, 0, name.n) || value.n > XATTR_MAX ||
        !buf_fill(z, sizeof(z), "%.*s", STR_ARG(name)))
        return -1;
    if (!is_ours(z))
        return 0;
    put_head(head, name.n, value.n);
    buf_add(out, head, HEAD);
    buf_adds(out, name);
    return buf_adds(out, value);
}

int xattr_next(struct str *rest, struct str *name, struct str *value)
{
    if (rest->n == 0)
        return 0;
    if (rest->n < HEAD)
        return -1;
    const uint8_t *p = (const uint8_t *)rest->p;
    size_t n = (size_t)p[0] | (size_t)p[1] << 8, v = 0;
    for (int i = 0; i < 4; i++)
        v |= (size_t)p[2 + i] << (8 * i);
    if (n == 0 || n > rest->n - HEAD || v > rest->n - HEAD - n)
        return -1;
    *name = str_sub(*rest, HEAD, n);
    *value = str_sub(*rest, HEAD + n, v);
    *rest = str_sub(*rest, HEAD + n + v, rest->n);
    return 1;
}

/* Returns the value of a name; p is NULL if it is not there. */
static struct str find(struct str all, struct str wanted)
{
    struct str name, value;
    while (xattr_next(&all, &name, &value) > 0)
        if (str_eq(name, wanted))
            return value;
    return str_n(NULL, 0);
}

int xattr_write(int fd, struct str wanted)
{
    struct buf now = BUF_INIT(2 * XATTR_MAX);
    char link[LINK], z[256];
    struct str name, value, rest;
    int why = 0;
    buf_fill(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (xattr_read(fd, true, &now) < 0)
        why = errno;
    rest = buf_str(&now);
    while (xattr_next(&rest, &name, &value) > 0)
        if (!find(wanted, name).p && buf_fill(z, sizeof(z), "%.*s", STR_ARG(name)) &&
            removexattr(link, z) < 0 && errno != ENODATA)
            why = errno;
    rest = wanted;
    while (xattr_next(&rest, &name, &value) > 0) {
        struct str old = find(buf_str(&now), name);
        if (!(old.p && str_eq(old, value)) &&
            buf_fill(z, sizeof(z), "%.*s", STR_ARG(name)) &&
            setxattr(link, z, value.p, value.n, 0) < 0)
            why = errno;
    }
    buf_release(&now);
    errno = why;
    return why ? -1 : 0;
}
