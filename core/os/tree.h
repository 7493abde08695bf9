/* SPDX-License-Identifier: MIT */
/*
 * The processes that belong to a shell, and signalling all of them.
 *
 * Each shell is a subreaper, so what it started stays below it even when it
 * daemonises by setsid and double fork; a process belongs to it when it
 * descends from it by parent links, or carries its tag in its initial
 * environment (OD_SESSION_TAG=…) and was reparented nevertheless.
 * Without /proc only the session and the groups known are signalled, and the
 * result says so.
 */
#ifndef OD_OS_TREE_H
#define OD_OS_TREE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tree_result {
    int found;    /* processes signalled, the root not counted */
    int denied;   /* of those, refused by the kernel */
    bool no_proc; /* /proc is not there: groups and session only */
};

/*
 * A set of processes: those below root, and those that carry the tag. With from
 * or to (starts as struct procfs_stat has them, procfs_ticks) only what began
 * in that time: a child of root that began before `from`, or not before `to`,
 * is left alone with all that is below it, unless it is in `group`. That keeps
 * the tree of one command apart from older jobs, except jobs that began within
 * the same tick (10 ms) before it, and orphans that an older job leaves
 * meanwhile.
 *
 * root must not have been reaped, since its number may be another process by then.
 * If root is 0, only the tag counts. The caller and its ancestors never count as
 * tagged.
 */
struct tree_of {
    pid_t root;
    const char *tag;   /* borrowed; may be NULL */
    uint64_t from, to; /* 0: no such bound */
    pid_t group;       /* a process group, 0: none */
};

/*
 * Signals all of them (root itself only if with_root). Lists them again until
 * no new one appears, in a bounded number of rounds, so that a fork race does
 * not let one escape. For SIGKILL, parents are stopped (SIGSTOP) before their
 * children are listed; after others, but not those of job control, a stopped
 * process is continued to handle it. A root that is to live is stopped during
 * SIGKILL and then continued, unless it is the caller. Without /proc starts
 * are unknown, and from and to are ignored.
 */
void tree_signal(const struct tree_of *of, int sig, bool with_root,
                 struct tree_result *out);
/* How many of them live (no zombies), without root; -1 without /proc. */
int tree_count(const struct tree_of *of);

#endif
