/* SPDX-License-Identifier: MIT */
/*
 * Is the foreground job of a terminal waiting for input from it?
 *
 * The answer comes from /proc. The caller is an ancestor of the job, and has
 * its uid if possible: yama, or root without CAP_SYS_PTRACE, requires that.
 * Never to be called in the keeper: a read of /proc may block while an exec
 * waits for a hung file system.
 */
#ifndef OD_OS_LOOK_H
#define OD_OS_LOOK_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* look_at never answers LOOK_PROBABLY: callers that know the output too may. */
enum look_state { LOOK_NO, LOOK_YES, LOOK_UNKNOWN, LOOK_PROBABLY };

/* What else a look found that is not YES. */
enum look_hint {
    LOOK_HINT_NONE,
    LOOK_HINT_PERHAPS, /* UNKNOWN: waits for the terminal, or for a time */
    LOOK_HINT_FEED,    /* the feed is read, and empty; pid and comm are the reader's */
    LOOK_HINT_SOURCES, /* as PERHAPS, and for other things too */
    LOOK_HINT_KEYS     /* as PERHAPS, if the terminal is set for keys, not lines */
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
    bool denied;           /* the kernel refused to show a process to this user */
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
 * which nothing else explains. A thread that waits for something else as well
 * (a time-out as top sets one, a socket) is UNKNOWN; if no thread waits for the
 * terminal, the answer is NO. look.c has the table.
 *
 * Costs 50 to 150 µs for a job of a few processes and keeps nothing, so it can
 * be repeated; for vim and node the answer becomes YES some seconds after
 * their start. Only reads of /proc can block. Without /proc: UNKNOWN with how
 * "no /proc".
 */
#define LOOK_THREADS_MAX 256
/*
 * feed: the inode of a FIFO that the job was given as its input; 0: none. wide: where the
 * answer would be NO, looks at each process of the machine, of which one elsewhere may
 * have opened the terminal by its path; costs some 10 µs for each.
 */
void look_at(pid_t shell, uint64_t feed, bool wide, struct look *out);

#endif
