/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/enc.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "checkpoint/own.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int tree_open(const char *path)
{
    char z[256];
    struct str rest = str_of(path), name;
    int at = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (at >= 0 && rest.n > 0) {
        name = str_cut(&rest, '/');
        if (name.n == 0)
            continue;
        int next = buf_fill(z, sizeof(z), "%.*s", STR_ARG(name))
                       ? openat(at, z,
                                (rest.n ? O_PATH : O_RDONLY) | O_DIRECTORY | O_NOFOLLOW |
                                    O_CLOEXEC)
                       : (errno = ENAMETOOLONG, -1);
        int why = errno;
        close(at);
        at = next;
        errno = why;
    }
    return at;
}

static int add_tree(const struct checkpoint_call *q, struct trees *t, struct str dir,
                    struct err *e)
{
    char path[PATH_MAX], real[PATH_MAX];
    if (t->n == TREES_MAX)
        return err_set(e, ERR_LIMIT, "a checkpoint has at most %d folders", TREES_MAX);
    bool fits = dir.n && dir.p[0] == '/'
                    ? buf_fill(path, sizeof(path), "%.*s", STR_ARG(dir))
                    : buf_fill(path, sizeof(path), "%s/%.*s", q->cwd, STR_ARG(dir));
    if (!fits)
        return err_set(e, ERR_INVALID, "the folder's name is too long");
    if (!realpath(path, real))
        return err_sys(e, errno, "cannot keep %.300s", path);
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->path[i], real) == 0)
            return 0;
    t->fd[t->n] = -1;
    t->path[t->n++] = xstrdup(real);
    return 0;
}

int trees_of_call(const struct checkpoint_call *q, struct trees *t, struct err *e)
{
    struct str dir = json_str(q->args, "dir", "");
    *t = (struct trees){0};
    if (dir.n)
        return add_tree(q, t, dir, e);
    if (!json_first(q->dirs))
        return add_tree(q, t, STR("."), e);
    for (const struct json *d = json_first(q->dirs); d; d = json_next(d))
        if (add_tree(q, t, json_str_value(d, ""), e) < 0)
            return -1;
    return 0;
}

int trees_of_record(const struct json *record, struct trees *t, struct err *e)
{
    *t = (struct trees){0};
    const struct json *d = json_first(json_get(record, "dirs"));
    for (; d && t->n < TREES_MAX; d = json_next(d)) {
        struct buf b = BUF_INIT(PATH_MAX);
        if (dec_base64(&b, json_str_value(d, "")) < 0 || !b.n || b.p[0] != '/') {
            buf_release(&b);
            return err_set(e, ERR_IO, "the checkpoint is damaged: it has no folder");
        }
        t->fd[t->n] = -1;
        t->path[t->n++] = buf_take(&b);
    }
    return 0;
}

int trees_open(struct trees *t, struct err *e)
{
    for (size_t i = 0; i < t->n; i++) {
        t->fd[i] = tree_open(t->path[i]);
        if (t->fd[i] >= 0)
            continue;
        if (errno == ELOOP || errno == ENOTDIR)
            return err_set(e, ERR_INVALID,
                           "cannot use %.300s: it, or a folder above it, is a link or a "
                           "file by now",
                           t->path[i]);
        return err_sys(e, errno, "cannot open the folder %.300s", t->path[i]);
    }
    return 0;
}

void trees_release(struct trees *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->fd[i] >= 0)
            close(t->fd[i]);
        free(t->path[i]);
    }
    t->n = 0;
}

/* ---- paths ---- */

void put_path(struct json *o, const char *name, struct str path)
{
    char also[64];
    struct buf b = BUF_INIT(64 << 20);
    json_put_str(o, name, path);
    if (utf8_valid(path))
        return;
    buf_fill(also, sizeof(also), "%s_base64", name);
    enc_base64(&b, path);
    json_put_str(o, also, buf_str(&b));
    buf_release(&b);
}

/* Removes empty parts, "." and ".." as text: the links on the way are not followed. */
static void clean(struct buf *path)
{
    struct buf out = BUF_INIT(8 << 20);
    struct str rest = buf_str(path);
    while (rest.n > 0) {
        struct str name = str_cut(&rest, '/');
        if (name.n == 0 || str_eq(name, STR(".")))
            continue;
        if (str_eq(name, STR(".."))) {
            while (out.n > 0 && out.p[out.n - 1] != '/')
                buf_truncate(&out, out.n - 1);
            if (out.n > 0)
                buf_truncate(&out, out.n - 1);
            continue;
        }
        buf_addc(&out, '/');
        buf_adds(&out, name);
    }
    buf_reset(path);
    buf_adds(path, out.n ? buf_str(&out) : STR("/"));
    buf_release(&out);
}

static int choose(struct chosen *c, const struct trees *t, struct str path)
{
    for (size_t i = 0; i < t->n; i++) {
        struct str root = str_of(t->path[i]);
        bool top = str_eq(root, STR("/"));
        if (!top && !str_eq(path, root) &&
            !(str_starts(path, root) && path.p[root.n] == '/'))
            continue;
        struct str in = str_sub(path, top ? 1 : root.n + 1, path.n);
        c->paths[i] = xrealloc(c->paths[i], c->n[i] + 1, sizeof(*c->paths[i]));
        c->paths[i][c->n[i]++] = str_n(xstrndup(in.n ? in.p : "", in.n), in.n);
        c->any = true;
        return 0;
    }
    return -1;
}

static int choose_given(struct chosen *c, const struct trees *t, const char *cwd,
                        struct str given, struct err *e)
{
    struct buf b = BUF_INIT(4 << 20);
    if (!given.n || given.p[0] != '/')
        buf_addf(&b, "%s/", cwd);
    buf_adds(&b, given);
    clean(&b);
    int rc = choose(c, t, buf_str(&b));
    if (rc < 0)
        err_set(e, ERR_INVALID, "%.200s is not in a folder of the checkpoint: %.200s",
                buf_z(&b), t->n ? t->path[0] : "it has none");
    buf_release(&b);
    return rc;
}

int chosen_of_call(const struct checkpoint_call *q, const struct json *args,
                   const struct trees *t, struct chosen *out, struct err *e)
{
    char cwd[PATH_MAX];
    const struct json *p = json_first(json_get(args, "paths"));
    int rc = 0;
    *out = (struct chosen){0};
    if (!realpath(q->cwd, cwd))
        buf_fill(cwd, sizeof(cwd), "%s", q->cwd);
    for (; rc == 0 && p; p = json_next(p))
        rc = choose_given(out, t, cwd, json_str_value(p, ""), e);
    p = json_first(json_get(args, "paths_base64"));
    for (; rc == 0 && p; p = json_next(p)) {
        struct buf b = BUF_INIT(4 << 20);
        rc = dec_base64(&b, json_str_value(p, "")) < 0
                 ? err_set(e, ERR_INVALID, "a path in paths_base64 is not base64")
                 : choose_given(out, t, cwd, buf_str(&b), e);
        buf_release(&b);
    }
    return rc;
}

void chosen_release(struct chosen *c)
{
    for (size_t i = 0; i < TREES_MAX; i++) {
        for (size_t j = 0; j < c->n[i]; j++)
            free((char *)(uintptr_t)c->paths[i][j].p);
        free(c->paths[i]);
    }
    *c = (struct chosen){0};
}

/* ---- scans ---- */

static void on_gap(void *arg, struct str path, enum gap why)
{
    struct scanned *n = arg;
    if (!n->list)
        n->list = json_array();
    if (json_count(n->list) >= GAPS_SHOWN)
        return;
    struct json *o = json_object();
    struct buf b = BUF_INIT(8 << 20);
    buf_addf(&b, "%s/", strcmp(n->root, "/") == 0 ? "" : n->root);
    buf_adds(&b, path);
    put_path(o, "path", buf_str(&b));
    json_put_z(o, "why", gap_words(why));
    json_push(n->list, o);
    buf_release(&b);
}

static struct ignore *patterns(const struct json *exclude)
{
    struct buf b = BUF_INIT(IGNORE_FILE_MAX);
    for (const struct json *x = json_first(exclude); x; x = json_next(x)) {
        buf_adds(&b, json_str_value(x, ""));
        buf_addc(&b, '\n');
    }
    struct ignore *g = b.n ? ignore_new(buf_str(&b)) : NULL;
    buf_release(&b);
    return g;
}

static void hide(struct tree_scan *c, size_t i, const char *path)
{
    struct stat st;
    if (path && stat(path, &st) == 0)
        c->hidden[i] = (struct scan_hidden){st.st_dev, st.st_ino};
}

int tree_entry(struct store *s, const struct content_ref *tree, size_t i,
               struct buf *space, struct file_node *out, struct err *e)
{
    buf_reset(space);
    if (content_get(s, tree, space, e) < 0)
        return -1;
    struct str rest = buf_str(space);
    for (size_t j = 0; j <= i; j++)
        if (entry_read(&rest, out, NULL) <= 0)
            return err_set(e, ERR_IO, "the checkpoint is damaged: a folder is missing");
    return 0;
}

/* All that a scan depends on beside the files: another key, and nothing is taken over. */
static struct content_sum key_of(const struct checkpoint_call *q, const struct trees *t)
{
    struct content_sum sum;
    struct err none = ERR_INIT;
    struct buf b = BUF_INIT(8 << 20);
    buf_addf(&b, "%lld %llu ", (long long)call_uid(q), (unsigned long long)q->file_max);
    for (size_t i = 0; i < t->n; i++)
        buf_add(&b, t->path[i], strlen(t->path[i]) + 1);
    if (q->exclude)
        json_print(&b, q->exclude);
    file_read("/proc/self/mountinfo", 4 << 20, &b, &none);
    sum_of(buf_str(&b), &sum);
    buf_release(&b);
    return sum;
}

struct scanning {
    const struct checkpoint_call *q;
    struct store *s;
    struct trees *t;
    const struct content_ref *was; /* NULL: the last checkpoint is not known */
    uint64_t stat_max;
    struct scan_watch *watch; /* NULL: none */
    struct mapped mapped;
    struct ignore *skip;
    struct buf space, old;
};

/* Is the whole folder what it was? Then x becomes its entry. */
static bool take_tree(struct scanning *g, size_t i, const struct file_node *before,
                      struct scanned *out, struct file_node *x)
{
    struct scan_stat st;
    struct watch_sums n;
    if (!g->watch || scan_stat(g->t->fd[i], "", &st) < 0 || before->racy ||
        before->ino != st.x.ino || !moment_eq(before->ctime, st.x.ctime) ||
        !watch_take(g->watch, st.dev, st.x.ino, &n))
        return false;
    *x = *before;
    out->files += n.files, out->folders += n.folders;
    out->others += n.others, out->bytes += n.bytes;
    return true;
}

static int scan_one(struct scanning *g, size_t i, struct scanned *out, struct buf *top,
                    struct err *e)
{
    struct file_node x, before;
    struct err none = ERR_INIT;
    char name[16];
    struct tree_scan c = {.s = g->s,
                          .root = g->t->fd[i],
                          .skip = g->skip,
                          .gap = on_gap,
                          .arg = out,
                          .watch = g->watch,
                          .mapped = &g->mapped,
                          .file_max = g->q->file_max,
                          .stat_max = g->stat_max};
    store_enter(g->s);
    hide(&c, 0, g->q->store);
    hide(&c, 1, g->q->hide);
    store_leave(g->s);
    out->root = g->t->path[i];
    if (g->was && tree_entry(g->s, g->was, i, &g->old, &before, &none) == 0)
        c.last = &before.content;
    if (!(c.last && take_tree(g, i, &before, out, &x)) &&
        scan_tree(&c, &x, &g->space, e) < 0)
        return -1;
    buf_fill(name, sizeof(name), "%zu", 10 + i); /* their order is that of bytes */
    x.name = str_of(name);
    entry_write(top, &x);
    out->files += c.files, out->folders += c.folders, out->others += c.others;
    out->bytes += c.bytes, out->gaps += c.gaps, out->read += c.read;
    return 0;
}

static int scan_all(struct scanning *g, struct content_ref *tree, struct scanned *out,
                    struct err *e)
{
    struct buf top = BUF_INIT(RECORD_MAX);
    int rc = 0;
    json_free(out->list);
    *out = (struct scanned){0};
    for (size_t i = 0; rc == 0 && i < g->t->n; i++)
        rc = scan_one(g, i, out, &top, e);
    if (rc == 0)
        rc = content_put(g->s, buf_str(&top), tree, e);
    buf_release(&top);
    return rc;
}

int trees_scan(const struct checkpoint_call *q, struct store *s, struct trees *t,
               const struct json *last, uint64_t stat_max, struct scan_watch **watch,
               struct content_ref *tree, struct scanned *out, struct err *e)
{
    struct scanning g = {.q = q,
                         .s = s,
                         .t = t,
                         .stat_max = stat_max,
                         .skip = patterns(q->exclude),
                         .space = BUF_INIT(MANIFEST_MAX),
                         .old = BUF_INIT(MANIFEST_MAX)};
    struct content_ref was;
    /* What stat(2) said on another machine says nothing here. */
    if (last && !str_eq(json_str(last, "why", ""), STR("import")) &&
        record_tree(last, &was, e) == 0)
        g.was = &was;
    mapped_find(&g.mapped, s);
    if (watch) {
        struct content_sum key = key_of(q, t);
        g.watch = *watch = watch_begin(&q->watch, s, &key, g.was, &g.mapped);
    }
    *out = (struct scanned){0};
    int rc = scan_all(&g, tree, out, e);
    if (rc == 0 && g.watch && watch_needs_all(g.watch)) {
        watch_again(g.watch);
        rc = scan_all(&g, tree, out, e);
    }
    ignore_free(g.skip);
    mapped_release(&g.mapped);
    buf_release(&g.space);
    buf_release(&g.old);
    return rc;
}

static bool has_trees(const struct json *record, const struct trees *t)
{
    struct trees other;
    struct err e = ERR_INIT;
    bool same = trees_of_record(record, &other, &e) == 0 && other.n == t->n;
    for (size_t i = 0; same && i < t->n; i++)
        same = strcmp(other.path[i], t->path[i]) == 0;
    trees_release(&other);
    return same;
}

struct json *trees_last(const struct store *s, const struct trees *t, int64_t uid)
{
    struct err e = ERR_INIT;
    struct json *found = NULL;
    int64_t *ids;
    long n = record_list(s, &ids, &e);
    for (long i = n; !found && i-- > 0;) {
        found = record_read(s, ids[i], &e);
        if (found && (json_int(found, "uid", -1) != uid || !has_trees(found, t))) {
            json_free(found);
            found = NULL;
        }
    }
    free(ids);
    return found;
}
