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
 * Where our file lies, absolute: to be asked before it is replaced, later the
 * kernel adds " (deleted)". 0; -1 with errno.
 */
int self_path(char *out, size_t size);
/*
 * Replaces this process by the binary behind fd (from self_open). Returns only
 * on failure, with errno. A close-on-exec fd works: nothing of it is inherited.
 */
void self_exec(int fd, char *const argv[], char *const envp[]);
/* The same for another file: without the path that is ours to fall back on. */
void self_exec_other(int fd, char *const argv[], char *const envp[]);

/*
 * Every build of ours has a note in its first page, by which others know it: whether
 * it is in these n bytes of a file's beginning, of which SELF_MARK_IN are enough.
 */
enum { SELF_MARK_IN = 4096 };
bool self_has_mark(const void *p, size_t n);

#endif
