/* SPDX-License-Identifier: MIT */
/* What outside.c, run.c and follow.c share: action.own of an outside action. */
#ifndef OD_ACTION_OUTSIDE_OWN_H
#define OD_ACTION_OUTSIDE_OWN_H

#include "action/outside.h"
#include "action/own.h"
#include "action/run.h"
#include "shell/session.h"

struct outside {
    struct action *a;  /* the action that owns this */
    struct task end;   /* writes its end */
    struct timer back; /* the time for its caller to come back */
    bool ending;
    struct buf text;     /* owned; the content */
    struct json *extras; /* owned, or NULL */
    struct err e;        /* code 0: it was done */
    outside_stop *stop;  /* NULL: it cannot be stopped */
    void *owner;         /* of stop; borrowed */
    struct op *op;       /* borrowed; our own op, which runs the command or waits for the
                            process */
    struct cell *cell;   /* borrowed; followed, as its caller left */
    struct browsing_call *browse; /* the same */
    bool ended;                   /* a session's command has ended, as seen has it */
    bool ran;                     /* a process has ended; seen has only the exit code */
    struct command_seen seen;     /* without session, id and failed */
};

/* Returns the kind of that name; NULL if there is none. */
const struct action_kind *outside_kind(struct str name);
/* Continues an outside action of the previous worker; whole: the log has all of it. */
void outside_resume(struct action *a, bool new_server, bool whole);
/* Waits for the caller to come back, OUTSIDE_BACK_MS at most. */
void outside_await(struct action *a);

/* run.c */
/*
 * Appends the beginning and the end of this range of a session's output to text. Adds the
 * ranges that are left out between them, and those that are lost, to extras.
 */
void run_put_output(const struct actions *all, const char *session, uint64_t from,
                    uint64_t to, struct buf *text, struct json *extras);
/* The same for a spool. */
void run_put_stream(const struct actions *all, int fd, const struct keep_stream *s,
                    uint64_t from, uint64_t to, struct buf *text, struct json *extras);
void run_put_end(struct json *extras, int64_t duration_ms, int signo, bool shell_ended);
/* Sets the session's watcher. */
void run_watch(struct actions *all);
/* outside_resume for a command. */
void run_resume(struct action *a, bool new_server, bool whole);
/* Adds the result of a command that has ended to r and x's text and extras. */
void run_result(struct outside *x, struct action_result *r);
bool run_cancel(struct action *a);

#endif
