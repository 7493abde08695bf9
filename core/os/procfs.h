/* SPDX-License-Identifier: MIT */
/*
 * What /proc reports about processes, threads, their descriptors and their memory.
 *
 * Thin: every call reads one or a few files of /proc and keeps nothing. A
 * process may end between two calls, so each call may fail with ENOENT or
 * ESRCH, which means only that; EACCES and EPERM mean that the kernel does not
 * let us look (ptrace access). The parsers take text and touch nothing, so
 * that odd names ("a) R (b") can be tested without having such processes.
 */
#ifndef OD_OS_PROCFS_H
#define OD_OS_PROCFS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The beginning of /proc/PID/stat; readable for everybody. */
struct procfs_stat {
    pid_t pid, ppid, pgrp, session;
    dev_t tty;   /* the controlling terminal, 0: none */
    pid_t tpgid; /* its foreground process group, -1: no terminal */
    int threads;
    uint64_t start; /* in ticks since boot; with pid it names one process */
    char state;     /* R S D T t Z X … */
    char comm[16];  /* cut if the kernel has more */
};
/* Returns whether all threads of the process have ended; some may outlive the first. */
static inline bool procfs_dead(const struct procfs_stat *p)
{
    return (p->state == 'Z' || p->state == 'X') && p->threads <= 1;
}
/* Returns false for text that is not of a process that exists. */
bool procfs_parse_stat(struct str text, struct procfs_stat *out);
/* Returns 0, or -1 with errno. */
int procfs_stat(pid_t pid, struct procfs_stat *out);
/*
 * Returns the `start` of a process that begins ago_ms milliseconds before now, rounded
 * down; 0 if the kernel has no clock of that kind.
 */
uint64_t procfs_ticks(int64_t ago_ms);
/* Whether it ignores a signal (SigIgn of /proc/PID/status): 1, 0, or -1: not known. */
int procfs_ignores(pid_t pid, int sig);
/*
 * What became of a signal that was sent to it: it lives, and the signal is still pending;
 * or it lives although it neither catches, ignores nor blocks the signal, so that is
 * lost: a child that a shell just forked has the shell's handler until it starts its
 * program. Else, and if that is not known, it is taken.
 */
enum procfs_fate { FATE_TAKEN, FATE_PENDING, FATE_LOST };
enum procfs_fate procfs_fate(pid_t pid, int sig);
/* Do both run the same file? Returns false if that is not known. */
bool procfs_same_file(pid_t one, pid_t other);

/* A list of processes. Zeroed, it is empty; the caller releases it. */
struct procfs_list {
    struct procfs_stat *v; /* owned */
    size_t n, cap;
    bool missed; /* some ended while they were listed, so others may have begun */
};
void procfs_release(struct procfs_list *l);
/*
 * Both replace the content of l. They return 0, or -1 with errno: E2BIG when there
 * are more than max (the first max are in l), ENOENT when there is no /proc.
 *
 * all: every process. below: root, then its descendants, parents before their
 * children; empty when root is gone. It follows the children files, which
 * costs nothing for processes that have nothing to do with root, and looks at
 * every process where the kernel has no such files.
 */
int procfs_all(struct procfs_list *l, size_t max);
int procfs_below(struct procfs_list *l, pid_t root, size_t max);

/* /proc/PID/task/TID/syscall: where a thread is. Needs ptrace access. */
struct procfs_call {
    enum { PROCFS_RUNNING, PROCFS_NO_CALL, PROCFS_CALL } where;
    long number;
    uint64_t arg[6], sp;
};
bool procfs_parse_call(struct str text, struct procfs_call *out);
int procfs_call(pid_t pid, pid_t tid, struct procfs_call *out);
/*
 * Gets the thread ids of a process, at most max. Returns how many, or -1 with
 * errno. A result below max means all of them.
 */
int procfs_threads(pid_t pid, pid_t *tids, int max);

/* What a descriptor of a thread refers to, which is neither opened nor woken. */
struct procfs_fd {
    enum procfs_kind {
        PROCFS_OTHER,
        PROCFS_DEVICE, /* a character device; rdev says which */
        PROCFS_PIPE,
        PROCFS_SOCKET,
        PROCFS_EPOLL,
        PROCFS_TIMER, /* a timerfd */
        PROCFS_EVENT  /* an eventfd or signalfd: only itself can wake it */
    } kind;
    dev_t rdev;
    uint64_t inode;
};
int procfs_fd(pid_t pid, pid_t tid, int fd, struct procfs_fd *out);
/* Gets its open descriptors, at most max. Returns how many, or -1 with errno. */
int procfs_fds(pid_t pid, pid_t tid, int *fds, int max);
/* Gets "UNIX", "UNIX-STREAM", "TCP" …. Returns -1 if the kernel does not tell. */
int procfs_socket_kind(pid_t pid, pid_t tid, int fd, char *out, size_t n);
/*
 * Reads /proc/PID/task/TID/fdinfo/FD as a terminated text. Returns its length, at
 * most n - 1; n if there is more; -1 with errno.
 */
long procfs_fdinfo(pid_t pid, pid_t tid, int fd, char *out, size_t n);
/*
 * Cuts one "tfd:" line off the fdinfo of an epoll descriptor and skips other
 * lines. Returns false at the end.
 */
bool procfs_next_watch(struct str *text, int *fd, uint32_t *events);
/* Gets the number after "key:" on a line of its own. */
bool procfs_field(struct str text, struct str key, int64_t *out);

/* Copies memory of a process. Returns 0 for all n bytes, or -1 with errno. */
int procfs_memory(pid_t pid, uint64_t address, void *out, size_t n);

/*
 * Whether the environment a process was started with has this variable with
 * this value; a value of NULL stands for any. 1, 0, or -1 with errno.
 */
int procfs_environ_has(pid_t pid, struct str name, struct str value);

#endif
