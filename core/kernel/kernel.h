/* SPDX-License-Identifier: MIT */
/*
 * Jupyter kernels by name. Each has a host (kernel/host/host.h), which is a companion
 * (companion/companion.h); cells run one after the other.
 *
 * The output of the host is read from the place where the cell began, so a worker that
 * takes over follows the running cell, and a caller that repeats its id gets all of its
 * output.
 */
#ifndef OD_KERNEL_KERNEL_H
#define OD_KERNEL_KERNEL_H

#include "base/json.h"
#include "base/member.h"
#include "engine/engine.h"

struct kernel;
struct cell;

struct kernel_opts {
    struct str kernel;         /* a kernelspec's name, or a language; "": Python */
    struct str choice;         /* any, own, jupyter; "" is any */
    struct str cwd, user, env; /* as of a process */
    struct str init; /* a cell that runs after each start of the kernel, without output */
};

/* What it means that a kernel ended with its cell. */
#define KERNEL_LEFT "its variables are lost, and the next cell has a new one"
#define KERNEL_NEW "a new kernel: the previous one ended, and its variables are lost"
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
    CELL_ERROR,   /* the kernel reports an error; err: it does not respond */
    CELL_TIMEOUT, /* interrupted; stuck: it did not end even then; or, see err, not run */
    CELL_DIED,    /* the kernel ended while it ran; see err */
    CELL_FAILED   /* it never ran; see err */
};

struct cell_result {
    enum cell_end end;
    bool stuck;
    bool leaves;   /* the kernel ends with it, as it asked for: exit() */
    bool renewed;  /* it was the first cell after the kernel ended by itself */
    int64_t count; /* execution_count; 0: none */
    int64_t duration_ms;
    struct err err;
};

/* Each callback may drop the cell. */
struct cell_events {
    /*
     * In order: stream, execute_result, display_data, update_display_data, error,
     * clear_output as on iopub; page: the data of a payload; note: {text}, from od.
     */
    void (*on_output)(void *owner, struct str type, const struct json *content);
    /*
     * Called instead of on_output for output longer than 8 KiB, with pieces of the line
     * {"type", "content"} and its newline, as the kernel sent it: it may not be valid
     * JSON. NULL: long output is parsed and passed to on_output, too.
     */
    void (*on_text)(void *owner, struct str piece);
    /* The cell requests input; cell_answer answers. NULL: it may not request any. */
    void (*on_input)(void *owner, struct str prompt, bool password);
    /* Called once, as the last; the cell is gone when it returns. */
    void (*on_done)(void *owner, const struct cell_result *r);
    /* The kernel runs the cell as its number count. Called again after a restart of the
       worker. May be NULL. */
    void (*on_begun)(void *owner, int64_t count);
};

struct cell_opts {
    const char *id; /* of the caller: a second call with it attaches; "": none */
    struct str code;
    /*
     * NULL, or the execute_request that the kernel gets, with this code: an object with
     * header, metadata and content. id is then the msg_id of the header. Where content
     * has stop_on_error and the cell fails, all cells with a request that wait fail, too.
     */
    const struct json *request;
    bool silent, history;
    int64_t timeout_ms; /* 0: none; begins with the cell, or the kernel's start before */
    /*
     * NULL, or a question instead of running code (messaging document, "Messages on
     * the shell ROUTER/DEALER channel"): KERNEL_QUESTIONS. The answer is output of
     * type QUESTION_reply. A time limit ends it without an interrupt.
     */
    const char *question;
    int64_t at; /* the cursor, in characters; -1: the end of code */
};

/* Returns the kernel of that name; NULL if there is none. */
struct kernel *kernel_lookup(struct engine *en, struct str name);
/* The same, but makes and starts a kernel if there is none. Returns NULL and sets *e. */
struct kernel *kernel_open(struct engine *en, struct str name,
                           const struct kernel_opts *o, struct err *e);
/* Resumes a kernel from its state at the keeper; processes have resumed before. */
void kernel_resume(struct engine *en, struct str name, struct str state);
/* Ends the kernel; cells that wait are answered with CELL_FAILED. */
void kernel_close(struct kernel *k);

/*
 * Runs a cell after those before it. Returns NULL and sets *e (LIMIT: too many cells
 * wait, or this one is too long).
 */
struct cell *kernel_run(struct kernel *k, const struct cell_opts *o,
                        const struct cell_events *ev, void *owner, struct err *e);
/* Returns whether a cell with this id waits or runs, or its output is kept. */
bool kernel_knows(struct kernel *k, const char *id);
/* Pauses (hold) or resumes on_output; output waits in the spool meanwhile. */
void cell_hold(struct cell *c, bool hold);
/* Sends the input that the cell requested, without a newline. */
void cell_answer(struct cell *c, struct str text);
/* Whether the cell has begun. */
bool cell_runs(const struct cell *c);
/* Whether the cell waits for another one, and not only for the start of the kernel. */
bool cell_waits(const struct cell *c);
/* No events follow. A waiting cell never runs; a running one is interrupted. */
void cell_cancel(struct cell *c);
/* ok, error, timeout, died, failed */
const char *cell_end_name(enum cell_end end);
/* No events follow. A waiting cell never runs; a running one goes on. */
void cell_drop(struct cell *c);

/*
 * Interrupts the cell that runs, or that waits for the kernel's start; those that wait
 * run after it. If it goes on all the same, its caller gets CELL_ERROR after some time,
 * and those that wait or come get ERR_BUSY until it ends.
 */
void kernel_interrupt(struct kernel *k);
/*
 * Restarts the kernel: its names are lost, and cells that run or wait end with
 * CELL_DIED.
 */
void kernel_restart(struct kernel *k);

const char *kernel_name(const struct kernel *k);
/* The interpreter of a Python kernel, "" if it is not known. */
const char *kernel_interpreter(const struct kernel *k);
/* {name, kernel, display, language, where, interpreter, embedded, state, silent, pid …}
 */
struct json *kernel_json(const struct kernel *k);
/* {kernels: those that run, specs: those that could, from cwd, notes_on_specs} */
struct json *kernel_overview(struct engine *en, struct str cwd);
/* The members of kernel_overview, for schemas. */
extern const struct member kernel_overview_members[];
/*
 * Returns the one of `specs` with this name, else the first of this language, ignoring
 * case. A kernel of TypeScript runs JavaScript, too, and the other way round. NULL:
 * none.
 */
const struct json *kernel_spec_of(const struct json *specs, struct str language);

#endif
