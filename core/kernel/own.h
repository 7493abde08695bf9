/* SPDX-License-Identifier: MIT */
/*
 * What the files of kernels and cells share.
 *
 *   kernel.c  the life of a kernel, and the lines of its host
 *   cell.c    the life of a cell: its turn, the answers to it, its end
 *   send.c    messages to the kernel: cells, questions, answers
 *   listen.c  listeners (listen.h)
 *   state.c   the state for the next worker
 *
 * A kernel is a companion (companion/companion.h). The output of its host has two kinds
 * of readers: the kernel's own takes the lines of the host; that of each cell, from
 * where the cell began, takes the messages that answer it.
 */
#ifndef OD_KERNEL_OWN_H
#define OD_KERNEL_OWN_H

#include "kernel/kernel.h"
#include "kernel/listen.h"

#include "companion/companion.h"

enum { KERNEL_RECORDS = 16 };

/* The record of a sent cell, stored at the keeper. */
struct record {
    char id[LIMIT_ID + 1];
    uint64_t from, to; /* its part of the host's output; to 0: it has not ended */
    uint64_t in, len;  /* in its input */
    int64_t begun_ms, timeout_ms;
    enum cell_end end;
};

struct kernel {
    struct companion host; /* embedded: its process, and the queue of cells */
    struct json *opts;     /* owned: {kernel, choice, cwd, user, env, init} */
    struct json *about;    /* owned: the host's last "starting", and its "ready" */
    enum kernel_state state;
    struct record records[KERNEL_RECORDS];
    int nrecords;
    struct list listeners; /* kernel_listener.node */
    const char *doing;     /* the last execution_state */
    int64_t active_ms;     /* wall clock of its last message */
    int deaths;            /* since a cell was sent */
    struct task keep; /* stores it again, when callers have their answers */
    bool full;        /* it does not read what it was sent */
    bool fresh;       /* it has started, and `init` was not run */
    bool leaving;     /* the previous cell announced the kernel's end */
    bool renewed;     /* it ended by itself, and no cell has run since */
};

struct cell {
    struct companion_call call; /* embedded: in host.calls until its end */
    struct kernel *k;
    const struct cell_events *ev; /* NULL: no caller */
    void *owner;
    struct buf code;
    struct json *request; /* owned; NULL: none */
    bool silent, history, held;
    const char *question; /* of questions[]; NULL: the cell is run */
    int64_t at;           /* its cursor */
    bool replied, idle, failed, timed_out, lively, leaves, renewed;
    bool before;    /* it is the kernel's own, and runs at its start */
    bool stuck;     /* the kernel does not respond to interrupts of it: */
    bool abandoned; /* its caller no longer waits */
    struct timer unwaited; /* until that */
    bool halfway;     /* one of replied and idle is set; limit waits for the other */
    uint64_t half_at; /* position of the reader then */
    bool told;        /* some of its output was passed on */
    char why[4096];   /* it failed, by its reply; "": it does not say, or more */
    int64_t count;
    uint64_t to;        /* CALL_REPLAYED: where it ended */
    struct json *asked; /* header of the open input_request */
    struct gate_wait gate; /* before it is sent */
    struct task start;
    struct line_reader reader;
};

/* ---- kernel.c ---- */

struct kernel *kernel_make(struct engine *en, struct str name);

/* ---- listen.c ---- */

/* Looks at a message, or the beginning of one, for kernel_activity. */
void kernel_notice(struct kernel *k, struct str line);
/* A process of the kernel was started. */
void listeners_begin(struct kernel *k);
/* Calls `host` of each. */
void listeners_tell(struct kernel *k, const char *what);
/* The kernel is closed: ends all listeners. */
void listeners_end(struct kernel *k);
/* Returns the offset up to which they, and the kernel itself, have read. */
uint64_t listeners_seen(const struct kernel *k, uint64_t at);

/* ---- cell.c ---- */

/* Returns the cell that runs or is next; NULL if there is none. */
struct cell *kernel_first_cell(const struct kernel *k);
/* Lets the host send as much more as both the kernel and the running cell have read. */
void kernel_tell_seen(struct kernel *k);
/*
 * Begins its time limit, unless that was done when its kernel started: with the start,
 * which gets 2 s at least, or with the cell.
 */
void cell_begin_limit(struct cell *c, bool starts);
/* Ends a cell that has not run with an error KeyboardInterrupt, as a kernel does. */
void cell_stop_waiting(struct cell *c);
/* The kernel reports that the cell does not respond to interrupts. */
void cell_is_stuck(struct cell *c);
/* Makes a cell that is not in the queue yet; until it is, the caller frees it. */
struct cell *cell_make(struct kernel *k, struct str code);
/* Reads the cell's output from its beginning. */
void cell_start(struct task *t);
void cell_on_limit(struct timer *t);
void cell_fail(struct cell *c, enum cell_end end, const struct err *e);

/* ---- send.c ---- */

/* Sends the cell and makes its record. Returns 0; -1 and sets *e. */
int cell_send(struct cell *c, struct err *e);

/* ---- state.c ---- */

/* Stores the state at the keeper. */
void kernel_save(struct kernel *k);
void kernel_on_keep(struct task *t); /* the same */
/* The same, with a request for the host in one step: both arrive, or neither. */
void kernel_save_and_ask(struct kernel *k, struct str line);
/* Returns the record of a cell; NULL if it was never sent, or too long ago. */
struct record *kernel_record_of(struct kernel *k, const char *id);
struct record *kernel_record_add(struct kernel *k);

#endif
