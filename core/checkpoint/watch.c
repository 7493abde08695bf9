/* SPDX-License-Identifier: MIT */
#include "checkpoint/watch.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "os/file.h"
#include "os/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    /* The first change of a folder, of its entries, or of what is in its files. A file
     * that is written by other ways than write(2) is reported when it is closed. */
    MASK = IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE |
           IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR,
    EVENTS = 64 << 10, /* bytes read at once */
    NOTHING = UINT32_MAX
};

enum { LOOK = 1, DIRTY = 2, BELOW = 4 };

/* A folder, in the order of the scan: those below it follow. */
struct watch_node {
    int32_t wd;
    uint32_t parent, size; /* its number, NOTHING: none; folders with all below */
    uint32_t flags;
    uint32_t old; /* while a scan runs: its number in the last table */
    uint32_t zero;
    uint64_t dev, ino;
    struct watch_sums sums;
};

struct watch_head {
    uint64_t valid; /* 0 while a scan runs, and after one that failed */
    int64_t whole_ms, refused_ms;
    uint64_t store, n;
    struct content_sum key;
    struct content_ref tree;
};

struct watch_table {
    struct watch_node *v; /* owned */
    uint32_t n, cap;
};

struct scan_watch {
    struct watch_fds fds;
    struct store *s;
    struct watch_head head;
    struct watch_table old, new;
    uint32_t *by_ino; /* owned: numbers in old */
    uint32_t at;      /* the folder of new that was entered; NOTHING: none */
    uint32_t max;
    bool whole, failed, again;
};

int watch_open(struct watch_fds *out)
{
    int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    int table = events < 0 ? -1 : memfd_create("od-watch", MFD_CLOEXEC);
    if (table < 0 && events >= 0)
        close(events);
    if (table < 0)
        return -1;
    *out = (struct watch_fds){events, table};
    return 0;
}

/* ---- the last table ---- */

/* A file in memory takes and gives all at once. */
static bool read_at(int fd, void *p, size_t n, size_t at)
{
    return pread(fd, p, n, (off_t)at) == (ssize_t)n;
}

static bool write_at(int fd, const void *p, size_t n, size_t at)
{
    return pwrite(fd, p, n, (off_t)at) == (ssize_t)n;
}

static int order_ino(const void *a, const void *b, void *nodes)
{
    const struct watch_node *v = nodes, *x = &v[*(const uint32_t *)a],
                            *y = &v[*(const uint32_t *)b];
    return (x->ino > y->ino) - (x->ino < y->ino);
}

/* The first of the folders with this inode; *n: how many there are, one per device. */
static const uint32_t *by_ino(const struct scan_watch *w, uint64_t ino, uint32_t *n)
{
    uint32_t from = 0, to = w->old.n;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (w->old.v[w->by_ino[middle]].ino < ino)
            from = middle + 1;
        else
            to = middle;
    }
    for (*n = 0; from + *n < w->old.n && w->old.v[w->by_ino[from + *n]].ino == ino;)
        ++*n;
    return w->by_ino + from;
}

static void mark(struct scan_watch *w, uint32_t i)
{
    w->old.v[i].flags |= DIRTY;
    while ((i = w->old.v[i].parent) != NOTHING && !(w->old.v[i].flags & BELOW))
        w->old.v[i].flags |= BELOW;
}

static void load(struct scan_watch *w)
{
    struct watch_table *t = &w->old;
    if (!read_at(w->fds.table, &w->head, sizeof(w->head), 0) || w->head.n > WATCH_FOLDERS)
        w->head = (struct watch_head){0};
    t->n = (uint32_t)w->head.n;
    t->v = xcalloc(t->n + 1, sizeof(*t->v));
    if (!read_at(w->fds.table, t->v, t->n * sizeof(*t->v), sizeof(w->head)))
        t->n = 0, w->head.valid = 0;
    w->by_ino = xcalloc(t->n + 1, sizeof(*w->by_ino));
    for (uint32_t i = 0; i < t->n; i++)
        w->by_ino[i] = i;
    if (t->n)
        qsort_r(w->by_ino, t->n, sizeof(*w->by_ino), order_ino, t->v);
}

/* A folder may be in the table twice: of two trees one may be in the other. */
static void mark_all(struct scan_watch *w, uint64_t dev, uint64_t ino)
{
    uint32_t n;
    for (const uint32_t *i = by_ino(w, ino, &n); n-- > 0; i++)
        if (w->old.v[*i].dev == dev)
            mark(w, *i);
}

/* ---- events ---- */

static int order_wd(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Watches of a table and the numbers of their folders, sorted. */
static int32_t *wds_of(const struct watch_table *t)
{
    int32_t *wds = xcalloc(t->n + 1, 2 * sizeof(*wds));
    for (uint32_t i = 0; i < t->n; i++)
        wds[2 * i] = t->v[i].wd, wds[2 * i + 1] = (int32_t)i;
    if (t->n)
        qsort(wds, t->n, 2 * sizeof(*wds), order_wd);
    return wds;
}

static void take_events(struct scan_watch *w)
{
    int32_t *wds = wds_of(&w->old);
    char *block = xcalloc(1, EVENTS);
    ssize_t n;
    while ((n = read(w->fds.events, block, EVENTS)) > 0 || (n < 0 && errno == EINTR)) {
        for (ssize_t at = 0; at < n;) {
            struct inotify_event x;
            memcpy(&x, block + at, sizeof(x));
            at += (ssize_t)(sizeof(x) + x.len);
            int32_t key[2] = {x.wd, 0};
            int32_t *found = bsearch(key, wds, w->old.n, 2 * sizeof(*wds), order_wd);
            if (x.mask & IN_Q_OVERFLOW)
                w->whole = true;
            if (found)
                mark_all(w, w->old.v[found[1]].dev, w->old.v[found[1]].ino);
        }
    }
    if (n < 0 && errno != EAGAIN)
        w->whole = true;
    free(block);
    free(wds);
}

/* ---- programs that write without events ---- */

/* A program writes to the file at path: its folder is read, or all if it is not found. */
static void mark_folder_of(struct scan_watch *w, char *path, bool elsewhere)
{
    struct stat st;
    char *end = strrchr(path, '/');
    bool gone = str_ends(str_of(path), STR(" (deleted)"));
    if (path[0] == '/' && end && !elsewhere) {
        end[end == path] = 0;
        if (stat(path, &st) == 0) {
            mark_all(w, st.st_dev, st.st_ino);
            return;
        }
    }
    w->whole |= !gone;
}

/* What it has open for writing: the right to write is a bit of the link. */
static bool look_at_files(struct scan_watch *w, const char *name, bool elsewhere)
{
    DIR *d = opendir(name);
    struct dirent *x;
    char path[PATH_MAX];
    if (!d)
        return false;
    while ((x = readdir(d))) {
        struct stat link, st;
        int fd = dirfd(d);
        if (x->d_name[0] == '.' ||
            fstatat(fd, x->d_name, &link, AT_SYMLINK_NOFOLLOW) < 0 ||
            !(link.st_mode & S_IWUSR) || fstatat(fd, x->d_name, &st, 0) < 0 ||
            !S_ISREG(st.st_mode) || st.st_nlink == 0)
            continue;
        ssize_t n = readlinkat(fd, x->d_name, path, sizeof(path) - 1);
        path[n > 0 ? n : 0] = 0; /* none: too long a path */
        mark_folder_of(w, path, elsewhere);
    }
    closedir(d);
    return true;
}

/* Its files; what it maps has been looked at. */
static bool look_at_process(struct scan_watch *w, pid_t pid, uint64_t here)
{
    char ns[40], fds[40];
    struct stat st;
    buf_fill(ns, sizeof(ns), "/proc/%d/ns/mnt", (int)pid);
    buf_fill(fds, sizeof(fds), "/proc/%d/fd", (int)pid);
    bool elsewhere = stat(ns, &st) == 0 && st.st_ino != here;
    return look_at_files(w, fds, elsewhere);
}

/*
 * It may not be looked at: it has ended, or it is the first process, or the server or a
 * helper of that, for which that takes a capability. These map no file of a tree.
 */
static bool is_harmless(pid_t pid, pid_t keeper)
{
    struct procfs_stat now;
    return procfs_stat(pid, &now) < 0 || procfs_dead(&now) || pid == 1 || pid == keeper ||
           pid == getppid() || now.ppid == getppid();
}

static void look_at_processes(struct scan_watch *w, const struct mapped *m)
{
    struct procfs_stat worker = {0};
    struct stat here;
    bool first = false; /* without it, others are hidden, too (hidepid) */
    w->whole |= m->failed || stat("/proc/self/ns/mnt", &here) < 0 ||
                procfs_stat(getppid(), &worker) < 0;
    for (size_t i = 0; i < m->n && !w->whole; i++) {
        char path[PATH_MAX];
        buf_fill(path, sizeof(path), "%s", m->v[i].path);
        mark_folder_of(w, path, m->v[i].elsewhere);
    }
    for (size_t i = 0; i < m->all_n && !w->whole; i++) {
        pid_t pid = m->all[i].pid;
        first |= pid == 1;
        if (pid == getpid())
            continue;
        bool shown = !m->all[i].hidden,
             good = shown && look_at_process(w, pid, here.st_ino);
        if (shown && !good) {
            store_leave(w->s); /* a user may look at its own */
            good = look_at_process(w, pid, here.st_ino);
            store_enter(w->s);
        }
        w->whole |= !good && !is_harmless(pid, worker.ppid);
    }
    w->whole |= !first;
}

/* ---- a scan ---- */

static uint32_t most_folders(void)
{
    struct buf b = BUF_INIT(64);
    struct err e = ERR_INIT;
    uint64_t n = 0;
    if (file_read("/proc/sys/fs/inotify/max_user_watches", 32, &b, &e) < 0 ||
        str_to_u64(str_trim(buf_str(&b)), &n) < 0)
        n = 0;
    buf_release(&b);
    return n / 4 < WATCH_FOLDERS ? (uint32_t)(n / 4) : WATCH_FOLDERS;
}

struct scan_watch *watch_begin(const struct watch_fds *fds, struct store *s,
                               const struct content_sum *key,
                               const struct content_ref *last, const struct mapped *m)
{
    static const struct watch_head none;
    int64_t now = clock_ms();
    if (fds->events <= 0)
        return NULL;
    struct scan_watch *w = xnew(struct scan_watch);
    w->fds = *fds;
    w->s = s;
    w->at = NOTHING;
    w->max = most_folders();
    store_enter(s);
    load(w);
    w->failed = w->head.refused_ms && now - w->head.refused_ms < WATCH_REFUSED_MS;
    w->whole = w->failed || !w->head.valid || !last || !content_eq(last, &w->head.tree) ||
               !sum_eq(key, &w->head.key) || w->head.store != store_state(s) ||
               now - w->head.whole_ms > WATCH_WHOLE_MS;
    for (uint32_t i = 0; i < w->old.n; i++)
        if (w->old.v[i].flags & LOOK)
            mark(w, i);
    /* From here on the events are in no other place than this process. */
    if (!write_at(fds->table, &none.valid, sizeof(none.valid), 0))
        w->failed = w->whole = true;
    if (!w->whole)
        look_at_processes(w, m);
    take_events(w);
    store_leave(s);
    if (w->whole)
        w->head.whole_ms = now;
    w->head.key = *key;
    return w;
}

void watch_again(struct scan_watch *w)
{
    w->new.n = 0;
    w->at = NOTHING;
    w->again = false;
    w->whole = true;
    w->head.whole_ms = clock_ms();
}

bool watch_needs_all(const struct scan_watch *w) { return w->again && !w->whole; }

/* File systems that report all changes that go through them. */
static bool is_known(int fd)
{
    static const uint32_t good[] = {0xef53 /* ext4 */,        0x58465342 /* xfs */,
                                    0x9123683e /* btrfs */,   0x01021994 /* tmpfs */,
                                    0x794c7630 /* overlay */, 0xf2f52010 /* f2fs */};
    struct statfs st;
    if (fstatfs(fd, &st) < 0)
        return false;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if ((uint32_t)st.f_type == good[i])
            return true;
    return false;
}

/* The folder's number in the last table; NOTHING: it was not there, or elsewhere. */
static uint32_t find_old(const struct scan_watch *w, uint64_t dev, uint64_t ino)
{
    uint32_t n, above = w->at == NOTHING ? NOTHING : w->new.v[w->at].old;
    if (w->whole || (w->at != NOTHING && above == NOTHING))
        return NOTHING;
    for (const uint32_t *i = by_ino(w, ino, &n); n-- > 0; i++)
        if (w->old.v[*i].parent == above && w->old.v[*i].dev == dev)
            return *i;
    return NOTHING;
}

static struct watch_node *add_nodes(struct scan_watch *w, uint32_t n)
{
    struct watch_table *t = &w->new;
    if (n > w->max || t->n > w->max - n)
        return NULL;
    if (t->n + n > t->cap) {
        t->cap = t->n + n < 512 ? 1024 : 2 * (t->n + n);
        t->v = xrealloc(t->v, t->cap, sizeof(*t->v));
    }
    t->n += n;
    return t->v + t->n - n;
}

void watch_enter(struct scan_watch *w, int fd, uint64_t dev, uint64_t ino)
{
    char link[40];
    uint32_t old = find_old(w, dev, ino);
    struct watch_node *x = w->failed ? NULL : add_nodes(w, 1);
    if (!x) {
        w->failed = true;
        return;
    }
    *x = (struct watch_node){.parent = w->at, .old = old, .dev = dev, .ino = ino};
    /* Another device below it has inodes of its own: a volume of btrfs. */
    if (w->at == NOTHING ? !is_known(fd) : w->new.v[w->at].dev != dev)
        w->failed = true;
    buf_fill(link, sizeof(link), "/proc/self/fd/%d", fd);
    x->wd = w->failed ? -1 : inotify_add_watch(w->fds.events, link, MASK | IN_ONESHOT);
    w->failed |= x->wd < 0;
    w->at = (uint32_t)(x - w->new.v);
}

void watch_leave(struct scan_watch *w, const struct watch_sums *sums)
{
    if (w->failed || w->at == NOTHING)
        return;
    struct watch_node *x = &w->new.v[w->at];
    x->size = w->new.n - w->at;
    x->sums = *sums;
    w->at = x->parent;
}

bool watch_take(struct scan_watch *w, uint64_t dev, uint64_t ino, struct watch_sums *sums)
{
    uint32_t i = w->failed ? NOTHING : find_old(w, dev, ino);
    if (i == NOTHING || w->old.v[i].flags & (DIRTY | BELOW) ||
        w->old.v[i].size > w->old.n - i)
        return false;
    uint32_t n = w->old.v[i].size, to = w->new.n;
    struct watch_node *x = add_nodes(w, n);
    if (!x)
        return false;
    memcpy(x, w->old.v + i, n * sizeof(*x));
    for (uint32_t k = 0; k < n; k++)
        x[k].parent = k ? x[k].parent - i + to : w->at;
    *sums = x->sums;
    return true;
}

void watch_check(struct scan_watch *w)
{
    if (!w->failed && w->at != NOTHING)
        w->new.v[w->at].flags |= LOOK;
}

void watch_entry(struct scan_watch *w, const struct file_node *x,
                 const struct file_node *was)
{
    if (x->racy || x->shared)
        watch_check(w);
    /* It has a new name, of which the folder of another one may know nothing. */
    w->again |= x->shared && !(was && was->shared && was->ino == x->ino);
}

/* Removes watches of folders that are not in the tree any more. */
static void remove_old(struct scan_watch *w)
{
    int32_t *wds = wds_of(&w->new);
    for (uint32_t i = 0; i < w->old.n; i++) {
        int32_t key[2] = {w->old.v[i].wd, 0};
        if (!bsearch(key, wds, w->new.n, 2 * sizeof(*wds), order_wd))
            inotify_rm_watch(w->fds.events, key[0]);
    }
    free(wds);
}

void watch_end(struct scan_watch *w, const struct content_ref *tree)
{
    if (!w)
        return;
    if (w->failed) {
        for (uint32_t i = 0; i < w->new.n; i++)
            inotify_rm_watch(w->fds.events, w->new.v[i].wd);
        w->new.n = 0;
        if (!w->head.refused_ms || clock_ms() - w->head.refused_ms >= WATCH_REFUSED_MS)
            w->head.refused_ms = clock_ms();
    } else {
        w->head.refused_ms = 0;
    }
    remove_old(w);
    struct watch_head head = w->head;
    head.valid = 0;
    head.n = w->new.n;
    if (tree)
        head.tree = *tree;
    head.store = store_state(w->s);
    if (write_at(w->fds.table, &head, sizeof(head), 0) &&
        write_at(w->fds.table, w->new.v, w->new.n * sizeof(*w->new.v), sizeof(head)) &&
        tree && !w->failed) {
        head.valid = 1;
        write_at(w->fds.table, &head, sizeof(head), 0);
    }
    free(w->by_ino);
    free(w->old.v);
    free(w->new.v);
    free(w);
}
