/* SPDX-License-Identifier: MIT */
#include "checkpoint/mapped.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "os/file.h"
#include "os/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAPS = 64 << 20 /* bytes of what a process maps */ };

/* struct procmap_query of linux/fs.h (Linux 6.11). */
struct map_query {
    uint64_t size, flags, address;
    uint64_t answer[6];
    uint32_t device[2], name_size, id_size;
    uint64_t name, id;
};
_Static_assert(sizeof(struct map_query) == 104, "PROCMAP_QUERY has this in its number");

/* Whether a process maps files for writing, shared with the file, by the kernel. */
enum maps { MAPS_NOT_KNOWN, MAPS_NOTHING, MAPS_NO_MEMORY };
static enum maps ask_maps(const char *name)
{
    struct map_query q = {.size = sizeof(q)};
    q.flags = 0x02 | 0x08 | 0x10 | 0x20; /* writable, shared, the next one, of a file */
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    bool none = fd >= 0 && ioctl(fd, _IOWR('f', 17, struct map_query), &q) < 0;
    enum maps out = none && errno == ENOENT  ? MAPS_NOTHING
                    : none && errno == ESRCH ? MAPS_NO_MEMORY
                                             : MAPS_NOT_KNOWN;
    if (fd >= 0)
        close(fd);
    return out;
}

static void add(struct mapped *m, struct str ino, struct str path, bool elsewhere)
{
    struct mapped_file x = {.elsewhere = elsewhere};
    struct stat st;
    if (str_to_u64(ino, &x.ino[0]) < 0)
        x.ino[0] = 0;
    /* A backslash: the name has a newline, or it has one itself. */
    x.path = path.n < PATH_MAX && str_chr(path, '\\') < 0 ? xstrndup(path.p, path.n)
                                                          : xstrndup("", 0);
    if (x.path[0] && !elsewhere && stat(x.path, &st) == 0)
        x.ino[1] = st.st_ino;
    /* The parts of a file come one after the other. */
    const struct mapped_file *last = m->n ? &m->v[m->n - 1] : NULL;
    if (last && memcmp(last->ino, x.ino, sizeof(x.ino)) == 0 &&
        last->elsewhere == elsewhere && strcmp(last->path, x.path) == 0) {
        free(x.path);
        return;
    }
    if (m->n == m->cap)
        m->v = xrealloc(m->v, m->cap = m->cap ? 2 * m->cap : 16, sizeof(*m->v));
    m->v[m->n++] = x;
}

/* The lines of proc_pid_maps(5): range, rights, offset, device, inode, path. */
static bool read_maps(struct mapped *m, pid_t pid, const char *name, uint64_t here)
{
    char ns[40];
    struct stat st;
    struct err e = ERR_INIT;
    struct buf maps = BUF_INIT(MAPS);
    buf_fill(ns, sizeof(ns), "/proc/%d/ns/mnt", (int)pid);
    bool elsewhere = stat(ns, &st) == 0 && st.st_ino != here;
    bool good = file_read(name, MAPS - 1, &maps, &e) == 0;
    for (struct str rest = buf_str(&maps); rest.n > 0;) {
        struct str line = str_cut(&rest, '\n'), in = line, field[5];
        long at = str_chr(line, '/');
        for (size_t i = 0; i < 5; i++)
            field[i] = str_cut(&in, ' ');
        if (at >= 0 && field[1].n == 4 && field[1].p[1] == 'w' && field[1].p[3] == 's')
            add(m, field[4], str_sub(line, (size_t)at, line.n), elsewhere);
    }
    buf_release(&maps);
    return good;
}

static void look(struct mapped *m, const struct store *s, const struct procfs_stat *p,
                 uint64_t here)
{
    char name[40];
    pid_t pid = p->pid;
    buf_fill(name, sizeof(name), "/proc/%d/maps", (int)pid);
    enum maps maps = ask_maps(name);
    /* Threads that outlive the first have memory, which is not shown there. */
    bool dead = maps == MAPS_NO_MEMORY, outlived = dead && p->threads > 1;
    if (dead && !outlived)
        return;
    bool good = !outlived && (maps == MAPS_NOTHING || pid == getpid() ||
                              read_maps(m, pid, name, here));
    if (!good && !outlived) {
        store_leave(s); /* a user may look at its own */
        good = read_maps(m, pid, name, here);
        store_enter(s);
    }
    m->all[m->all_n++] = (struct mapped_process){pid, !good};
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_inos(struct mapped *m)
{
    m->inos = xcalloc(m->n + 1, 2 * sizeof(*m->inos));
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < 2; k++)
            if (m->v[i].ino[k])
                m->inos[m->inos_n++] = m->v[i].ino[k];
    qsort(m->inos, m->inos_n, sizeof(*m->inos), by_number);
}

void mapped_find(struct mapped *m, const struct store *s)
{
    struct procfs_list all = {0};
    struct stat here;
    m->at = clock_wall_ms();
    store_enter(s);
    m->failed = procfs_all(&all, MAPPED_PROCESSES) < 0 ||
                stat("/proc/self/ns/mnt", &here) < 0;
    m->all = xcalloc(all.n + 1, sizeof(*m->all));
    for (size_t i = 0; i < all.n && !m->failed; i++)
        look(m, s, &all.v[i], here.st_ino);
    store_leave(s);
    sort_inos(m);
    procfs_release(&all);
}

bool mapped_has(const struct mapped *m, uint64_t ino)
{
    return m->inos_n > 0 &&
           bsearch(&ino, m->inos, m->inos_n, sizeof(ino), by_number) != NULL;
}

void mapped_release(struct mapped *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->v[i].path);
    free(m->v);
    free(m->inos);
    free(m->all);
    *m = (struct mapped){0};
}
