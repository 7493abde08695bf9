/* SPDX-License-Identifier: MIT */
/*
 * A session: a named shell on a terminal of its own; its state outlives the worker.
 *
 *   NONE ──start──▶ STARTING ──I──▶ IDLE ──typed──▶ TYPED ──S──▶ RUNNING
 *    ▲                 │              ▲                            │ E or P
 *    └── shell exited ◄┴──────────────┴────────────────────────────┘
 *   IDLE ──H──▶ HUMAN ──P──▶ IDLE     an attached person typed a command
 *
 * S, E, P, I and H are the marks of shell.h, found in the spool. Everything a
 * new worker needs is in the keeper: the terminal, the spool, the shell, and
 * one state that is stored in the same step as the command is typed. So a
 * worker can die at any instant: the next one searches the spool from the
 * offset in that state on and finds the same marks.
 */
#ifndef OD_SHELL_SESSION_H
#define OD_SHELL_SESSION_H

#include "engine/engine.h"
#include "shell/op.h"
#include "shell/shell.h"

enum session_state {
    SESSION_NONE,
    SESSION_STARTING,
    SESSION_IDLE,
    SESSION_TYPED,
    SESSION_RUNNING,
    SESSION_HUMAN
};

/* What a session is made with; ignored if the session exists and ever had a shell. */
struct session_opts {
    struct str cwd, user, shell;
    struct str env; /* NAME=VALUE, each ending in NUL */
    int rows, cols; /* 0: 50 × 200 */
    /*
     * All commands get the same environment: OD_OP has the session only, without the
     * command. A call from inside of the session then counts as its running command's.
     */
    bool same_env;
};

struct session;

/* Finds a session by name; NULL: there is none. The engine owns sessions. */
struct session *session_find(struct engine *en, struct str name);
/* Finds it or makes it. Returns NULL and sets *e for a bad name, or at a limit. */
struct session *session_get(struct engine *en, struct str name,
                            const struct session_opts *o, struct err *e);
/* Takes up a session of the previous worker from its state at the keeper. */
void session_resume(struct engine *en, struct str name, struct str state);
/*
 * Reads what the shell has written until now, at most a spool: the stored state may be
 * older than the end of the last command. Called before anything acts on the session.
 */
void session_catch_up(struct session *s);

/*
 * Takes ownership of an op, also on failure: runs its command now, queues it, or lets it
 * wait for the running command of the same id. Errors go to its sink.
 */
void session_run(struct session *s, struct op *take);
void session_wait(struct session *s, struct op *take);

/*
 * Input for the running command. Keys and text go through the terminal. ERR_NOTFOUND if
 * nothing runs; ERR_LIMIT for a line over 4,095 bytes while the terminal is canonical
 * and would cut it. Nothing is written on failure.
 */
int session_input(struct session *s, struct str bytes, struct err *e);
/* A key by its name, "C-c", "Up" (termkey.h). Returns -1 and INVALID if it has none. */
int session_key(struct session *s, struct str key, struct err *e);
/* As tmux send-keys: presses the key of that name, else types the characters. */
int session_press(struct session *s, struct str key, struct err *e);
int session_eof(struct session *s, struct err *e);
/*
 * Gives the next input, key or end of file the caller's `id`, which is stored in the
 * same step as the input is typed.
 */
void session_input_as(struct session *s, const char *id);
/*
 * Returns the newest such id that begins with prefix, also of an earlier worker; NULL if
 * it is not among the last INPUTS_KEPT.
 */
const char *session_input_call(const struct session *s, struct str prefix);
/* Standard input of the running command that asked for it (op.with_stdin). */
size_t session_stdin_room(struct session *s, const char *id, uint64_t *accepted);
void session_stdin(struct session *s, uint64_t offset, struct str bytes, bool eof);
int session_resize(struct session *s, int rows, int cols, struct err *e);
/*
 * Signals the foreground job, if command seq runs (0: any command). ERR_NOTFOUND: it does
 * not run. Before a command has begun INT waits for it, and other signals are ERR_BUSY.
 * ERR_BUSY also: the shell itself is in the foreground, in a builtin or about to start a
 * program, and ignores the signal, as interactive shells do TERM and QUIT.
 */
int session_signal(struct session *s, int sig, uint64_t seq, struct err *e);

/*
 * Signals all processes of the running command, once, in whatever group they are. The
 * errors are the same. An INT that comes before the command has begun goes to its
 * foreground job. A shell that is itself in a loop or a list gets INT. Jobs of earlier
 * commands get no signal.
 */
int session_signal_tree(struct session *s, int sig, struct err *e);

struct session_killed {
    int found;    /* processes that were signalled at first */
    bool no_proc; /* there is no /proc: only the session and its groups were signalled */
    bool late;    /* the reaper did not answer in time: it may signal them still */
    bool ended;   /* no shell is there now */
};
typedef void session_killed_fn(void *arg, const struct session_killed *r);
/*
 * Ends the running command: sig to its whole process tree, KILL after grace_ms to what is
 * left of it. Then the rest of the shell's loop or list is interrupted. Jobs of earlier
 * commands live on; if no command runs, these jobs are ended. The shell itself is ended
 * if it still does not come back to its prompt, or if `end` is set; then all that it
 * started is ended, too, and with `end` the session is forgotten. A command that has not
 * begun ends without having run. fn (or NULL) is called once, at the latest after the
 * last round, even if some process has not ended. Each round waits for the reaper.
 */
void session_kill(struct session *s, int sig, int64_t grace_ms, bool end,
                  session_killed_fn *fn, void *arg);

/* Attaches a person, who sees and types. viewer is an OP_VIEW; s owns it from here on. */
void session_attach(struct session *s, struct op *viewer);
void session_detach(struct session *s, struct op *viewer);
bool session_type(struct session *s, struct str bytes); /* false: no room now */
/*
 * Shows a person all output from watcher->cursor on, and changes nothing: the agent's
 * commands and their terminal stay as they are. watcher is an OP_VIEW, taken over by s;
 * it gets NOTE_STATE, and ends by op_drop or with the session.
 */
void session_observe(struct session *s, struct op *watcher);
/* The size of its terminal. */
void session_size(const struct session *s, int *rows, int *cols);

/*
 * Every command of every session, for one watcher: commands of callers, of people's
 * scripts and of the server itself, but not what an attached person types.
 */
struct command_seen {
    struct session *session; /* borrowed */
    const char *id;          /* of the op that asked for it; "": it had none; borrowed */
    uint64_t seq;
    bool began;        /* its shell ran it: from is the offset of its output */
    uint64_t from, to; /* at its end; else to is from */
    bool ended;
    /* At its end: */
    int exit, signo; /* as in struct op_result */
    bool shell_ended;
    int64_t duration_ms;
    const struct err *failed; /* it never ran, for this reason; NULL: it ran */
};

struct session_watch {
    /* The command runs. Not called if its beginning was missed. */
    void (*began)(void *arg, const struct command_seen *c);
    /*
     * The command is over: called once for each command that was given to a shell, after
     * its callers were answered. A worker that takes over may repeat the call of the
     * previous worker, with the same values.
     */
    void (*ended)(void *arg, const struct command_seen *c);
    void *arg;
};

/* Sets the watcher, which must live as long as the engine; before engine_resume. */
void session_watch(struct engine *en, const struct session_watch *w);
/*
 * Finds the command with this id: it runs, is about to run, or is one of the last 16 that
 * ended, also under an earlier worker. Returns false if there is none.
 */
bool session_command(struct session *s, const char *id, struct command_seen *out);
/* Does an op with this id wait for its turn? */
bool session_queued(struct session *s, const char *id);
/*
 * Does the terminal echo input now? Programs that ask for a password switch the echo off,
 * and so does a session for all its commands while nobody is attached.
 */
bool session_echoes(const struct session *s);
/*
 * Does the running program hide what is typed? The echo is off for all programs, so this
 * finds those that switch off more, such as bash's read -s and getpass(3), and those
 * whose last line of output asks for a password.
 */
bool session_hides(const struct session *s);
/* Whether bash's option extglob was on at the end of the last command. */
bool session_extglob(const struct session *s);

/* Returns whether it never had a shell, and is unused: it was made with bad options. */
bool session_never_was(const struct session *s);
/*
 * The last look at the command (does it wait for input?). Returns false if there was none
 * since its last output or input.
 */
bool session_looked(const struct session *s, struct look *out);
/* Time since the command's last output or input; 0 if nothing runs. */
int64_t session_quiet_ms(const struct session *s);
/* For lists: name, state, shell, cwd, command, since, … */
struct json *session_json(const struct session *s);
const char *session_name(const struct session *s);
struct engine *session_engine(const struct session *s);
const char *session_cwd(const struct session *s);
/* PATH when the last command ended, or else when the shell was started; "": unknown. */
const char *session_path(const struct session *s);
/* The process of its shell; 0: none runs. */
pid_t session_pid(const struct session *s);
/* The fence refused something to a program of it: tells who waits for a command. */
void session_refused(struct session *s, const char *sentence);
/* $! when the last command ended; 0: none. */
pid_t session_last_background(const struct session *s);
/*
 * The id of the newest command whose id begins with prefix, running or among the kept
 * answers; NULL: none. Borrowed until the next command.
 */
const char *session_call(const struct session *s, struct str prefix);
/* Did the last command end without a report to any caller? */
bool session_untold(const struct session *s);
/* Would waiting for this session make the command `parent` (an OD_OP) wait for itself? */
bool session_in_chain(const struct session *s, const char *parent);
/* Is a command typed or running, so that the next one must wait? */
bool session_busy(const struct session *s);
/*
 * Returns the id of the command that keeps the session busy, also between its end and the
 * prompt; NULL: none, or it has no id. Borrowed until the next command.
 */
const char *session_now(const struct session *s);
/* Does the command that was run with this id still run? */
bool session_running(const struct session *s, const char *id);
uid_t session_uid(const struct session *s);
void session_free(struct session *s);
/* The server ends: answers every waiter with CANCELLED. */
void session_cancel(struct session *s);
/* Bytes of output that are kept, at most. */
uint64_t session_spool_bytes(const struct session *s);
/* The times of its output (times_next); borrowed, -1: none are kept. */
int session_times(const struct session *s);
/* To be called when a waiting caller comes, leaves or takes output: see
 * keeper_client_flow. */
void session_flow(struct session *s);

/* What op.c delivers from. */
struct session_view {
    const struct keep_stream *stream;
    int fd;
    uint64_t scanned; /* searched for marks up to here */
    uint64_t view;    /* attached people see up to here: never half of a line of ours */
    uint64_t command; /* the command's output ends here, at the latest */
    const struct shell *shell;
    bool disk_full; /* missing output was lost because the disk is full */
};
void session_view(const struct session *s, struct session_view *v);
/*
 * Is the byte at `at` output that the terminal did not translate, so that a person's
 * terminal needs a carriage return before each newline? *next: where that changes.
 */
bool session_bare(const struct session *s, uint64_t at, uint64_t *next);
/*
 * The end of the noise (what the shell prints between commands) that contains `at`; 0:
 * none, and *next is the beginning of the next one (UINT64_MAX: none).
 */
uint64_t session_skip(const struct session *s, uint64_t at, uint64_t *next);

#endif
