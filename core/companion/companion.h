/* SPDX-License-Identifier: MIT */
/*
 * A companion: a process that works for the engine, such as the host of a kernel or of a
 * browser. Engine and companion exchange lines; the calls of callers come one after the
 * other.
 *
 * The keeper holds the process, its input, its output and a state of at most
 * LIMIT_BLOB_MAX bytes, so a companion outlives the worker: the next worker finds the
 * process, reads on from the offset in the state, and follows the call that ran. A
 * request and the state that mentions it reach the keeper in one step if they fit into
 * one message; otherwise the state goes first, and companion_reached finds out whether
 * the request arrived. So no request is sent twice.
 *
 *   NONE --companion_start, companion_resume--> RUNS
 *   RUNS --its process ends--> ENDED --its output was read; kind->ended--> NONE
 *   RUNS, ENDED --companion_leave--> NONE
 *   any --companion_close--> CLOSED
 *
 * The process prints at most `window` bytes, a part of the spool, beyond those that
 * companion_read has reported as read. A caller that reads slowly thus stops the process,
 * and nothing is lost or kept in memory.
 */
#ifndef OD_COMPANION_COMPANION_H
#define OD_COMPANION_COMPANION_H

#include "companion/lines.h"

struct companion;

enum { COMPANION_NAME = 40 }; /* bytes of a name, at most */

enum companion_state {
    COMPANION_NONE, /* there is no process, or it is no longer read */
    COMPANION_RUNS,
    COMPANION_ENDED, /* the process ended; the last of its output is read */
    COMPANION_CLOSED /* by companion_close: the owner frees it at the end of the turn */
};

enum call_step {
    CALL_WAITING,
    CALL_RUNNING, /* it was sent, and is not answered */
    CALL_LATE,    /* it was answered; output that may follow is awaited */
    CALL_REPLAYED /* it ended before; its output is read again, next to the others */
};

/* A call; embedded in the owner's struct for it, and in companion.calls until its end. */
struct companion_call {
    struct list node;
    char id[LIMIT_ID + 1];
    enum call_step step;
    uint64_t in, len;   /* where it is in the process's input */
    int64_t begun_ms;   /* wall clock; 0: not sent yet */
    int64_t timeout_ms; /* 0: none */
    struct timer limit; /* the owner's */
};

struct companion_kind {
    const char *noun;        /* in errors and argv: "kernel" */
    const char *call;        /* in errors: "cell" */
    const char *program;     /* the name under which od is run as this host */
    const char *stem;        /* the beginning of the names of its processes */
    const char *key;         /* the beginning of the names of its states */
    const char *read;        /* the line of companion_read, up to the number; } ends it */
    int window;              /* in quarters of the spool of its output: 1 to 3 */
    int64_t end_ms;          /* from companion_leave to SIGKILL */
    struct line_calls lines; /* arg is the companion; .end is companion_over */
    /* Stores the state. Called before a process starts, so that it has an owner. */
    void (*save)(struct companion *c);
    /* Begins the first call, if it waits and can begin. Called once for any number of
     * companion_turn_later. */
    void (*turn)(struct companion *c);
    /* Ends a call: removes it from calls and answers its caller. why is borrowed. */
    void (*fail)(struct companion_call *call, const struct err *why);
    /* The process ended. The owner sets c->why and fails the calls. why is borrowed. */
    void (*ended)(struct companion *c, const struct err *why);
    /* Called after companion_fail_later, unless that closed the companion. */
    void (*failed)(struct companion *c);
};

/* Embedded in its owner: a kernel, a browser. */
struct companion {
    struct engine *en;                 /* borrowed */
    const struct companion_kind *kind; /* borrowed */
    char name[COMPANION_NAME + 1];
    char process_name[48];   /* "": there is no process */
    struct process *process; /* borrowed: the engine owns it; NULL: none */
    struct line_reader reader;
    uint64_t seen; /* what was reported as read */
    uint64_t step; /* bytes until it is reported again: window / 2 at most */
    struct buf late; /* owned: input that waits for room; cap 0: none does */
    struct list calls;
    struct err why; /* of the last failure */
    struct task turn, fall;
    bool fall_all; /* calls that wait fail, too */
    bool closed;
};

/* ---- life ---- */

/* Returns -1 and sets *e unless name has 1 to COMPANION_NAME bytes and no slash. */
int companion_check_name(const struct companion_kind *kind, struct str name,
                         struct err *e);
/* The caller has checked name. */
void companion_init(struct companion *c, struct engine *en,
                    const struct companion_kind *kind, struct str name);
enum companion_state companion_state(const struct companion *c);

struct companion_start {
    struct json *take_options; /* an object: argv[1] of the process, with "window" */
    struct str cwd, user, env; /* as a process's */
};

/*
 * Starts a process, with input and output at offset 0; none may run before. Returns -1
 * and sets *e if it cannot start; the stored state still names it then. A start that
 * fails later ends the process.
 */
int companion_start(struct companion *c, const struct companion_start *s, struct err *e);
/*
 * Takes over the process of the previous worker, which was resumed; the caller has set
 * process_name and step to what that worker stored. The state is NONE if the process is
 * gone, else RUNS, and companion_follow reads on.
 */
void companion_resume(struct companion *c);
void companion_follow(struct companion *c, uint64_t from);
/* Gives up the process, and ends it with companion_end_process. */
void companion_leave(struct companion *c);
/* Ends its input and sends SIGTERM; after end_ms SIGKILL to it and its children. */
void companion_end_process(struct engine *en, struct process *p, int64_t end_ms);
/*
 * Fails all calls with c->why, replayed ones too; leaves the process, forgets the state.
 * Called once. Nothing is stored and no turn comes afterwards.
 */
void companion_close(struct companion *c);

/* ---- state at the keeper, under KEY NAME ---- */

/*
 * Stores state, and sends a line in the same step; ask.n 0: none. A state that does not
 * fit (state.n 0) is not stored; the line is sent nevertheless.
 */
void companion_store(struct companion *c, struct str state, struct str ask);
void companion_forget(struct companion *c);

/* ---- lines ---- */

/*
 * Sends a line with its newline; does nothing without a process. One that the input has
 * no room for, and those after it, wait in c->late, of at most 24 MiB; when the
 * process has taken all of it a turn follows. No call begins before.
 */
void companion_send(struct companion *c, struct str line);
/* Whether a long line has a place in c->late. */
bool companion_has_room(const struct companion *c, size_t bytes);
/* The .room of kind->lines, if long lines are sent. */
void companion_room(void *arg);
/* Reports that output was read up to `at`, if that is `step` more than before. */
void companion_read(struct companion *c, uint64_t at);
/* The .end of kind->lines. */
void companion_over(void *arg, const struct op_result *r);

/* ---- calls ---- */

/* Returns -1 and sets *e if LIMIT_QUEUE_MAX calls wait already. */
int companion_check_queue(const struct companion *c, struct err *e);
/* Appends it; id "" becomes a random one. */
void companion_add(struct companion *c, struct companion_call *call, const char *id);
/* Returns the call that runs or is next, but no replayed one; NULL if there is none. */
struct companion_call *companion_first(const struct companion *c);
/* Returns the call with this id; NULL if none has it, or it is "". */
struct companion_call *companion_find(const struct companion *c, const char *id);
void companion_turn_later(struct companion *c);
/*
 * Notes when and where in the input a request of len bytes begins. Returns -1 and sets *e
 * (LIMIT) if neither the input nor c->late has room for it now.
 */
int companion_begin(struct companion *c, struct companion_call *call, size_t len,
                    struct err *e);
/*
 * For a worker that takes over: returns whether the process got all of the request. If it
 * got only a part, this ends that line: a part of a request is not a request.
 */
bool companion_reached(struct companion *c, uint64_t in, uint64_t len);
/* Fails the running call with c->why; waiting_too: all calls except replayed ones. */
void companion_fail(struct companion *c, bool waiting_too);
/* The same at the end of the turn, for callers inside a reader. */
void companion_fail_later(struct companion *c, bool waiting_too);

#endif
