/* SPDX-License-Identifier: MIT */
#include "os/listening.h"

#include "os/procfs.h"

#include <stdio.h>
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

/* Inserts a port in ascending order. If there is no room, the highest one is dropped. */
static size_t put_port(struct listening *out, size_t n, unsigned port, uint64_t inode)
{
    size_t i = 0;
    while (i < n && out[i].port < port)
        i++;
    if (i == LISTENING_MAX || (i < n && out[i].port == port))
        return n;
    size_t after = n == LISTENING_MAX ? n - 1 : n;
    memmove(out + i + 1, out + i, (after - i) * sizeof(*out));
    out[i] = (struct listening){.port = (uint16_t)port, .inode = inode};
    return after + 1;
}

static size_t read_ports(const char *path, struct listening *out, size_t n)
{
    char line[512];
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        unsigned port;
        unsigned long long inode;
        if (read_line(line, &port, &inode) == 0)
            n = put_port(out, n, port, inode);
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
    return n;
}
