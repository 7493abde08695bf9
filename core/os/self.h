/* SPDX-License-Identifier: MIT */
/*
 * Our own binary: how to run it again as another applet.
 *
 * The file may be replaced or removed while we run, and /proc may be missing,
 * so a descriptor of it is opened once at the start.
 */
#ifndef OD_OS_SELF_H
#define OD_OS_SELF_H

#include <stdbool.h>
#include <stddef.h>

/* Opens /proc/self/exe, else the path the kernel was given. -1 with errno. */
int self_open(void);
/*
 * Writes the absolute path of our file. To be called before the file can be replaced:
 * later the kernel adds " (deleted)". Returns 0, or -1 with errno.
 */
int self_path(char *out, size_t size);
/*
 * Replaces this process by the binary of fd (from self_open). Returns only on
 * failure, with errno. A close-on-exec fd works, and is not inherited.
 */
void self_exec(int fd, char *const argv[], char *const envp[]);
/* The same for a file that is not ours: does not fall back on our own path. */
void self_exec_other(int fd, char *const argv[], char *const envp[]);

/*
 * Whether a file is a build of ours: each has a mark in its first page. p: the first n
 * bytes of the file; SELF_MARK_IN are enough.
 */
enum { SELF_MARK_IN = 4096 };
bool self_has_mark(const void *p, size_t n);

#endif
