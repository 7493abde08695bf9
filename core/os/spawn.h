/* SPDX-License-Identifier: MIT */
/*
 * Starting a program. The keeper, `od serve` and io/job.c have forks of their own.
 *
 * The child gets exactly what is named here: three descriptors and nothing
 * else, default signal actions, an empty mask, a session of its own. Failure
 * before the program runs (directory, terminal, exec) comes back through a
 * close-on-exec pipe, so "cannot enter /x" and "no such program" are errors of
 * the start and never an exit status.
 */
#ifndef OD_OS_SPAWN_H
#define OD_OS_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum spawn_step {
    SPAWN_FORK = 1, /* fork itself was refused */
    SPAWN_CWD,      /* cannot enter the directory */
    SPAWN_TTY,      /* cannot make the terminal the controlling one */
    SPAWN_EXEC,     /* cannot run the program */
    SPAWN_FENCE     /* cannot be restricted to its fence */
};

struct spawn {
    const char *path; /* with a slash: that file; without: looked up in PATH of envp */
    char *const *argv, *const *envp;
    const char *cwd;  /* NULL: stay */
    int fds[3];       /* become 0, 1, 2; may be the same one */
    bool tty;         /* fds[0] becomes the controlling terminal */
    bool subreaper;   /* orphans below it become its children */
    bool in_front;    /* no session of its own but a process group, in the foreground
                         of our terminal, fds[0], if we were there */
    const int *fence; /* its ruleset (os/landlock.h); NULL: none */
    /*
     * Called in the child just before the program runs, when 3 is the report and nothing
     * else is open. Makes only system calls. -1 with errno: the start fails as
     * SPAWN_FENCE. NULL: none. With it the report is a unix socket, and what is sent by
     * it comes before its end.
     */
    int (*before)(int report);
    bool limited;     /* spawn_give_limits with these */
    long nofile;
    int oom;
};

/* The content of the pipe if the start failed; it is empty if the start succeeded. */
struct spawn_failure {
    int32_t step, errnum;
};

/*
 * Forks. Returns 0: *pid runs, and *report, which the caller closes, reads as end
 * of file when the program has started, else as one struct spawn_failure. Returns
 * -1 with errno if fork or pipe was refused.
 */
int spawn_start(const struct spawn *s, pid_t *pid, int *report);

/*
 * Forks without running a program: returns as fork does. The child has default signal
 * actions, an empty mask, a process group of its own, no privileges to gain, /dev/null
 * as 0 to 2, the n descriptors of fds from 3 on, and no other. Its memory is a copy of
 * ours: it must not use anything that our loop owns, and must end by _exit.
 */
enum { SPAWN_COPIES_MAX = 8 }; /* of n */
pid_t spawn_copy(const int *fds, int n);

/* In a forked child: closes every descriptor from first on. */
void spawn_close_from(int first);
/*
 * In a child that is to run programs: undoes what we raised for ourselves, the soft
 * limit of descriptors (-1: keeps it) and the oom_score_adj.
 */
void spawn_give_limits(long nofile, int oom);
/* In a forked child: default actions for all signals, nothing blocked. */
void spawn_reset_signals(void);

#endif
