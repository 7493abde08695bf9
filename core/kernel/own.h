/* SPDX-License-Identifier: MIT */
/*
 * What the files of kernels and cells share.
 *
 *   kernel.c        a kernel's life: its host, what the host says of it
 *   cell.c   a cell's life: its turn, what answers it, its end
 *   reader.c lines of its host's output
 *   send.c   what the kernel is sent: cells, questions, answers
 *   state.c  what a worker that takes over must know
 *
 * Two kinds of readers go over a host's output: the kernel's own takes the host's
 * lines, and each cell's, from where it began, takes the messages that answer it.
 */
#ifndef OD_KERNEL_OWN_H
#define OD_KERNEL_OWN_H

#include "kernel/kernel.h"

#include "base/limits.h"
#include "shell/process.h"

enum {
    KERNEL_RECORDS = 16,
    KERNEL_RECORD_TEXT = 256,
    KERNEL_SEEN_STEP = 256 << 10,
    KERNEL_OPTS_MAX = LIMIT_BLOB_MAX / 2
};

/* A cell that was sent; kept at the keeper. */
struct record {
    char id[LIMIT_ID + 1];
    uint64_t from, to; /* in the host's output; to 0: not over */
    uint64_t in, len;  /* in its input */
    int64_t begun_ms, timeout_ms;
    enum cell_end end;
    char text[KERNEL_RECORD_TEXT]; /* as it is kept; "": it has changed */
};

enum { LINE_HEAD = 8192 };

enum line_fate {
    LINE_SHORT, /* no longer than LINE_HEAD, so far */
    LINE_WHOLE, /* to be told when all of it is there */
    LINE_PARTS, /* as it comes */
    LINE_PASSED_OVER
};

/* Each may end the reader. */
struct reader_calls {
    /* A line of LINE_HEAD bytes or fewer, or LINE_WHOLE; the next begins at end. */
    void (*line)(void *arg, struct str line, uint64_t end);
    /* The first LINE_HEAD bytes of a longer one: WHOLE, PARTS or PASSED_OVER. */
    enum line_fate (*head)(void *arg, struct str head);
    /* More of a line in parts, without its head; ends: it is over, whole or not. */
    void (*part)(void *arg, struct str bytes, bool ends);
};

/* Lines of the host's output. */
struct reader {
    struct op *op; /* borrowed; NULL: not reading */
    struct buf line;
    uint64_t at;    /* of the next byte */
    uint64_t begin; /* of the line that it is in */
    enum line_fate fate;
};

struct kernel {
    struct engine *en;
    char *name;
    struct json *opts;  /* {kernel, choice, cwd, user}: how it was asked for */
    struct json *about; /* what the host told last of starting, and ready */
    enum kernel_state state;
    struct err why;          /* of DEAD and FAILED */
    char host[48];           /* the name of its process; "": none was started */
    struct process *process; /* NULL: none */
    struct reader reader;
    uint64_t seen;     /* what the host was told that is read */
    uint64_t step;     /* it is told again after so much: less than its window */
    struct list cells; /* the first one may be RUNNING */
    struct record records[KERNEL_RECORDS];
    int nrecords;
    struct buf kept;  /* its state, as it was kept last */
    struct task keep; /* it is to be kept anew, when callers have their answers */
    struct task pump;
    struct task fall; /* cells are to fail, for k->why */
    bool fall_all;    /* those that wait too */
    bool fresh;       /* it has started, and its first cell was not run */
    bool leaving;     /* the cell before said that the kernel will end */
};

enum cell_step { WAITING, RUNNING, REPLAYED, LATE };

struct cell {
    struct list node;
    struct kernel *k;
    const struct cell_events *ev; /* NULL: nobody listens */
    void *owner;
    char id[LIMIT_ID + 1];
    struct buf code;
    bool silent, history, held;
    const char *question; /* of questions[]; NULL: it is run */
    int64_t at;           /* its cursor */
    bool replied, idle, failed, timed_out, lively;
    bool halfway;     /* one of replied and idle, and limit waits for the other */
    uint64_t half_at; /* how far the reader was then */
    enum cell_step step;
    int64_t timeout_ms, begun_ms, count;
    uint64_t to;        /* REPLAYED: where it ended */
    struct json *asked; /* header of the input_request that waits */
    struct timer limit;
    struct task start;
    struct reader reader;
};

/* ---- kernel.c ---- */

extern const struct op_sink kernel_host_sink;
struct kernel *kernel_make(struct engine *en, struct str name);
/* The first cell may have its turn. */
void kernel_pump_later(struct kernel *k);
/* To its host; nothing if there is none. */
void kernel_send_line(struct kernel *k, struct str line);

/* ---- reader.c ---- */

void reader_start(struct reader *r, struct process *p, const struct op_sink *sink,
                  void *owner, uint64_t from);
void reader_stop(struct reader *r);
/* Cuts bytes into lines: the same calls, however they are cut. */
void reader_feed(struct reader *r, struct str bytes, const struct reader_calls *calls,
                 void *arg);
/* Bytes up to `to` are lost, and the line that they are in. */
void reader_skip(struct reader *r, uint64_t to, const struct reader_calls *calls,
                 void *arg);

/* ---- cell.c ---- */

/* The one that runs, or is next; NULL: none. */
struct cell *kernel_first_cell(struct kernel *k);
/* The host goes on when its lines were read, by the kernel and the cell that runs. */
void kernel_tell_seen(struct kernel *k);
/* Its end, for why; waiting_too: of those too that have not begun. */
void kernel_fail_cells(struct kernel *k, bool waiting_too);
/* Not in the queue yet; the caller's to free until it is. */
struct cell *cell_make(struct kernel *k, struct str code);
/* Reads what was said of it, from its beginning. */
void cell_start(struct task *t);
void cell_on_limit(struct timer *t);
void cell_fail(struct cell *c, enum cell_end end, const struct err *e);

/* ---- send.c ---- */

/* 0, and it has a record; -1: e. */
int cell_send(struct cell *c, struct err *e);

/* ---- state.c ---- */

/* Keeps it at the keeper. */
void kernel_save(struct kernel *k);
void kernel_on_keep(struct task *t); /* the same */
/* The same with a request for its host, which was not sent if that is not kept. */
void kernel_save_and_ask(struct kernel *k, struct str line);
/* NULL: it was never sent, or long ago. */
struct record *kernel_record_of(struct kernel *k, const char *id);
struct record *kernel_record_add(struct kernel *k);

#endif
