/* SPDX-License-Identifier: MIT */
/* The folders in a folder, for those who choose one: folders of fileact.c. */
#include "base/utf8.h"
#include "base/xalloc.h"
#include "file/fileact_own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <wctype.h>

enum { PAGE = 100, PAGE_MAX = 1000, NAME_BYTES = 4 * NAME_MAX };

struct fa_folder {
    const char *name; /* borrowed */
    char *low;        /* owned: in small letters */
};

/* In small letters; bytes that are not characters stay. */
static char *lower(const char *name)
{
    struct str rest = str_of(name);
    struct buf b = BUF_INIT(NAME_BYTES);
    while (rest.n > 0) {
        uint32_t c;
        char to[4];
        int n = utf8_decode(rest, &c);
        if (n > 0)
            buf_add(&b, to, (size_t)utf8_encode((uint32_t)towlower((wint_t)c), to));
        else
            buf_addc(&b, rest.p[0]);
        rest = str_sub(rest, n > 0 ? (size_t)n : 1, rest.n);
    }
    return buf_take(&b);
}

static int by_low(const void *a, const void *b)
{
    const struct fa_folder *x = a, *y = b;
    int c = strcmp(x->low, y->low);
    return c ? c : strcmp(x->name, y->name);
}

/* The names that are folders, sorted. */
static size_t choose(struct fa *f, int dir, const struct fa_names *all,
                     struct fa_folder *out)
{
    bool hidden = fa_bool(f, "hidden");
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct stat st;
        if ((all->v[i][0] != '.' || hidden) &&
            fstatat(dir, all->v[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
            out[n++] = (struct fa_folder){all->v[i], lower(all->v[i])};
    }
    if (n > 1)
        qsort(out, n, sizeof(*out), by_low);
    return n;
}

static void put_page(struct fa *f, const char *path, const struct fa_folder *v, size_t n)
{
    struct str from = fa_str(f, "from", "");
    size_t limit = (size_t)fa_int(f, "limit", PAGE), first = 0;
    limit = limit < PAGE_MAX ? limit : PAGE_MAX;
    while (from.n > 0 && first < n && !str_eq(str_of(v[first].low), from))
        first++;
    first = first == n ? 0 : first;
    buf_addz(&f->out, "\"folders\":[");
    for (size_t i = first; i < n && i - first < limit; i++) {
        struct buf full = BUF_INIT(PATH_MAX + NAME_MAX + 2);
        buf_addf(&full, "%s/%s", strcmp(path, "/") ? path : "", v[i].name);
        buf_addz(&f->out, i > first ? ",{" : "{");
        fa_put_path(&f->out, "name", str_of(v[i].name));
        buf_addc(&f->out, ',');
        fa_put_path(&f->out, "path", buf_str(&full));
        buf_addc(&f->out, '}');
        buf_release(&full);
    }
    buf_addz(&f->out, "],\"next\":");
    if (first + limit < n)
        json_quote(&f->out, str_of(v[first + limit].low));
    else
        buf_addz(&f->out, "null");
}

int fa_folders(struct fa *f, struct err *e)
{
    char path[PATH_MAX];
    struct fa_names all;
    struct stat st;
    if (fa_path(f, "path", path, e) < 0)
        return -1;
    if (stat(path, &st) < 0)
        return fa_fail(e, errno, "list", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_INVALID, "cannot list %.200s: it is not a folder", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int keep = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (keep < 0) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return fa_fail(e, why, "list", path);
    }
    int rc = fa_names(&all, fd, path, e);
    if (rc == 0) {
        struct fa_folder *v = xcalloc(all.n + 1, sizeof(*v));
        size_t n = choose(f, keep, &all, v);
        put_page(f, path, v, n);
        for (size_t i = 0; i < n; i++)
            free(v[i].low);
        free(v);
        fa_names_free(&all);
    }
    close(keep);
    return rc;
}
