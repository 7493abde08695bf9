/* SPDX-License-Identifier: MIT */
#include "checkpoint/diff.h"

#include "base/xalloc.h"

#include <stdlib.h>

/* ---- pairs ---- */

static bool is_in(struct str path, struct str folder)
{
    return path.n > folder.n && str_starts(path, folder) && path.p[folder.n] == '/';
}

int pairs_relation(const struct pairs_filter *f, struct str path)
{
    int relation = PAIRS_OUTSIDE;
    if (!f || f->n == 0)
        return PAIRS_WHOLE;
    for (size_t i = 0; i < f->n; i++) {
        if (f->paths[i].n == 0 || str_eq(path, f->paths[i]) || is_in(path, f->paths[i]))
            return PAIRS_INSIDE;
        if (is_in(f->paths[i], path))
            relation = PAIRS_ABOVE;
    }
    return relation;
}

/* On the heap, since trees are deep. */
struct sides {
    struct buf a, b;
    struct pairs_merge m;
};

static int walk(const struct pairs *p, struct buf *path, const struct content_ref *a,
                const struct content_ref *b, struct err *e);

static const struct content_ref *inside(const struct file_node *x)
{
    return x && x->type == ENTRY_FOLDER ? &x->content : NULL;
}

static int visit(const struct pairs *p, struct buf *path, const struct file_node *x,
                 const struct file_node *y, struct err *e)
{
    size_t before = path->n;
    const struct content_ref *a = inside(x), *b = inside(y);
    buf_adds(path, x ? x->name : y->name);
    if (buf_full(path))
        return err_set(e, ERR_LIMIT, "a path in the checkpoint is too long");
    int rc = 0;
    if (pairs_relation(p->filter, buf_str(path)) != PAIRS_OUTSIDE)
        rc = p->fn(p->arg, buf_str(path), x, y, e);
    else
        rc = 1;
    if (rc == 0 && (a || b) && (p->all || !a || !b || !content_eq(a, b))) {
        buf_addc(path, '/');
        rc = walk(p, path, a, b, e);
    }
    buf_truncate(path, before);
    return rc < 0 ? -1 : 0;
}

static int walk(const struct pairs *p, struct buf *path, const struct content_ref *a,
                const struct content_ref *b, struct err *e)
{
    struct sides *t = xnew(struct sides);
    const struct file_node *x = NULL, *y = NULL;
    buf_init(&t->a, MANIFEST_MAX);
    buf_init(&t->b, MANIFEST_MAX);
    int rc = a ? content_get(p->s, a, &t->a, e) : 0;
    if (rc == 0 && b)
        rc = content_get(p->s, b, &t->b, e);
    merge_init(&t->m, buf_str(&t->a), buf_str(&t->b));
    while (rc == 0 && (rc = merge_next(&t->m, &x, &y, e)) > 0)
        rc = visit(p, path, x, y, e);
    buf_release(&t->a);
    buf_release(&t->b);
    free(t);
    return rc;
}

int pairs_walk(const struct pairs *p, const struct content_ref *a,
               const struct content_ref *b, struct err *e)
{
    struct buf path = BUF_INIT(8 << 20);
    int rc = walk(p, &path, a, b, e);
    buf_release(&path);
    return rc;
}

/* ---- links ---- */

struct inode {
    const struct links_group *keeper;
    uint64_t ino; /* of the entry of b that keeps it, if that has one name */
    bool same;    /* the keeper had this very inode */
};

static struct str key_of(uint64_t key[2], uint64_t dev, uint64_t ino)
{
    key[0] = dev;
    key[1] = ino;
    return str_n(key, 2 * sizeof(key[0]));
}

static bool is_same_file(const struct file_node *x, const struct file_node *y)
{
    return x->ino == y->ino && (x->dev == y->dev || !x->dev || !y->dev);
}

static bool is_good(const struct links *l, const struct file_node *x,
                    const struct file_node *y)
{
    unsigned d = entry_differs(x, y);
    return !(l->exact ? d : d & (DIFFERS_TYPE | DIFFERS_CONTENT));
}

struct links_group *links_group(const struct links *l, const struct file_node *y)
{
    uint64_t key[2];
    return y->shared ? map_get(&l->groups, key_of(key, y->dev, y->ino)) : NULL;
}

static struct inode *inode_of(const struct links *l, const struct file_node *x)
{
    uint64_t key[2];
    return x->shared ? map_get(&l->inodes, key_of(key, x->dev, x->ino)) : NULL;
}

static void add_group(struct links *l, const struct file_node *y)
{
    uint64_t key[2];
    if (!y->shared || links_group(l, y))
        return;
    struct links_group *g = xnew(struct links_group);
    g->dev = y->dev;
    g->ino = y->ino;
    map_put(&l->groups, key_of(key, y->dev, y->ino), g);
}

static void add_inode(struct links *l, const struct file_node *x)
{
    uint64_t key[2];
    if (x->shared && !inode_of(l, x))
        map_put(&l->inodes, key_of(key, x->dev, x->ino), xnew(struct inode));
}

/* First: which groups and inodes do not agree. Folders that are the same do. */
static int find_doubtful(void *arg, struct str path, const struct file_node *x,
                         const struct file_node *y, struct err *e)
{
    struct links *l = arg;
    (void)path, (void)e;
    if (!y || (!y->shared && !(x && x->shared)))
        return 0;
    if (x && is_good(l, x, y) && is_same_file(x, y) && x->shared == y->shared)
        return 0;
    add_group(l, y);
    if (x)
        add_inode(l, x);
    return 0;
}

/* Then, of all names of these: which group keeps which inode. */
static int find_keepers(void *arg, struct str path, const struct file_node *x,
                        const struct file_node *y, struct err *e)
{
    struct links *l = arg;
    (void)e;
    if (!x || !y || !is_good(l, x, y))
        return 0;
    bool same = is_same_file(x, y);
    struct links_group *g = links_group(l, y);
    struct inode *i = inode_of(l, x);
    if (i && ((!i->keeper && !i->ino) || (same && !i->same)))
        *i = (struct inode){g, y->ino, same};
    if (g && (!g->path || (same && !g->settled))) {
        free(g->path);
        g->path = xstrndup(path.p, path.n);
        g->kept_dev = x->dev;
        g->kept_ino = x->ino;
        g->settled = same;
    }
    return 0;
}

int links_find(struct links *l, struct store *s, const struct content_ref *a,
               const struct content_ref *b, struct err *e)
{
    struct pairs p = {.s = s, .fn = find_doubtful, .arg = l};
    map_init(&l->groups);
    map_init(&l->inodes);
    int rc = pairs_walk(&p, a, b, e);
    if (rc < 0 || (l->groups.count == 0 && l->inodes.count == 0))
        return rc;
    p.fn = find_keepers;
    p.all = true;
    rc = pairs_walk(&p, a, b, e);
    /* A group whose inode another one keeps gets a new file. */
    struct str name;
    void *value;
    for (void *it = NULL; (it = map_next(&l->groups, it, &name, &value));) {
        struct links_group *g = value;
        uint64_t key[2];
        struct inode *i = g->kept_dev
                              ? map_get(&l->inodes, key_of(key, g->kept_dev, g->kept_ino))
                              : NULL;
        if (i && i->keeper != g) {
            free(g->path);
            g->path = NULL;
        }
    }
    return rc;
}

void links_release(struct links *l)
{
    struct str name;
    void *value;
    for (void *it = NULL; (it = map_next(&l->groups, it, &name, &value));) {
        free(((struct links_group *)value)->path);
        free(value);
    }
    for (void *it = NULL; (it = map_next(&l->inodes, it, &name, &value));)
        free(value);
    map_release(&l->groups);
    map_release(&l->inodes);
}

bool links_agree(const struct links *l, const struct file_node *x,
                 const struct file_node *y)
{
    const struct links_group *g = links_group(l, y);
    const struct inode *i = inode_of(l, x);
    if (g)
        return g->path && g->kept_ino == x->ino && g->kept_dev == x->dev;
    return !i || (!i->keeper && i->ino == y->ino);
}
