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

/* history: of this kernel; the code is ignored. */
#define KERNEL_QUESTIONS "complete, inspect, is_complete, history"

enum kernel_state {
    KERNEL_STARTING,
    KERNEL_READY,
    KERNEL_DEAD,  /* it ended; the next cell starts it again */
    KERNEL_FAILED /* it does not start; the next cell tries again */
};

enum cell_end {
    CELL_OK,
    CELL_ERROR,   /* the kernel reports an error */
    CELL_TIMEOUT, /* interrupted; stuck: it did not end even then */
    CELL_DIED,    /* the kernel ended while it ran; see err */
    CELL_FAILED   /* it never ran; see err */
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
     * clear_output as on iopub; page: the data of a payload; note: {text}, from od.
     */
    void (*on_output)(void *owner, struct str type, const struct json *content);
    /*
     * Instead of on_output, for output longer than 8 KiB: the line {"type", "content"}
     * with its newline, in pieces, as the kernel sent it: it may not be JSON. NULL: long
     * output is parsed and comes by on_output, too.
     */
    void (*on_text)(void *owner, struct str piece);
    /* The cell asks for input; cell_answer answers. NULL: it may not ask. */
    void (*on_input)(void *owner, struct str prompt, bool password);
    /* Last and once; the cell is gone when it returns. */
    void (*on_done)(void *owner, const struct cell_result *r);
};

struct cell_opts {
    const char *id; /* of the caller: a second call with it attaches; "": none */
    struct str code;
    bool silent, history;
    int64_t timeout_ms; /* 0: none */
    /*
     * NULL, or a question instead of running code (messaging document, "Messages on
     * the shell ROUTER/DEALER channel"): KERNEL_QUESTIONS. The answer is output of
     * type QUESTION_reply. A time limit ends it without an interrupt.
     */
    const char *question;
    int64_t at; /* the cursor, in characters; -1: the end of code */
};

/* The one of that name. Returns NULL if there is none. */
struct kernel *kernel_lookup(struct engine *en, struct str name);
/* The same, made and started if there is none. Returns NULL and sets *e. */
struct kernel *kernel_open(struct engine *en, struct str name,
                           const struct kernel_opts *o, struct err *e);
/* Resumes a kernel from its state at the keeper; processes have resumed before. */
void kernel_resume(struct engine *en, struct str name, struct str state);
/* Ends it; cells that wait are answered with CELL_FAILED. */
void kernel_close(struct kernel *k);
/* Ends the cells of all kernels: the server ends. */
void kernel_cancel_all(struct engine *en);

/*
 * Runs a cell when those before it have ended. Returns NULL and sets *e (LIMIT: too many
 * cells wait, or it is too long).
 */
struct cell *kernel_run(struct kernel *k, const struct cell_opts *o,
                        const struct cell_events *ev, void *owner, struct err *e);
/* Does a cell with this id wait or run, or is its output kept? */
bool kernel_knows(struct kernel *k, const char *id);
/* Stops and restarts on_output; output waits in the spool meanwhile. */
void cell_hold(struct cell *c, bool hold);
/* Sends the input that the cell asked for, without a newline. */
void cell_answer(struct cell *c, struct str text);
/* Has it begun? */
bool cell_runs(const struct cell *c);
/* No events follow. A cell that waits never runs; one that runs is interrupted. */
void cell_cancel(struct cell *c);
/* ok, error, timeout, died, failed */
const char *cell_end_name(enum cell_end end);
/* No events follow. A cell that waits never runs; one that runs goes on. */
void cell_drop(struct cell *c);

/* Interrupts the cell that runs; those that wait run after it. */
void kernel_interrupt(struct kernel *k);
/* Its names are lost; cells that run or wait end with CELL_DIED. */
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
