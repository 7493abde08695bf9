/* SPDX-License-Identifier: MIT */
#include "checkpoint/restore.h"

#include "base/xalloc.h"
#include "checkpoint/levels.h"
#include "checkpoint/meta.h"
#include "checkpoint/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { NAME = 256, ALL = DIFFERS_MODE | DIFFERS_OWNER | DIFFERS_TIME | DIFFERS_XATTRS };
enum { NOREPLACE = 1 }; /* RENAME_NOREPLACE of renameat2(2) */

static const char part[] = "part";
static const struct pairs_filter everything;

struct restore_work {
    struct restore *r;
    struct levels l;
    struct links links;
    struct map touched; /* files with several names that were changed: by inode */
    int stage;          /* the folder of unfinished files; -1: none yet */
    bool named;         /* the file system has no files without a name */
    int fatal;          /* errno of what ends the whole restore; 0: nothing */
};

/* ---- what went wrong ---- */

static int problem(struct restore_work *w, struct str name, const char *why)
{
    w->r->problems++;
    w->r->problem(w->r->arg, levels_name(&w->l, name), why);
    levels_unname(&w->l, name);
    return 0;
}

/* Is the reason not one file's own? */
static bool ends_all(int why)
{
    return why == ENOSPC || why == EDQUOT || why == EIO || why == ENOMEM ||
           why == EMFILE || why == ENFILE || why == EROFS;
}

/* Returns 0, and the restore goes on; or -1 if the reason is not this file's own. */
static int failed(struct restore_work *w, struct str name, const char *what,
                  struct err *e)
{
    int why = errno;
    char text[128];
    if (ends_all(why)) {
        w->fatal = why;
        return err_sys(e, why, "cannot restore %.300s (%s)",
                       buf_z(&w->l.path)[0] ? buf_z(&w->l.path) : "the folder", what);
    }
    buf_fill(text, sizeof(text), "%s: %s", what, strerror(why));
    return problem(w, name, text);
}

static bool z_of(struct str name, char z[NAME])
{
    return buf_fill(z, NAME, "%.*s", STR_ARG(name));
}

/* Is the entry still what was read? */
static bool is_as_read(struct restore_work *w, const char *z, const struct file_node *x)
{
    struct scan_stat st;
    uint64_t key[2] = {x->dev, x->ino};
    return scan_stat(levels_fd(&w->l), z, &st) == 0 && st.x.type == x->type &&
           st.x.ino == x->ino && st.x.size == x->size &&
           ((moment_eq(st.x.mtime, x->mtime) && moment_eq(st.x.ctime, x->ctime)) ||
            map_get(&w->touched, str_n(key, sizeof(key))));
}

/* Is there surely nothing of this name? */
static bool is_missing(struct restore_work *w, const char *z)
{
    return faccessat(levels_fd(&w->l), z, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
           errno == ENOENT;
}

/* The times of a file change with another name of it, too. */
static void touch(struct restore_work *w, uint64_t dev, uint64_t ino)
{
    uint64_t key[2] = {dev, ino};
    map_put(&w->touched, str_n(key, sizeof(key)), w);
}

static void touch_entry(struct restore_work *w, const struct file_node *x)
{
    if (x && x->shared)
        touch(w, x->dev, x->ino);
}

static const char changed[] = "it changed during the restore and was left alone";
static const char appeared[] = "it appeared during the restore and was left alone";

static void tell_gone(struct restore_work *w, const struct file_node *x)
{
    if (w->r->gone)
        w->r->gone(w->r->arg, x);
}

/* ---- removing ---- */

static int remove_entry(struct restore_work *w, const struct file_node *x, struct err *e);

static int remove_inside(struct restore_work *w, const struct file_node *x, struct err *e)
{
    struct buf *b = xnew(struct buf);
    struct file_node y;
    int rc, has = 0;
    buf_init(b, MANIFEST_MAX);
    if (levels_enter(&w->l, x->name) < 0) {
        free(b);
        return failed(w, x->name, "cannot be entered", e);
    }
    if (!w->r->privileged)
        meta_open_up(levels_fd(&w->l), x->mode);
    rc = content_get(w->r->s, &x->content, b, e);
    struct str rest = buf_str(b);
    while (rc == 0 && (has = entry_read(&rest, &y, NULL)) > 0)
        rc = remove_entry(w, &y, e);
    if (rc == 0 && has < 0)
        rc = err_set(e, ERR_IO, "a folder in the store is damaged");
    buf_release(b);
    free(b);
    return levels_leave(&w->l, e) < 0 ? -1 : rc;
}

static int remove_folder(struct restore_work *w, const struct file_node *x, struct err *e)
{
    char z[NAME];
    if (gap_is_empty(x->gap))
        return problem(w, x->name, gap_words(x->gap));
    if (remove_inside(w, x, e) < 0)
        return -1;
    tell_gone(w, x);
    if (z_of(x->name, z) && unlinkat(levels_fd(&w->l), z, AT_REMOVEDIR) == 0) {
        w->r->removed++;
        return 0;
    }
    if (errno == ENOENT)
        return 0;
    if (errno == ENOTEMPTY || errno == EEXIST)
        return problem(w, x->name, "it has files that no checkpoint keeps, or new ones");
    return failed(w, x->name, "cannot be removed", e);
}

static int remove_entry(struct restore_work *w, const struct file_node *x, struct err *e)
{
    char z[NAME];
    if (!z_of(x->name, z))
        return 0;
    if (x->type == ENTRY_FOLDER)
        return remove_folder(w, x, e);
    if (x->gap == GAP_MOUNT)
        return problem(w, x->name, gap_words(x->gap));
    if (gap_is_empty(x->gap))
        return problem(w, x->name, "it could not be kept, and was left alone");
    if (!is_as_read(w, z, x))
        return is_missing(w, z) ? 0 : problem(w, x->name, changed);
    tell_gone(w, x);
    touch_entry(w, x);
    if (unlinkat(levels_fd(&w->l), z, 0) < 0 && errno != ENOENT)
        return failed(w, x->name, "cannot be removed", e);
    w->r->removed++;
    return 0;
}

/* ---- making ---- */

static int stage_open(struct restore_work *w)
{
    char name[sizeof(SCAN_OURS) + RESTORE_TOKEN + 1];
    if (w->stage >= 0)
        return w->stage;
    buf_fill(name, sizeof(name), SCAN_OURS "%s", w->r->token);
    if (mkdirat(w->r->root, name, 0700) < 0 && errno != EEXIST)
        return -1;
    w->stage = scan_folder(w->r->root, name);
    if (w->stage >= 0)
        unlinkat(w->stage, part, 0);
    return w->stage;
}

struct restore_writing {
    int fd;
    uint64_t at, end; /* where the next piece begins, and what was written ends */
    bool failed;      /* the disk, not the store */
    int why;
};

static int write_piece(void *arg, struct str piece, struct err *e)
{
    struct restore_writing *q = arg;
    for (size_t n = 0; piece.p && n < piece.n;) {
        ssize_t put = pwrite(q->fd, piece.p + n, piece.n - n, (off_t)(q->at + n));
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            q->failed = true;
            q->why = errno;
            return err_sys(e, errno, "cannot write");
        }
        n += (size_t)put;
    }
    q->at += piece.n;
    if (piece.p)
        q->end = q->at;
    return 0;
}

/*
 * A file that has no name yet, in the folder where it will be; the part, where that is
 * not possible. ext4 puts it near its folder then. Near the folder of parts, from where
 * many files may just have gone, it looks at each of those for every new one.
 */
static int open_part(const struct restore_work *w, bool named, uint32_t mode)
{
    return named ? openat(w->stage, part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                 : openat(levels_fd(&w->l), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
}

/* What of the new file is not as it is to be. */
static unsigned new_differs(int fd, const struct file_node *y)
{
    struct stat st;
    if (y->xattrs.n || fstat(fd, &st) < 0 || flistxattr(fd, NULL, 0) != 0)
        return ALL;
    return DIFFERS_TIME |
           (st.st_uid != y->uid || st.st_gid != y->gid ? DIFFERS_OWNER : 0) |
           ((st.st_mode & 07777) != y->mode ? DIFFERS_MODE : 0);
}

/* Names the file that has no name: at its place if nothing is there, else as the part.
 * Returns 1 at its place, 0 as the part, or -1 with errno. */
static int name_file(const struct restore_work *w, int fd, const struct file_node *x,
                     const char *z)
{
    char link[40];
    buf_fill(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (x)
        return linkat(AT_FDCWD, link, w->stage, part, AT_SYMLINK_FOLLOW);
    return linkat(AT_FDCWD, link, levels_fd(&w->l), z, AT_SYMLINK_FOLLOW) < 0 ? -1 : 1;
}

/* Makes the file as the part, or sets *placed. Returns 1; 0 after a problem; -1 and sets
 * *e. */
static int make_file(struct restore_work *w, const struct file_node *x,
                     const struct file_node *y, const char *z, bool *placed,
                     struct err *e)
{
    struct err why = ERR_INIT;
    bool named = w->named;
    struct restore_writing q = {.fd = open_part(w, named, y->mode & 0777)};
    const char *what = NULL;
    if (q.fd < 0 && !named)
        q.fd = open_part(w, w->named = named = true, 0);
    if (q.fd < 0)
        return failed(w, y->name, "cannot be made", e);
    if (content_each(w->r->s, &y->content, write_piece, &q, &why) < 0) {
        close(q.fd);
        errno = q.why;
        return q.failed ? failed(w, y->name, "cannot be written", e)
                        : problem(w, y->name, why.text);
    }
    int rc = 1, name = 0;
    if (q.at != y->size && y->gap == GAP_NONE)
        problem(w, y->name, "its content in the store has another size");
    if (q.end != q.at && ftruncate(q.fd, (off_t)q.at) < 0)
        rc = failed(w, y->name, "cannot be written", e);
    else if (meta_set(q.fd, y, new_differs(q.fd, y), &what) < 0 &&
             failed(w, y->name, what, e) < 0)
        rc = -1;
    if (rc == 1 && !named)
        name = name_file(w, q.fd, x, z);
    bool there = name < 0 && !x && errno == EEXIST;
    if (close(q.fd) < 0 && rc == 1)
        rc = failed(w, y->name, "cannot be written", e);
    *placed = name > 0;
    if (rc != 1 || name >= 0)
        return rc;
    if (there)
        return problem(w, y->name, appeared);
    w->named = true;
    return make_file(w, x, y, z, placed, e);
}

static int make_special(struct restore_work *w, const struct file_node *y, struct err *e)
{
    static const mode_t kinds[] = {[ENTRY_FIFO] = S_IFIFO,
                                   [ENTRY_SOCKET] = S_IFSOCK,
                                   [ENTRY_CHAR] = S_IFCHR,
                                   [ENTRY_BLOCK] = S_IFBLK};
    const char *what = NULL;
    char target[4097];
    int rc = -1, fd = -1;
    if (y->type == ENTRY_LINK) {
        rc = buf_fill(target, sizeof(target), "%.*s", STR_ARG(y->target))
                 ? symlinkat(target, w->stage, part)
                 : (errno = ENAMETOOLONG, -1);
        if (rc == 0)
            rc = meta_set_link(w->stage, part, y, ALL, &what);
    } else {
        if (mknodat(w->stage, part, kinds[y->type] | 0600, (dev_t)y->device) == 0)
            fd = openat(w->stage, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
            rc = meta_set(fd, y, ALL, &what);
    }
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    if (rc == 0)
        return 1;
    return failed(w, y->name, what ? what : "cannot be made", e) < 0 ? -1 : what ? 1 : 0;
}

/* Opens the folder of a path from the root. Sets *name to the last part of it. */
static int open_parent(int root, struct str path, struct str *name)
{
    char z[NAME];
    int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
    for (;;) {
        *name = str_cut(&path, '/');
        if (path.n == 0 || at < 0)
            return at;
        int next = z_of(*name, z) ? scan_folder(at, z) : (errno = ENAMETOOLONG, -1);
        int why = errno;
        close(at);
        at = next;
        errno = why;
    }
}

/* Links the group's file as the part. Returns 0; or -1 with errno. */
static int link_part(struct restore_work *w, const struct links_group *g)
{
    struct str name;
    struct scan_stat st;
    char z[NAME];
    int at = open_parent(w->r->root, str_of(g->path), &name);
    if (at < 0)
        return -1;
    touch(w, g->kept_dev, g->kept_ino);
    int rc = z_of(name, z) ? linkat(at, z, w->stage, part, 0) : (errno = ENOENT, -1);
    if (rc == 0 && (rc = scan_stat(w->stage, part, &st)) == 0 && st.x.ino != g->kept_ino)
        rc = (errno = ESTALE, -1);
    int why = errno;
    close(at);
    errno = why;
    return rc;
}

/* Makes another name of the group's file as the part. Returns 1; 0 if it cannot be, which
 * is a problem: the file becomes one of its own; or -1 and sets *e. */
static int make_name(struct restore_work *w, const struct links_group *g,
                     const struct file_node *y, struct err *e)
{
    if (link_part(w, g) == 0)
        return 1;
    int why = errno;
    unlinkat(w->stage, part, 0);
    errno = why;
    return failed(w, y->name, "cannot be another name of its file, and is a copy", e);
}

/* Moves the part to its place: over x, or where nothing is. */
static int move_part(struct restore_work *w, const struct file_node *x,
                     const struct file_node *y, const char *z, struct err *e)
{
    int at = levels_fd(&w->l), rc;
    if (x && !is_as_read(w, z, x))
        return problem(w, y->name, changed);
    if (x) {
        rc = renameat(w->stage, part, at, z);
    } else {
        rc = (int)syscall(SYS_renameat2, w->stage, part, at, z, NOREPLACE);
        if (rc < 0 && (errno == EINVAL || errno == ENOSYS || errno == EPERM) &&
            is_missing(w, z))
            rc = renameat(w->stage, part, at, z);
    }
    if (rc < 0 && errno == EEXIST)
        return problem(w, y->name, appeared);
    if (rc < 0)
        return failed(w, y->name, "cannot be put in its place", e);
    touch_entry(w, x);
    if (x)
        tell_gone(w, x);
    w->r->made += !x;
    w->r->replaced += !!x;
    return 1;
}

/* Remembers the file that the group's next names are linked to. */
static int keep_name(struct restore_work *w, struct links_group *g,
                     const struct file_node *y, const char *z, struct err *e)
{
    struct scan_stat st;
    if (scan_stat(levels_fd(&w->l), z, &st) < 0)
        return failed(w, y->name, "cannot be read again", e);
    struct str path = levels_name(&w->l, y->name);
    g->path = xstrndup(path.p, path.n);
    levels_unname(&w->l, y->name);
    g->kept_dev = st.x.dev;
    g->kept_ino = st.x.ino;
    return 0;
}

/* Makes what is no folder, over x if that is not NULL. */
static int make_entry(struct restore_work *w, const struct file_node *x,
                      const struct file_node *y, struct err *e)
{
    struct links_group *g = links_group(&w->links, y);
    char z[NAME];
    int rc = 0;
    bool placed = false;
    if (gap_is_empty(y->gap))
        return problem(w, y->name, gap_words(y->gap));
    if (!z_of(y->name, z))
        return 0;
    if (stage_open(w) < 0)
        return failed(w, y->name, "no folder can be made in the root", e);
    if (y->gap == GAP_CHANGING)
        problem(w, y->name, "it was being written when the checkpoint read it");
    if (g && g->path)
        rc = make_name(w, g, y, e);
    if (rc == 0)
        rc = y->type == ENTRY_FILE ? make_file(w, x, y, z, &placed, e)
                                   : make_special(w, y, e);
    if (placed)
        w->r->made++;
    else if (rc > 0)
        rc = move_part(w, x, y, z, e);
    if (rc <= 0 || g)
        unlinkat(w->stage, part, 0);
    if (rc > 0 && g && !g->path)
        rc = keep_name(w, g, y, z, e);
    return rc < 0 ? -1 : 0;
}

/* ---- one folder ---- */

static int restore_folder(struct restore_work *w, const struct file_node *now,
                          const struct file_node *want, struct err *e);

/* Owner, mode, time and xattrs of a file or folder that is otherwise right. */
static int adjust(struct restore_work *w, const struct file_node *x,
                  const struct file_node *y, unsigned differs, struct err *e)
{
    char z[NAME];
    const char *what = "cannot be adjusted";
    int at = levels_fd(&w->l), rc = -1;
    if (!z_of(y->name, z))
        return 0;
    if (x && x->type != ENTRY_FOLDER && !is_as_read(w, z, x))
        return problem(w, y->name, changed);
    touch_entry(w, x);
    if (y->type == ENTRY_LINK) {
        rc = meta_set_link(at, z, y, differs, &what);
    } else {
        int fd = openat(at, z, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct scan_stat st;
        if (fd >= 0 && scan_stat(fd, "", &st) == 0 && st.x.type == y->type &&
            (!x || st.x.ino == x->ino))
            rc = meta_set(fd, y, differs, &what);
        int why = errno;
        if (fd >= 0)
            close(fd);
        errno = why;
    }
    w->r->adjusted += rc == 0 && x &&
                      (differs & ~(unsigned)DIFFERS_TIME || y->type != ENTRY_FOLDER);
    return rc < 0 ? failed(w, y->name, what, e) : 0;
}

/* x is a folder, or NULL: it is made. */
static int folder(struct restore_work *w, const struct file_node *x,
                  const struct file_node *y, bool above, struct err *e)
{
    char z[NAME];
    unsigned differs = x ? entry_differs(x, y) : ALL;
    if (gap_is_empty(y->gap) || (x && gap_is_empty(x->gap)))
        return problem(w, y->name, gap_words(gap_is_empty(y->gap) ? y->gap : x->gap));
    if (x && content_eq(&x->content, &y->content) && (differs == 0 || above))
        return 0;
    if (!z_of(y->name, z))
        return 0;
    if (!x && mkdirat(levels_fd(&w->l), z, 0700) < 0 && errno != EEXIST)
        return failed(w, y->name, "cannot be made", e);
    w->r->made += !x;
    if (!x || !content_eq(&x->content, &y->content)) {
        int rc = levels_enter(&w->l, y->name);
        if (rc < 0 && errno == EACCES && x) {
            int fd = openat(levels_fd(&w->l), z, O_PATH | O_NOFOLLOW | O_CLOEXEC);
            struct file_node open = *x;
            const char *what;
            open.mode |= 0700;
            if (fd >= 0)
                meta_set(fd, &open, DIFFERS_MODE, &what);
            if (fd >= 0)
                close(fd);
            rc = levels_enter(&w->l, y->name);
        }
        if (rc < 0)
            return failed(w, y->name, "cannot be entered", e);
        if (x && !w->r->privileged)
            meta_open_up(levels_fd(&w->l), x->mode);
        rc = restore_folder(w, x, y, e);
        if (above && x && !w->r->privileged && (x->mode & 0700) != 0700)
            fchmod(levels_fd(&w->l), x->mode);
        if (rc < 0 || levels_leave(&w->l, e) < 0)
            return -1;
        if (x && (x->mode & 0700) != 0700)
            differs |= DIFFERS_MODE;
    }
    return above && x ? 0 : adjust(w, x, y, differs, e);
}

static int restore_entry(struct restore_work *w, const struct file_node *x,
                         const struct file_node *y, bool above, struct err *e)
{
    if (x && (!y || (x->type != y->type &&
                     (x->type == ENTRY_FOLDER || y->type == ENTRY_FOLDER)))) {
        if (above && !y)
            return 0;
        if (y && gap_is_empty(y->gap))
            return problem(w, y->name, gap_words(y->gap));
        if (remove_entry(w, x, e) < 0)
            return -1;
        x = NULL;
    }
    if (!y)
        return 0;
    if (y->type == ENTRY_FOLDER)
        return folder(w, x, y, above, e);
    if (above)
        return 0;
    if (x && gap_is_empty(x->gap) && x->gap != GAP_LARGE)
        return problem(w, y->name, gap_words(x->gap));
    if (x && x->gap == GAP_LARGE)
        return problem(w, y->name, "it could not be kept, and was left alone");
    if (!x)
        return make_entry(w, NULL, y, e);
    unsigned differs = entry_differs(x, y);
    if (gap_is_empty(y->gap))
        return problem(w, y->name, gap_words(y->gap));
    if ((differs & (DIFFERS_TYPE | DIFFERS_CONTENT)) || !links_agree(&w->links, x, y))
        return make_entry(w, x, y, e);
    return differs ? adjust(w, x, y, differs, e) : 0;
}

/* The two folders, and where they are side by side. On the heap, since trees are deep. */
struct restore_pair {
    struct buf a, b;
    struct pairs_merge m;
};

static int restore_folder(struct restore_work *w, const struct file_node *now,
                          const struct file_node *want, struct err *e)
{
    struct restore_pair *p = xnew(struct restore_pair);
    const struct file_node *x = NULL, *y = NULL;
    buf_init(&p->a, MANIFEST_MAX);
    buf_init(&p->b, MANIFEST_MAX);
    int rc = now ? content_get(w->r->s, &now->content, &p->a, e) : 0;
    if (rc == 0)
        rc = content_get(w->r->s, &want->content, &p->b, e);
    merge_init(&p->m, buf_str(&p->a), buf_str(&p->b));
    while (rc == 0 && (rc = merge_next(&p->m, &x, &y, e)) > 0) {
        struct str name = x ? x->name : y->name;
        int how = pairs_relation(w->r->filter, levels_name(&w->l, name));
        levels_unname(&w->l, name);
        rc = how == PAIRS_OUTSIDE ? 0 : restore_entry(w, x, y, how == PAIRS_ABOVE, e);
    }
    buf_release(&p->a);
    buf_release(&p->b);
    free(p);
    return rc;
}

/* ---- the tree ---- */

int restore_clean(int root, const char *token)
{
    char name[sizeof(SCAN_OURS) + RESTORE_TOKEN + 1];
    buf_fill(name, sizeof(name), SCAN_OURS "%s", token);
    int fd = scan_folder(root, name);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    int rc = unlinkat(fd, part, 0) < 0 && errno != ENOENT ? -1 : 0;
    int why = errno;
    close(fd);
    errno = why;
    return rc < 0 ? -1 : unlinkat(root, name, AT_REMOVEDIR);
}

/* The root's own mode, owner and xattrs; its time, which our folder changed, as it was.
 */
static void restore_root(struct restore_work *w, bool whole)
{
    struct restore *r = w->r;
    const struct file_node *y = whole ? r->want : r->now;
    unsigned differs = whole ? entry_differs(r->now, r->want) : 0;
    const char *what = "cannot be adjusted";
    if ((r->now->mode & 0700) != 0700)
        differs |= DIFFERS_MODE;
    if ((differs || w->stage >= 0 || r->made || r->removed || r->replaced) &&
        meta_set(r->root, y, differs, &what) < 0)
        problem(w, STR("."), what);
}

int restore_tree(struct restore *r, struct err *e)
{
    struct restore_work *w = xnew(struct restore_work);
    bool whole = !r->filter || r->filter->n == 0;
    w->r = r;
    w->stage = -1;
    map_init(&w->touched);
    w->links.exact = !whole;
    if (whole)
        r->filter = &everything;
    int rc = 0;
    if (levels_init(&w->l, r->root) < 0)
        rc = err_sys(e, errno, "cannot use the folder");
    else
        rc = links_find(&w->links, r->s, &r->now->content, &r->want->content, e);
    if (rc == 0) {
        if (!r->privileged)
            meta_open_up(r->root, r->now->mode);
        rc = restore_folder(w, r->now, r->want, e);
    }
    if (w->stage >= 0)
        close(w->stage);
    if (restore_clean(r->root, r->token) < 0 && rc == 0)
        rc = err_sys(e, errno, "cannot remove " SCAN_OURS "%s", r->token);
    if (rc == 0)
        restore_root(w, whole);
    links_release(&w->links);
    map_release(&w->touched);
    levels_release(&w->l);
    free(w);
    return rc;
}
