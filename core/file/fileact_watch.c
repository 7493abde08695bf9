/* SPDX-License-Identifier: MIT */
/*
 * watch of fileact.h: inotify(7), one line of JSON for each change. The helper does
 * nothing else, so it waits in read; its output is bounded by CHANGES_A_SECOND, and,
 * when the parent takes nothing, by the kernel's queue. Both are reported as overflow.
 *
 * A folder that appears is watched, and then listed: files made in it before are
 * reported, some of them maybe twice.
 */
#include "base/clock.h"
#include "base/xalloc.h"
#include "file/fileact_own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
    FOLDERS_MAX = 8192,
    WATCHES_MAX = 1 << 20, /* numbers that the kernel gives, one after the other */
    CHANGES_A_SECOND = 1000,
    MODIFIED_MS = 1000, /* between two reports of a file that is written all the time */
    MASK = IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB |
           IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_EXCL_UNLINK
};

struct fileact_watch {
    struct fa *f;
    int fd, root;
    char path[PATH_MAX];
    char **folders; /* owned: relative names, by the kernel's number; NULL: none */
    size_t cap, n;
    bool recursive, full;
    bool entries; /* each change has the file's entry */
    int64_t second;
    unsigned told;
    char last[PATH_MAX]; /* the file modified last, and when */
    int64_t last_ms;
    const char *ended; /* NULL: it goes on */
};

static const struct {
    uint32_t bit;
    const char *kind;
} kinds[] = {{IN_CREATE, "created"},        {IN_DELETE, "removed"},
             {IN_MOVED_FROM, "moved_from"}, {IN_MOVED_TO, "moved_to"},
             {IN_CLOSE_WRITE, "written"},   {IN_MODIFY, "modified"},
             {IN_ATTRIB, "attributes"}};

/* ---- telling ---- */

static int join(const char *folder, const char *name, char out[PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s%s%s", folder, folder[0] && name[0] ? "/" : "",
                     name);
    return n < PATH_MAX ? 0 : -1;
}

/* Reports a change after which the file exists. */
static void put_entry(struct fileact_watch *w, const char *kind, const char *name)
{
    char path[PATH_MAX];
    struct buf b = BUF_INIT(FA_BLOCK);
    if (w->entries && name[0] && strcmp(kind, "removed") != 0 &&
        strcmp(kind, "moved_from") != 0 && join(w->path, name, path) == 0 &&
        fa_put_entry(&b, path) == 0 && !buf_full(&b))
        buf_addf(&w->f->out, ",\"entry\":{%s}", buf_z(&b));
    buf_release(&b);
}

static void put_line(struct fileact_watch *w, const char *kind, const char *name,
                     bool folder, uint32_t cookie)
{
    struct buf *out = &w->f->out;
    buf_addf(out, "{\"kind\":\"%s\",", kind);
    fa_put_path(out, "path", str_of(name[0] ? name : "."));
    if (folder)
        buf_addz(out, ",\"folder\":true");
    if (cookie)
        buf_addf(out, ",\"cookie\":%u", (unsigned)cookie);
    put_entry(w, kind, name);
    buf_addz(out, "}\n");
}

static int flush(struct fileact_watch *w, struct err *e)
{
    if (job_put(w->f->c, buf_str(&w->f->out)) < 0)
        return err_sys(e, errno, "cannot watch for changes");
    buf_reset(&w->f->out);
    return 0;
}

/* Limits the changes per second; the first one that is left out is reported. */
static bool may_tell(struct fileact_watch *w)
{
    int64_t now = clock_ms() / 1000;
    if (now != w->second) {
        w->second = now;
        w->told = 0;
    }
    if (w->told++ == CHANGES_A_SECOND)
        put_line(w, "overflow", "", false, 0);
    return w->told <= CHANGES_A_SECOND;
}

static void tell(struct fileact_watch *w, const char *kind, const char *name, bool folder,
                 uint32_t cookie)
{
    struct err e = ERR_INIT;
    bool modified = strcmp(kind, "modified") == 0;
    int64_t now = clock_ms();
    if (modified && strcmp(w->last, name) == 0 && now < w->last_ms + MODIFIED_MS)
        return;
    w->last_ms = now;
    snprintf(w->last, sizeof(w->last), "%s", modified ? name : "");
    if (may_tell(w))
        put_line(w, kind, name, folder, cookie);
    if (w->f->out.n > FA_BLOCK)
        flush(w, &e);
}

/* ---- folders ---- */

static void forget(struct fileact_watch *w, int wd)
{
    if (wd < 0 || (size_t)wd >= w->cap || !w->folders[wd])
        return;
    free(w->folders[wd]);
    w->folders[wd] = NULL;
    w->n--;
}

/* Stops watching a folder that was moved away, and everything below it. */
static void forget_below(struct fileact_watch *w, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < w->cap; i++) {
        const char *at = w->folders[i];
        if (at && strncmp(at, name, n) == 0 && (at[n] == '/' || at[n] == 0)) {
            inotify_rm_watch(w->fd, (int)i);
            forget(w, (int)i);
        }
    }
}

/* Watches a folder or file. Returns the number of the watch, or -1 with errno. */
static int add(struct fileact_watch *w, const char *name)
{
    char path[PATH_MAX];
    if (w->n == FOLDERS_MAX)
        return errno = ENOSPC, -1;
    if (join(w->path, name, path) < 0)
        return errno = ENAMETOOLONG, -1;
    uint32_t mask = MASK | (name[0] ? IN_DONT_FOLLOW | IN_ONLYDIR : 0);
    int wd = inotify_add_watch(w->fd, path, mask);
    if (wd >= WATCHES_MAX)
        return errno = ENOSPC, -1;
    if (wd < 0)
        return -1;
    if ((size_t)wd >= w->cap) {
        size_t cap = (size_t)wd + 64;
        w->folders = xrealloc(w->folders, cap, sizeof(*w->folders));
        memset(w->folders + w->cap, 0, (cap - w->cap) * sizeof(*w->folders));
        w->cap = cap;
    }
    forget(w, wd);
    w->folders[wd] = xstrdup(name);
    w->n++;
    return wd;
}

/* Watches the folder and all below it. news: its content is reported as created. */
static void add_tree(struct fileact_watch *w, const char *name, bool news, int depth)
{
    struct fa_names names = {0};
    struct err e = ERR_INIT;
    char path[PATH_MAX];
    if (add(w, name) < 0) {
        if (errno != ENOENT && errno != ENOTDIR && !w->full) {
            w->full = true;
            put_line(w, "unwatched", name, true, 0);
        }
        return;
    }
    int fd = depth < FA_DEPTH && join(w->path, name, path) == 0
                 ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                 : -1;
    int list = fd < 0 ? -1 : openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (list >= 0 && fa_names(&names, list, path, &e) == 0) {
        for (size_t i = 0; i < names.n; i++) {
            struct stat st;
            char below[PATH_MAX];
            if (fstatat(fd, names.v[i], &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                join(name, names.v[i], below) < 0)
                continue;
            if (news)
                tell(w, "created", below, S_ISDIR(st.st_mode), 0);
            if (S_ISDIR(st.st_mode))
                add_tree(w, below, news, depth + 1);
        }
        fa_names_free(&names);
    }
    if (fd >= 0)
        close(fd);
}

/* Adds the named folders that still exist. */
static void add_folders(struct fileact_watch *w, const struct json *names)
{
    for (const struct json *v = json_first(names); v; v = json_next(v)) {
        const char *name = json_str_value(v, "").p;
        if (name[0] && add(w, name) < 0 && errno == ENOSPC)
            put_line(w, "unwatched", name, true, 0);
    }
}

/* ---- changes ---- */

static void on_change(struct fileact_watch *w, const struct inotify_event *x)
{
    char name[PATH_MAX];
    bool folder = x->mask & IN_ISDIR;
    if (x->mask & IN_Q_OVERFLOW) {
        put_line(w, "overflow", "", false, 0);
        return;
    }
    if (x->wd == w->root && (x->mask & (IN_DELETE_SELF | IN_UNMOUNT | IN_IGNORED)))
        w->ended = "removed";
    else if (x->wd == w->root && (x->mask & IN_MOVE_SELF))
        w->ended = "moved";
    if (x->mask & IN_IGNORED)
        forget(w, x->wd);
    if (x->wd < 0 || (size_t)x->wd >= w->cap || !w->folders[x->wd] ||
        join(w->folders[x->wd], x->len ? x->name : "", name) < 0)
        return;
    /* The folder above reports this, too. */
    if (x->len == 0 && w->folders[x->wd][0])
        return;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (x->mask & kinds[i].bit)
            tell(w, kinds[i].kind, name, folder, x->cookie);
    }
    if (w->recursive && folder && (x->mask & (IN_MOVED_FROM | IN_DELETE)))
        forget_below(w, name);
    if (w->recursive && folder && (x->mask & (IN_CREATE | IN_MOVED_TO)))
        add_tree(w, name, x->mask & IN_CREATE, 0);
}

static int read_changes(struct fileact_watch *w, struct err *e)
{
    char *block = w->f->block;
    ssize_t n = read(w->fd, block, FA_BLOCK);
    if (n < 0 && errno == EINTR)
        return 0;
    if (n < 0)
        return err_sys(e, errno, "cannot go on watching");
    for (ssize_t at = 0; at < n && !w->ended;) {
        struct inotify_event x;
        memcpy(&x, block + at, sizeof(x));
        on_change(w, (const struct inotify_event *)(const void *)(block + at));
        at += (ssize_t)(sizeof(x) + x.len);
    }
    return flush(w, e);
}

int fa_watch(struct fa *f, struct err *e)
{
    struct fileact_watch *w = calloc(1, sizeof(*w));
    int rc = 0;
    if (!w)
        return err_set(e, ERR_LIMIT, "cannot watch: no memory");
    w->f = f;
    w->recursive = fa_bool(f, "recursive");
    w->entries = fa_bool(f, "full");
    if (fa_path(f, "path", w->path, e) < 0)
        return -1;
    if ((w->fd = inotify_init1(IN_CLOEXEC)) < 0)
        return err_sys(e, errno, "cannot watch %.200s", w->path);
    if ((w->root = add(w, "")) < 0)
        return fa_fail(e, errno, "watch", w->path);
    if (w->recursive)
        add_tree(w, "", false, 0);
    else
        add_folders(w, json_get(f->q->args, "folders"));
    put_line(w, f->q->resumed ? "restarted" : "watching", "", false, 0);
    rc = flush(w, e);
    while (rc == 0 && !w->ended)
        rc = read_changes(w, e);
    if (rc == 0) {
        fa_put_path(&f->out, "path", str_of(w->path));
        buf_addf(&f->out, ",\"ended\":\"%s\"", w->ended);
    }
    return rc;
}
