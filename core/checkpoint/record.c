/* SPDX-License-Identifier: MIT */
#include "checkpoint/record.h"

#include "base/enc.h"
#include "base/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = 64 };
static const char folder[] = "checkpoints", last[] = "last";

static int read_file(const struct store *s, const char *name, struct buf *out)
{
    store_enter(s);
    int fd = openat(store_folder(s), name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    store_leave(s);
    char *p = fd >= 0 ? buf_reserve(out, RECORD_MAX) : NULL;
    ssize_t n = p ? read(fd, p, RECORD_MAX) : -1;
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    if (n < 0)
        return -1;
    buf_commit(out, (size_t)n);
    return 0;
}

struct json *record_read(const struct store *s, int64_t id, struct err *e)
{
    char name[NAME];
    struct buf b = BUF_INIT(2 * RECORD_MAX);
    struct err why = ERR_INIT;
    struct json *j = NULL;
    buf_fill(name, sizeof(name), "%s/%lld.json", folder, (long long)id);
    if (read_file(s, name, &b) < 0)
        err_set(e, errno == ENOENT ? ERR_NOTFOUND : ERR_IO, "there is no checkpoint %lld",
                (long long)id);
    else if (!(j = json_parse(buf_str(&b), &why)))
        err_set(e, ERR_IO, "checkpoint %lld is damaged: %s", (long long)id, why.text);
    buf_release(&b);
    return j;
}

int record_write(const struct store *s, const struct json *record, bool durable,
                 struct err *e)
{
    char name[NAME];
    struct buf b = BUF_INIT(RECORD_MAX);
    store_enter(s);
    mkdirat(store_folder(s), folder, 0700);
    store_leave(s);
    buf_fill(name, sizeof(name), "%s/%lld.json", folder,
             (long long)json_int(record, "id", 0));
    int rc = json_print(&b, record) < 0
                 ? err_set(e, ERR_LIMIT, "a checkpoint's record is too long")
                 : store_write_file(s, name, buf_str(&b), durable, e);
    buf_release(&b);
    return rc;
}

int record_remove(const struct store *s, int64_t id, struct err *e)
{
    char name[NAME];
    buf_fill(name, sizeof(name), "%s/%lld.json", folder, (long long)id);
    store_enter(s);
    int rc = unlinkat(store_folder(s), name, 0);
    store_leave(s);
    return rc == 0 ? 0
                   : err_sys(e, errno, "cannot remove checkpoint %lld", (long long)id);
}

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

long record_list(const struct store *s, int64_t **ids, struct err *e)
{
    size_t n = 0, cap = 0;
    struct dirent *x;
    *ids = NULL;
    store_enter(s);
    int fd = openat(store_folder(s), folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    store_leave(s);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d && errno == ENOENT)
        return 0;
    if (!d)
        return err_sys(e, errno, "cannot list the checkpoints");
    while ((x = readdir(d))) {
        uint64_t id;
        struct str name = str_of(x->d_name);
        if (!str_ends(name, STR(".json")) ||
            str_to_u64(str_sub(name, 0, name.n - 5), &id) < 0 || id >= 1ULL << 53)
            continue;
        if (n == cap)
            *ids = xrealloc(*ids, cap = cap ? 2 * cap : 64, sizeof(**ids));
        (*ids)[n++] = (int64_t)id;
    }
    closedir(d);
    if (n)
        qsort(*ids, n, sizeof(**ids), by_id);
    return (long)n;
}

int64_t record_next(const struct store *s, struct err *e)
{
    struct buf b = BUF_INIT(2 * RECORD_MAX);
    int64_t *ids, id = 0;
    uint64_t was = 0;
    char text[STR_U64_MAX];
    long n = record_list(s, &ids, e);
    if (n < 0)
        return -1;
    if (read_file(s, last, &b) == 0)
        str_to_u64(buf_str(&b), &was);
    buf_release(&b);
    id = n > 0 && ids[n - 1] > (int64_t)was ? ids[n - 1] + 1 : (int64_t)was + 1;
    free(ids);
    size_t digits = str_from_u64(text, (uint64_t)id);
    return store_write_file(s, last, str_n(text, digits), false, e) < 0 ? -1 : id;
}

int record_tree(const struct json *record, struct content_ref *out, struct err *e)
{
    struct str tree = json_str(record, "tree", "");
    if (tree.n == 1 + 2 * SUM_SIZE && (tree.p[0] == '1' || tree.p[0] == '2') &&
        sum_parse(str_sub(tree, 1, tree.n), &out->sum) == 0) {
        out->kind = tree.p[0] == '1' ? CONTENT_ONE : CONTENT_LIST;
        return 0;
    }
    return err_set(e, ERR_IO, "checkpoint %lld is damaged: it has no tree",
                   (long long)json_int(record, "id", 0));
}

void record_set_tree(struct json *record, const struct content_ref *tree)
{
    struct buf b = BUF_INIT(1 + 2 * SUM_SIZE);
    buf_addc(&b, (char)('0' + (int)tree->kind));
    enc_hex(&b, str_n(tree->sum.b, SUM_SIZE));
    json_put_str(record, "tree", buf_str(&b));
    buf_release(&b);
}
