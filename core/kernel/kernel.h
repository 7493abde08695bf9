/* SPDX-License-Identifier: MIT */
/*
 * Jupyter kernels by name. Each has a host (kernel/host/host.h), which is a companion
 * (companion/companion.h); cells run one after the other.
 *
 * The output of the host is read from the place where the cell began, so a worker that
 * takes over follows the cell that runs, and the caller that comes back with the same id
 * gets all of its output.
 */
#ifndef OD_KERNEL_KERNEL_H
#define OD_KERNEL_KERNEL_H

#include "base/json.h"
#include "engine/engine.h"

struct kernel;
struct cell;

struct kernel_opts {
    struct str kernel;         /* a kernelspec's name, or a language; "": Python */
    struct str choice;         /* any, own, jupyter; "" is any */
    struct str cwd, user, env; /* as a process's */
    struct str init; /* a cell that is run unseen whenever the kernel has started */
};

/* history: of this kernel; code is not looked at. */
#define KERNEL_QUESTIONS "complete, inspect, is_complete, history"

enum kernel_state {
    KERNEL_STARTING,
    KERNEL_READY,
    KERNEL_DEAD,  /* it ended; the next cell starts it anew */
    KERNEL_FAILED /* it does not start; the next cell tries again */
};

enum cell_end {
    CELL_OK,
    CELL_ERROR,   /* the kernel says so */
    CELL_TIMEOUT, /* interrupted; stuck: it did not even then end */
    CELL_DIED,    /* the kernel ended in the middle: err */
    CELL_FAILED   /* never ran: err */
};

struct cell_result {
    enum cell_end end;
    bool stuck;
    int64_t count; /* execution_count; 0: none */
    int64_t duration_ms;
    struct err err;
};

/* Each may drop the cell. */
struct cell_events {
    /*
     * In order: stream, execute_result, display_data, update_display_data, error,
     * clear_output as iopub has them; page: a payload's data; note: {text}, of ours.
     */
    void (*on_output)(void *owner, struct str type, const struct json *content);
    /*
     * Instead of on_output, for what is longer than 8 KiB: the line {"type", "content"}
     * as JSON with its newline, in pieces, as the kernel has it: it may be no JSON.
     * NULL: that is parsed, and comes by on_output, too.
     */
    void (*on_text)(void *owner, struct str piece);
    /* The cell asks; answered by cell_answer. NULL: not allowed. */
    void (*on_input)(void *owner, struct str prompt, bool password);
    /* Last and once; the cell is gone when it returns. */
    void (*on_done)(void *owner, const struct cell_result *r);
};

struct cell_opts {
    const char *id; /* the caller's: the same one again attaches; "": none */
    struct str code;
    bool silent, history;
    int64_t timeout_ms; /* 0: none */
    /*
     * NULL, or a question instead of running code (messaging document, "Messages on
     * the shell ROUTER/DEALER channel"): KERNEL_QUESTIONS. The answer is output of
     * type QUESTION_reply. A time limit ends it, and interrupts nothing.
     */
    const char *question;
    int64_t at; /* the cursor, in characters; -1: the end of code */
};

/* The one of that name. NULL: there is none. */
struct kernel *kernel_lookup(struct engine *en, struct str name);
/* The same, made and started if there is none. NULL: e. */
struct kernel *kernel_open(struct engine *en, struct str name,
                           const struct kernel_opts *o, struct err *e);
/* Takes one up from its state at the keeper; its process was resumed before. */
void kernel_resume(struct engine *en, struct str name, struct str state);
/* Ends it; cells that wait are answered with CELL_FAILED. */
void kernel_close(struct kernel *k);
/* Of all: the server ends. */
void kernel_cancel_all(struct engine *en);

/* Runs a cell when those before it have ended. NULL: e (LIMIT: too many, too long). */
struct cell *kernel_run(struct kernel *k, const struct cell_opts *o,
                        const struct cell_events *ev, void *owner, struct err *e);
/* Has this cell begun, or ended so that its output can be had again? */
bool kernel_knows(struct kernel *k, const char *id);
/* Stops and restarts on_output; what comes meanwhile waits in the spool. */
void cell_hold(struct cell *c, bool hold);
/* What it asked for, without a newline. */
void cell_answer(struct cell *c, struct str text);
/* Has it begun? */
bool cell_runs(const struct cell *c);
/* Nobody listens any more; one that runs is interrupted. */
void cell_cancel(struct cell *c);
/* ok, error, timeout, died, failed */
const char *cell_end_name(enum cell_end end);
/* Nobody listens any more. One that waits never runs; one that runs goes on. */
void cell_drop(struct cell *c);

/* The cell that runs is interrupted, those that wait run after it. */
void kernel_interrupt(struct kernel *k);
/* Names are gone after it; cells that run or wait end with CELL_DIED. */
void kernel_restart(struct kernel *k);

const char *kernel_name(const struct kernel *k);
/* The interpreter of a Python kernel, "" if it is not known. */
const char *kernel_interpreter(const struct kernel *k);
/* {name, kernel, display, language, where, interpreter, embedded, state, silent, pid …}
 */
struct json *kernel_json(const struct kernel *k);
/* {kernels: those that run, specs: those that could, from cwd, notes_on_specs} */
struct json *kernel_overview(struct engine *en, struct str cwd);

#endif
