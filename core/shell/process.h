/* SPDX-License-Identifier: MIT */
/*
 * A plain process, outside of sessions: separate standard input, output and error
 * output, or a terminal; any number of readers, and output that is kept after its end.
 *
 * It has ended when it exited and its output is at its end; or, unless it is `until_eof`,
 * EXIT_GRACE_MS after the exit if a child of it still holds the output open.
 */
#ifndef OD_SHELL_PROCESS_H
#define OD_SHELL_PROCESS_H

#include "engine/engine.h"
#include "shell/op.h"

struct process;

enum { PROCESS_NAME = 40 }; /* bytes of a name, at most */

struct process_opts {
    struct str name; /* "": p1, p2, … */
    struct str cwd, user, env;
    bool env_only;       /* env is all of its environment */
    char *const *argv;   /* NULL-terminated */
    const char *program; /* NULL: argv[0], looked up in PATH */
    const char *call;    /* id of the request that starts it; NULL: none */
    bool with_stdin;
    bool merge;     /* its error output goes into its output */
    bool until_eof; /* it has not ended while a child of it holds its output open */
    int rows, cols; /* not 0: it has a terminal of this size, for all three */
    bool whole; /* the server reads all its output: none of it is overwritten unread */
};

/*
 * Starts a process, owned by en. Returns NULL and sets *e (EXISTS, LIMIT, …); a start
 * that fails later ends the process with an error.
 */
struct process *process_start(struct engine *en, const struct process_opts *o,
                              struct err *e);
struct process *process_find(struct engine *en, struct str name);
/* The process that the call with this id started; NULL: none. */
struct process *process_by_call(struct engine *en, const char *id);
/* Takes up a process from its state at the keeper. */
void process_resume(struct engine *en, struct str name, struct str state);

/* Adds a waiter or reader (OP_WAIT, OP_LOGS), which the process owns from here on. */
void process_wait(struct process *p, struct op *take);
/* Bytes of standard input that fit now; *accepted: those taken since the start. */
size_t process_stdin_room(const struct process *p, uint64_t *accepted);
/* Writes bytes, the first of which is at offset of the input; known ones are skipped. */
void process_stdin(struct process *p, uint64_t offset, struct str bytes, bool eof);
/*
 * Writes the input of the action with this id (not "") once, even if the worker is
 * restarted meanwhile. With eof it then ends the input, on a terminal by its EOF
 * character. Returns -1, sets *e and writes nothing if the process has ended (NOTFOUND),
 * has no input (INVALID), or has no room for all the bytes now (LIMIT).
 */
int process_input(struct process *p, const char *id, struct str bytes, bool eof,
                  struct err *e);
/* Sets the size of its terminal. Returns -1 and sets *e if it has none (INVALID). */
int process_resize(struct process *p, int rows, int cols, struct err *e);
/*
 * Writes bytes that the program answers with output, and stores a state at the keeper:
 * in one step if both fit LIMIT_BLOB_MAX, else the state first.
 */
void process_ask(struct process *p, struct str bytes, struct str key, struct str value);
uint64_t process_output(const struct process *p); /* bytes of output so far */
/*
 * Signals the process group; tree: all descendants. A process that has not started yet
 * gets the signal when it has. Returns -1 and sets *e (NOTFOUND) if it has exited.
 */
int process_signal(struct process *p, int sig, bool tree, struct err *e);
/* Stops being `until_eof`: if it exited, it ends soon. */
void process_let_go(struct process *p);

const struct keep_stream *process_stream(const struct process *p, int i, int *fd);
/* Was output lost because the disk is full? */
bool process_disk_full(const struct process *p);
struct engine *process_engine(const struct process *p);
const char *process_name(const struct process *p);
bool process_ended(const struct process *p);
pid_t process_pid(const struct process *p);
/* When it was started, in milliseconds since 1970. */
int64_t process_since(const struct process *p);
bool process_has_tty(const struct process *p);
/* The other side of its terminal, borrowed; -1: it has none, or no longer. */
int process_terminal(const struct process *p);
struct json *process_json(const struct process *p);
/* The server ends: answers all waiters with CANCELLED. */
void process_cancel(struct process *p);
/*
 * How large the spool of one more session or process may be, in bytes. When all spools
 * exceed LIMIT_SPOOL_TOTAL, the keeper shortens those that are full of old output. It
 * never shortens those of `whole` processes, so these share the total.
 */
uint64_t process_spool_room(struct engine *en, bool whole);
/* Bytes of output that are kept, at most. */
uint64_t process_spool_bytes(const struct process *p);
/* The times of its output (times_next); borrowed, -1: none are kept. */
int process_times(const struct process *p);
/* To be called when a waiting caller comes, leaves or takes output: see
 * keeper_client_flow. */
void process_flow(struct process *p);
/* Forgets the process that ended first and has no reader. false: there is none. */
bool process_forget_oldest(struct engine *en);
/* Forgets an ended process and its output. */
void process_free(struct process *p);

#endif
