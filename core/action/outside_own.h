/* SPDX-License-Identifier: MIT */
/* What outside.c and run.c share: the own of an action that its front-end does. */
#ifndef OD_ACTION_OUTSIDE_OWN_H
#define OD_ACTION_OUTSIDE_OWN_H

#include "action/outside.h"
#include "action/own.h"
#include "action/run.h"
#include "shell/session.h"

struct outside {
    struct action *a;  /* which owns this */
    struct task end;   /* its end is to be written */
    struct timer back; /* how long its caller is waited for */
    bool ending;
    struct buf text;     /* owned; the content */
    struct json *extras; /* owned, or NULL */
    struct err e;        /* code 0: it was done */
    outside_stop *stop;  /* NULL: it cannot be stopped */
    void *owner;         /* of stop; borrowed */
    struct op *op;     /* borrowed; ours: it runs the command, or waits for the process */
    struct cell *cell; /* borrowed; of a caller that left */
    struct browsing_call *browse; /* the same */
    bool ended;                   /* the command of a session is over as `seen` has it */
    bool ran;                     /* so is a process; seen has the exit code only */
    struct command_seen seen;     /* without session, id and failed */
};

/* The kind of that name; NULL: there is none. */
const struct action_kind *outside_kind(struct str name);
/* Such an action of the worker before; whole: its message is as it was. */
void outside_resume(struct action *a, bool new_server, bool whole);
/* Waits for the caller to come back. */
void outside_await(struct action *a);
/* The end of an action that nobody waits to be answered first. */
void outside_end_now(struct outside *x);

/* run.c */
/*
 * Appends both ends of this output of a session to text, and to extras what is left out
 * between them and what is gone.
 */
void run_put_output(const struct actions *all, const char *session, uint64_t from,
                    uint64_t to, struct buf *text, struct json *extras);
/* The same of a spool. */
void run_put_stream(const struct actions *all, int fd, const struct keep_stream *s,
                    uint64_t from, uint64_t to, struct buf *text, struct json *extras);
void run_put_end(struct json *extras, int64_t duration_ms, int signo, bool shell_ended);
/* Sets the session's watcher. */
void run_watch(struct actions *all);
/* The same of a command. */
void run_resume(struct action *a, bool new_server, bool whole);
/* Adds what a command that has ended is told as; text is x's. */
void run_result(struct outside *x, struct action_result *r, struct buf *top);
bool run_cancel(struct action *a);

#endif
