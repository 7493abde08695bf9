/* SPDX-License-Identifier: MIT */
/*
 * Is the foreground job of a terminal waiting for somebody to type?
 *
 * Answered from /proc, by a process that is an ancestor of what it looks at
 * and of its uid where that can be had (yama; root without CAP_SYS_PTRACE).
 * It is a helper's work, never the keeper's: a read of /proc may block behind
 * an exec on a hung file system.
 */
#ifndef OD_OS_LOOK_H
#define OD_OS_LOOK_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* LOOK_PROBABLY is never the answer of a look: its caller knows of the output too. */
enum look_state { LOOK_NO, LOOK_YES, LOOK_UNKNOWN, LOOK_PROBABLY };

/* What a look that is not YES found besides. */
enum look_hint {
    LOOK_HINT_NONE,
    LOOK_HINT_PERHAPS, /* UNKNOWN: the terminal is waited for, and not alone */
    LOOK_HINT_FEED     /* the feed is read, and empty; pid and comm are the reader's */
};

struct look {
    enum look_state state;
    /*
     * The shell itself is in the foreground and sits in a read of its
     * terminal: its prompt, or its builtin `read`, which look the same. Set
     * also when that read has a time-out (read -t, TMOUT).
     */
    bool shell_reads;
    bool shell_foreground; /* the shell's own group is in the foreground */
    bool denied;           /* a process was not to be looked into: another may be let */
    unsigned char hint;    /* enum look_hint */
    pid_t pid;             /* the process that decided, 0: none */
    char comm[16];         /* its name */
    char how[96];          /* "read of the terminal", "select on the terminal" … */
};

/*
 * Looks at the terminal whose session leader is `shell`: every thread of every
 * process of its foreground process group, and through sudo, script, tmux and
 * the like to the group in front of the inner pty. At most LOOK_THREADS_MAX
 * threads; more, or a denied look with no other proof, is LOOK_UNKNOWN.
 *
 * YES needs a proof: a thread blocked in read/readv on a descriptor that is
 * this tty, or in select/pselect/poll/ppoll/epoll_wait whose set holds it and
 * which nothing else explains. What has something else to wait for besides
 * (a time-out as top sets one, a socket) is UNKNOWN; what does not wait for the
 * terminal is NO. look.c has the table.
 *
 * Costs 50 to 150 µs for a job of a few processes and keeps nothing, so it can
 * be repeated; what vim and node say of themselves becomes YES some seconds
 * after their start.
 * Never blocks on what it looks at beyond the reads of /proc; no /proc:
 * UNKNOWN with how "no /proc".
 */
#define LOOK_THREADS_MAX 256
/* feed: the inode of a FIFO that the job was given as its input; 0: none. */
void look_at(pid_t shell, uint64_t feed, struct look *out);

#endif
