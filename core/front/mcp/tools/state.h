/* SPDX-License-Identifier: MIT */
/*
 * The state line of what ran in a shell: what happened, and the call that goes on with
 * it, to be copied. Pure functions.
 */
#ifndef OD_FRONT_MCP_TOOLS_STATE_H
#define OD_FRONT_MCP_TOOLS_STATE_H

#include "base/buf.h"

#include <stdint.h>

enum run_state { RUN_ENDED, RUN_WAITING, RUN_MAYBE, RUN_RUNNING };

struct run_line {
    enum run_state state;
    const char *session;
    const char *other; /* a session that is free, to be proposed */
    uint64_t command;  /* the action; 0: not known */
    bool input;        /* the answer of shell_input: it names the command, too */
    int exit, signo;   /* ENDED; signo 0: no signal ended it */
    bool shell_ended;
    int64_t ms;                /* ENDED: how long it took; RUNNING: how long was waited */
    int64_t quiet_ms;          /* since its last output */
    const char *program, *how; /* who waits or runs; "": not known */
    int pid;                   /* 0: not known */
    bool hidden;               /* what is typed is not shown */
    bool screen;               /* it shows a full screen */
    bool empty;                /* it has no output at all */
    const char *cwd;           /* the new directory; NULL: the same */
    uint64_t lines, cut_from, gone;
    bool bent;
};

/* Appends the line without its brackets. */
void run_line(struct buf *out, const struct run_line *r);

/* "0.02 s", "2.1 s", "14 s", "4 min" */
void put_seconds(struct buf *out, int64_t ms);
/*
 * A program's name, at most 80 letters, and "?" for what is no letter of one; "the
 * command" for an empty one.
 */
void put_program(struct buf *out, const char *name);
/* "SIGTERM"; for a number without a name "signal 40". */
void put_signal(struct buf *out, int signo);
/* The arguments that a call begins with: "" for main, else ` session="web"`. */
void put_session(struct buf *out, const char *session);
/* The call that leaves a program which waits for input, as `shell_input key="q"`. */
void put_leave(struct buf *out, const char *session, const char *program);

#endif
