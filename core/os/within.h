/* SPDX-License-Identifier: MIT */
/*
 * Use of files within a fence, by a process that is itself outside of it.
 *
 * A ruleset (os/landlock.h) cannot be taken off again. So the step that must obey it, and
 * no more, is done by a child that has our memory and our descriptors, restricts itself
 * and ends, while this process waits: what the step reads, writes into memory or opens is
 * there afterwards. The kernel decides in the step itself, so no program can change a
 * link between a check and the use.
 *
 * The ruleset is the process's, like its user: it is set once, by the worker.
 */
#ifndef OD_OS_WITHIN_H
#define OD_OS_WITHIN_H

#include <sys/types.h>

/* Sets the ruleset, which must stay open. */
void within_set(int ruleset);
/* -1: there is none, and everything is done as outside. */
int within_ruleset(void);
/*
 * Calls fn(arg) within the ruleset. fn must return, and start no process and leave no
 * signal or thread behind. Returns 0; -1 with errno if it was not called or not to its
 * end.
 */
int within_call(void (*fn)(void *arg), void *arg);
/* open(2) within it. */
int within_open(const char *path, int flags, mode_t mode);
/* unlink(2) within it. */
int within_unlink(const char *path);

#endif
