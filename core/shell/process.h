/* SPDX-License-Identifier: MIT */
/*
 * A plain process beside the sessions: standard input, output and error output
 * apart, any number of readers, its output kept after it has ended.
 *
 * It has ended when it exited and its pipes are at their end, or EXIT_GRACE_MS
 * after the exit when something it left behind holds them open.
 */
#ifndef OD_SHELL_PROCESS_H
#define OD_SHELL_PROCESS_H

#include "engine/engine.h"
#include "shell/op.h"

struct process;

struct process_opts {
    struct str name; /* "": p1, p2, … */
    struct str cwd, user, env;
    char *const *argv;   /* NULL-terminated */
    const char *program; /* NULL: argv[0], looked up in PATH */
    const char *call;    /* id of the request that starts it; NULL: none */
    bool with_stdin;
    bool whole; /* its output is read by us, who say how far: none is given up */
};

/* NULL: e (EXISTS, LIMIT, …). A start that fails later ends it with an error. */
struct process *process_start(struct engine *en, const struct process_opts *o,
                              struct err *e);
struct process *process_find(struct engine *en, struct str name);
/* The one that was started by the call with this id, after a reconnect. */
struct process *process_by_call(struct engine *en, const char *id);
/* Takes one up from its state at the keeper. */
void process_resume(struct engine *en, struct str name, struct str state);

/* A waiter or reader (OP_WAIT, OP_LOGS); the process owns it from here on. */
void process_wait(struct process *p, struct op *take);
size_t process_stdin_room(const struct process *p, uint64_t *accepted);
void process_stdin(struct process *p, uint64_t offset, struct str bytes, bool eof);
/*
 * The same for what the program answers with output, and a state that is kept with it, in
 * one step where that is possible, else before it.
 */
void process_ask(struct process *p, struct str bytes, struct str key, struct str value);
uint64_t process_output(const struct process *p); /* bytes of it so far */
int process_signal(struct process *p, int sig, bool tree, struct err *e);

const struct keep_stream *process_stream(const struct process *p, int i, int *fd);
/* Is it for a full disk that some of its output is gone? */
bool process_disk_full(const struct process *p);
struct engine *process_engine(const struct process *p);
const char *process_name(const struct process *p);
bool process_ended(const struct process *p);
pid_t process_pid(const struct process *p);
struct json *process_json(const struct process *p);
/* Its waiters are answered with CANCELLED: the server ends. */
void process_cancel(struct process *p);
/*
 * How large the spool of one more session or process may be. The keeper shortens those
 * that are full of old output when all of them exceed LIMIT_SPOOL_TOTAL; whole: not this
 * one, so it gets a part of what others of the kind leave.
 */
uint64_t process_spool_room(struct engine *en, bool whole);
/* Bytes of output that are kept, at most. */
uint64_t process_spool_bytes(const struct process *p);
/* The callers that wait changed, or took output: see hold_flow. */
void process_flow(struct process *p);
/* Forgets the ended one that ended first and has no reader. false: none. */
bool process_forget_oldest(struct engine *en);
/* Forgets an ended one and its output. */
void process_free(struct process *p);

#endif
