/* SPDX-License-Identifier: MIT */
/*
 * The processes that belong to a shell, and signalling all of them.
 *
 * Each shell is a subreaper, so what it started stays below it even when it
 * daemonises by setsid and double fork; a process belongs to it when it
 * descends from it by parent links, or carries its tag in its initial
 * environment (OD_SESSION_TAG=…) and was reparented all the same.
 * Without /proc only the session and the groups known are signalled, and the
 * result says so.
 */
#ifndef OD_OS_TREE_H
#define OD_OS_TREE_H

#include "base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

struct tree_result {
    int found;      /* processes signalled, the root not counted */
    int denied;     /* of those, refused by the kernel */
    bool no_proc;   /* /proc is not there: groups and session only */
};

/*
 * Signals every descendant of root (root itself only when with_root), stopping
 * (SIGSTOP) parents before their children are listed when sig is SIGKILL, and
 * listing again until nothing new appears (a bounded number of rounds), so that
 * a fork race does not let one escape. tag may be NULL. For signals other than
 * SIGKILL a stopped process is continued after, so that it can act on it.
 *
 * root must not have been reaped: its number would be somebody else's. 0 is
 * nobody: what carries the tag only. A root that is to live is stopped as well
 * while SIGKILL goes round, and continued, unless it is the caller. The caller
 * and what is above it are never taken for tagged.
 */
void tree_signal(pid_t root, const char *tag, int sig, bool with_root,
                 struct tree_result *out);
/* How many live (not zombie) descendants root has; -1 without /proc. */
int tree_count(pid_t root, const char *tag);

#endif
