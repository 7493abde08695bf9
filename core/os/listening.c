/* SPDX-License-Identifier: MIT */
#include "os/listening.h"

#include "os/procfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line: number, LOCAL:PORT, REMOTE:PORT, state, four words, uid, a word, inode. */
static int read_line(const char *line, unsigned *port, unsigned long long *inode)
{
    unsigned state;
    return sscanf(line, " %*[^:]: %*[0-9A-Fa-f]:%X %*s %X %*s %*s %*s %*u %*u %llu", port,
                  &state, inode) == 3 &&
                   state == 0x0a && *inode
               ? 0
               : -1;
}

static size_t read_ports(const char *path, struct listening *out, size_t n)
{
    char line[512];
    FILE *f = fopen(path, "re");
    while (f && n < LISTENING_MAX && fgets(line, sizeof(line), f)) {
        unsigned port;
        unsigned long long inode;
        size_t i = 0;
        if (read_line(line, &port, &inode) < 0)
            continue;
        while (i < n && out[i].port != port)
            i++;
        if (i == n)
            out[n++] = (struct listening){.port = (uint16_t)port, .inode = inode};
    }
    if (f)
        fclose(f);
    return n;
}

static void look_at(const struct procfs_stat *p, struct listening *all, size_t n)
{
    int fds[LISTENING_FDS];
    int have = procfs_fds(p->pid, p->pid, fds, LISTENING_FDS);
    for (int i = 0; i < have; i++) {
        struct procfs_fd fd;
        if (procfs_fd(p->pid, p->pid, fds[i], &fd) < 0 || fd.kind != PROCFS_SOCKET)
            continue;
        for (size_t k = 0; k < n; k++) {
            if (all[k].inode != fd.inode || all[k].pid)
                continue;
            all[k].pid = p->pid;
            memcpy(all[k].comm, p->comm, sizeof(all[k].comm));
        }
    }
}

static int by_port(const void *a, const void *b)
{
    return ((const struct listening *)a)->port - ((const struct listening *)b)->port;
}

size_t listening(struct listening out[LISTENING_MAX])
{
    struct procfs_list all = {0};
    size_t n = read_ports("/proc/net/tcp", out, 0);
    n = read_ports("/proc/net/tcp6", out, n);
    if (n)
        procfs_all(&all, LISTENING_PROCESSES);
    for (size_t i = 0; i < all.n; i++)
        look_at(&all.v[i], out, n);
    procfs_release(&all);
    qsort(out, n, sizeof(*out), by_port);
    return n;
}
