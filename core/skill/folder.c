/* SPDX-License-Identifier: MIT */
/* Two levels of a folder for `view`: names, and folders with counts. */
#include "base/xalloc.h"
#include "os/file.h"
#include "skill/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_SHOWN = 200, NAMES_READ = 20000 };

struct folder_name {
    char *name; /* owned */
    bool folder;
};

struct folder_names {
    struct folder_name *of; /* owned */
    size_t n, cap, folders, hidden;
    bool more; /* more exist than were read */
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct folder_name *)a)->name,
                  ((const struct folder_name *)b)->name);
}

static void add(struct folder_names *l, const char *name, bool folder)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->of = xrealloc(l->of, l->cap, sizeof(*l->of));
    }
    l->of[l->n++] = (struct folder_name){xstrdup(name), folder};
    l->folders += folder;
}

static void release(struct folder_names *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->of[i].name);
    free(l->of);
}

/* Reads the folder `name` in `at`. Returns -1 with errno. */
static int read_names(int at, const char *name, struct folder_names *l)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    *l = (struct folder_names){0};
    if (!d)
        return -1;
    while (!l->more && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (e->d_name[0] == '.')
            l->hidden++;
        else if (l->n == NAMES_READ)
            l->more = true;
        else
            add(l, e->d_name, file_entry_is_folder(fd, e));
    }
    closedir(d);
    if (l->n > 0)
        qsort(l->of, l->n, sizeof(*l->of), by_name);
    return 0;
}

/*
 * Appends the lines of a folder within the folder. left: names that may still be shown.
 */
static void put_inner(int fd, const char *name, size_t *left, struct buf *out)
{
    struct folder_names in;
    if (read_names(fd, name, &in) < 0) {
        buf_addf(out, "%s/ (%s)\n", name, strerror(errno));
        return;
    }
    buf_addf(out, "%s/ (%zu%s)\n", name, in.n + in.hidden, in.more ? "+" : "");
    bool shown = in.n <= *left;
    for (size_t i = 0; shown && i < in.n; i++)
        buf_addf(out, "  %s%s\n", in.of[i].name, in.of[i].folder ? "/" : "");
    *left -= shown ? in.n : 0;
    release(&in);
}

int folder_show(const char *path, size_t max, struct buf *out, struct buf *state,
                struct err *e)
{
    struct folder_names top;
    size_t shown = 0, left;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || read_names(fd, ".", &top) < 0) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return file_fail(e, why, "list", path);
    }
    left = top.n < NAMES_SHOWN ? NAMES_SHOWN - top.n : 0;
    for (; shown < top.n && shown < NAMES_SHOWN && out->n < max; shown++) {
        if (top.of[shown].folder)
            put_inner(fd, top.of[shown].name, &left, out);
        else
            buf_addf(out, "%s\n", top.of[shown].name);
    }
    buf_addf(state, "directory: %zu folder%s, %zu file%s", top.folders,
             top.folders == 1 ? "" : "s", top.n - top.folders,
             top.n - top.folders == 1 ? "" : "s");
    if (top.hidden)
        buf_addf(state, ", %zu hidden", top.hidden);
    if (shown < top.n)
        buf_addf(state,
                 "; %zu names shown; to find a file: search glob=\"*\xe2\x80\xa6*\"",
                 shown);
    close(fd);
    release(&top);
    return 0;
}
