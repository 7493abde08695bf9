/* SPDX-License-Identifier: MIT */
/*
 * System calls of programs that this process decides, by seccomp's user notification:
 * musl has no functions for it.
 *
 * A program puts a filter on itself before its first instruction. The kernel then stops
 * some of its calls, and those of all that it starts, and describes each to whoever has
 * the descriptor (the listener) that belongs to the filter; the answer is what the call
 * returns. The filter sees numbers, not memory. From Linux:
 * Documentation/userspace-api/seccomp_filter.rst, include/uapi/linux/seccomp.h.
 */
#ifndef OD_REACH_NOTIFY_H
#define OD_REACH_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * Descriptors of a program from NOTIFY_FROM on, that many, are where the supervisor puts
 * its stand-ins for datagram sockets: calls that read and write are decided for these
 * alone. Below 1024, the most that select takes.
 */
enum { NOTIFY_FROM = 768, NOTIFY_COUNT = 240 };

/* What the kernel says of a call; struct seccomp_notif. */
struct notify_call {
    uint64_t id;
    uint32_t pid; /* of the thread, as we see it; 0: we do not */
    uint32_t flags;
    int32_t nr;
    uint32_t arch;
    uint64_t ip;
    uint64_t arg[6];
};

/*
 * Whether kernel and container let a process do this: a listener, and descriptors put
 * into another process with the answer (Linux 5.14). Tries it in a child. 0, or -1 with
 * errno: ENOSYS, the kernel has no such thing; else why it is refused.
 */
int notify_possible(void);
/*
 * Puts the filter on the calling process (files: the supervisor also gets the calls that
 * make, change or remove files, see reach/learn.c), and takes away the capabilities that
 * would pass it. The process must have given up privileges to gain
 * (PR_SET_NO_NEW_PRIVS). Only system calls: may be called between fork and exec. Returns
 * the listener, close-on-exec, or -1 with errno.
 */
int notify_install(bool files);
/*
 * Does the filter refuse a program this option of its sockets, by ENOPROTOOPT? At the
 * numbers of stand-ins the supervisor does.
 */
bool notify_refuses_option(int level, int name);
/*
 * Gives n bytes, at least 1, and a descriptor to whoever reads the unix socket. Only a
 * system call. 0, or -1 with errno.
 */
int notify_pass(int socket, const void *bytes, size_t n, int fd);
/*
 * Takes n bytes and perhaps a descriptor from it. Returns what recvmsg does; *fd: -1 if
 * there was none.
 */
ssize_t notify_take(int socket, void *bytes, size_t n, int *fd);

/* Prepares a listener for use (Linux 6.6: the caller's answer wakes it on our processor).
 */
void notify_prepare(int listener);
/*
 * Takes the next call; it blocks until there is one, so poll must have said that there
 * is. False: its caller is gone.
 */
bool notify_next(int listener, struct notify_call *out);
/* Is the caller still waiting for this answer? Memory that was read before is its own
 * then. */
bool notify_waits(int listener, uint64_t id);
/*
 * Answers: the call returns value, or fails with errnum if that is not 0. Returns whether
 * the caller was still there.
 */
bool notify_answer(int listener, uint64_t id, int64_t value, int errnum);
/* Lets the kernel do the call. */
void notify_go_on(int listener, uint64_t id);
/*
 * Puts a copy of fd into the program, at the lowest free number (at < 0) or at this one,
 * which becomes the answer. Returns the number, or -1 with errno.
 */
int notify_give(int listener, uint64_t id, int fd, int at, bool cloexec);

/*
 * Reads and writes the caller's memory. Returns whether all n bytes were; the caller then
 * asks notify_waits before it uses what was read.
 */
bool notify_read(pid_t pid, uint64_t from, void *to, size_t n);
bool notify_write(pid_t pid, uint64_t to, const void *from, size_t n);
/* What a descriptor of the caller leads to, as readlink says it; -1 with errno. */
ssize_t notify_link(pid_t pid, int fd, char *to, size_t size);
/* Opens its folder of descriptors in /proc; -1 with errno. */
int notify_open_fds(pid_t pid);
/* The inode of the socket behind a descriptor of the caller; 0: it is none, or not seen.
 */
uint64_t notify_inode(pid_t pid, int fd);

#endif
