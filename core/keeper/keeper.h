/* SPDX-License-Identifier: MIT */
/*
 * The keeper: the process that outlives everything else of od.
 *
 * It owns what must survive the worker: listening sockets, terminals, pipes,
 * spools, states; and does what only a parent can do: start and restart the
 * worker, reap all children, pass signals on, kill what remains at the end. It
 * moves the output of programs into their spools itself, so no byte is ever
 * only in the worker's memory, and it writes input in the same step in which
 * it stores the worker's state about it. It parses nothing that a peer wrote,
 * and blocks only in its own epoll.
 *
 *   peers ── worker ══ keepmsg.h ══ keeper ══ keepmsg.h ══ reaper (one a uid)
 *                                     │                      │ parent of
 *                            spool ◄──┴── PTY masters ◄── shells, processes
 */
#ifndef OD_KEEPER_KEEPER_H
#define OD_KEEPER_KEEPER_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* A listening socket to begin with; each worker gets it under its name. */
struct keeper_listener {
    const char *name; /* "local", "http ADDRESS"; borrowed */
    int fd;           /* owned by the keeper from now on */
};

/* A program to run next to the worker. It has our stdin, stdout and stderr. */
struct keeper_command {
    char *const *argv, *const *envp;
    const char *cwd; /* "": ours */
    bool stay;       /* the server goes on when the program ends */
};

struct keeper_config {
    int self;           /* from self_open; borrowed */
    const char *path;   /* of that file: SIGHUP opens it again */
    const char *format; /* of the states kept here, which another file must support */
    unsigned flush_ms; /* milliseconds that the worker may take longer at its end */
    uint64_t spool_total; /* bytes of output kept of all programs; 0: LIMIT_SPOOL_TOTAL */
    int fence; /* owned; the ruleset of all programs (os/landlock.h); -1: none */
    int reach; /* owned; the rules of their network (reach/supervisor.h); -1: none */
    const struct keeper_command *command; /* NULL: none */
    char *const *worker;                  /* argv of the worker, NULL-terminated */
    char *const *worker_env;              /* its environment */
    char *const *reaper_env;     /* the reapers' (their children get their own) */
    const char *reaper;          /* argv[0] of a reaper; its arguments follow */
    struct str state_key, state; /* one state to begin with: the worker's options */
    const struct keeper_listener *listeners;
    int nlisteners;
};

/*
 * The keeper's whole life. Returns the exit status: the command's, as in a
 * shell, or 0. Signals: TERM, INT end the sandbox; HUP starts the worker from
 * path again (`od-worker --check FORMAT` must print "ready"); USR1, USR2 go to
 * the worker. While the command runs, all of them and QUIT go to the command.
 */
int keeper_run(const struct keeper_config *c);

#endif
