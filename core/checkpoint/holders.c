/* SPDX-License-Identifier: MIT */
/*
 * Programs that still have a file open that is not in the tree any more, or are in a
 * folder that is gone: they read and write the old one until they open it again.
 */
#include "base/xalloc.h"
#include "checkpoint/own.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void holders_add(struct holders *h, const struct file_node *x)
{
    if (h->n == HOLDERS_FILES || (x->type != ENTRY_FILE && x->type != ENTRY_FOLDER))
        return;
    if (h->n == h->cap)
        h->v = xrealloc(h->v, h->cap = h->cap ? 2 * h->cap : 64, sizeof(*h->v));
    h->v[h->n++] = (struct holders_file){x->ino, x->type == ENTRY_FOLDER};
}

void holders_release(struct holders *h) { free(h->v); }

static int by_ino(const void *a, const void *b)
{
    uint64_t x = ((const struct holders_file *)a)->ino,
             y = ((const struct holders_file *)b)->ino;
    return (x > y) - (x < y);
}

static bool is_in_a_tree(const struct trees *t, struct str path)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->path[i], "/") == 0 ||
            (str_starts(path, str_of(t->path[i])) && path.p[strlen(t->path[i])] == '/'))
            return true;
    return false;
}

/* Looks at one link of /proc: the inode is one of ours, and the kernel says it is gone.
 */
static bool look(struct holders *h, const struct trees *t, int at, const char *name,
                 char *path, size_t size)
{
    struct stat st;
    ssize_t n = readlinkat(at, name, path, size - 1);
    if (n <= 0 || path[0] != '/')
        return false;
    path[n] = 0;
    if (!str_ends(str_n(path, (size_t)n), STR(" (deleted)")) ||
        !is_in_a_tree(t, str_of(path)) || fstatat(at, name, &st, 0) < 0)
        return false;
    struct holders_file key = {.ino = st.st_ino};
    path[(size_t)n - strlen(" (deleted)")] = 0;
    return bsearch(&key, h->v, h->n, sizeof(*h->v), by_ino);
}

static void add_holder(struct json *out, const char *pid, const char *path)
{
    char name[64], program[64] = "";
    struct json *o = json_object();
    int64_t number = 0;
    buf_fill(name, sizeof(name), "/proc/%s/comm", pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, program, sizeof(program) - 1) : 0;
    if (fd >= 0)
        close(fd);
    str_to_i64(str_of(pid), &number);
    json_put_int(o, "pid", number);
    json_put_str(o, "program", str_trim(str_n(program, n > 0 ? (size_t)n : 0)));
    put_path(o, "path", str_of(path));
    json_push(out, o);
}

static void look_at(struct holders *h, const struct trees *t, const char *pid,
                    struct json *out)
{
    char name[64], path[PATH_MAX];
    struct dirent *x;
    buf_fill(name, sizeof(name), "/proc/%s", pid);
    int at = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return;
    if (look(h, t, at, "cwd", path, sizeof(path)))
        add_holder(out, pid, path);
    int fds = openat(at, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fds >= 0 ? fdopendir(fds) : NULL;
    while (d && json_count(out) < HOLDERS_SHOWN && (x = readdir(d)))
        if (x->d_name[0] != '.' && look(h, t, dirfd(d), x->d_name, path, sizeof(path)))
            add_holder(out, pid, path);
    if (d)
        closedir(d);
    close(at);
}

struct json *holders_list(struct holders *h, const struct trees *t)
{
    struct json *out = json_array();
    DIR *d = h->n ? opendir("/proc") : NULL;
    struct dirent *x;
    if (h->n)
        qsort(h->v, h->n, sizeof(*h->v), by_ino);
    while (d && json_count(out) < HOLDERS_SHOWN && (x = readdir(d)))
        if (x->d_name[0] >= '1' && x->d_name[0] <= '9')
            look_at(h, t, x->d_name, out);
    if (d)
        closedir(d);
    return out;
}
