/* SPDX-License-Identifier: MIT */
/*
 * A session: a named shell that remembers everything, on a terminal of its own.
 *
 *   NONE ──start──▶ STARTING ──I──▶ IDLE ──typed──▶ TYPED ──S──▶ RUNNING
 *    ▲                 │              ▲                            │ E or P
 *    └── shell exited ◄┴──────────────┴────────────────────────────┘
 *   IDLE ──H──▶ HUMAN ──P──▶ IDLE     somebody attached typed a command
 *
 * S, E, P, I and H are the marks of shell.h, found in the spool. Everything a
 * new worker needs is in the keeper: the terminal, the spool, the shell, and
 * one state that is stored in the same step as the command is typed. So a
 * worker can die at any instant; the next one searches the spool from the
 * offset in that line on and arrives at the same place.
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

/* What a session is made with; ignored when it is there already, and ever began. */
struct session_opts {
    struct str cwd, user, shell;
    struct str env; /* NAME=VALUE, each ending in NUL */
    int rows, cols; /* 0: 50 × 200 */
    /*
     * Commands find the same environment each time: OD_OP says the session only.
     * Then whoever calls the session from inside of it counts as its command.
     */
    bool same_env;
};

struct session;

/* By name; NULL: there is none. */
struct session *session_find(struct engine *en, struct str name);
/* By name, made when there is none. NULL: a bad name, or a limit. */
struct session *session_get(struct engine *en, struct str name,
                            const struct session_opts *o, struct err *e);
/* Takes up a session of the worker before from its state at the keeper. */
void session_resume(struct engine *en, struct str name, struct str state);
/*
 * Reads what the shell had written until now, before anybody acts on the session: its
 * state may be of a time when the last command still ran. At most a spool is read.
 */
void session_catch_up(struct session *s);
/* Appends the version of such a state, and its size. */
void session_format(struct buf *out);

/*
 * Hands an op over: it runs now, or is queued, or attaches to the command with
 * its id; its sink hears of everything else. The op is the session's from here
 * on, whatever happens.
 */
void session_run(struct session *s, struct op *take);
void session_wait(struct session *s, struct op *take);

/*
 * Input for what runs. Keys and text go through the terminal; ERR_NOTFOUND when
 * nothing runs, ERR_LIMIT for a line that a canonical reader would not get
 * whole (4,095 bytes), named before anything is written.
 */
int session_input(struct session *s, struct str bytes, struct err *e);
/* A key by its name, "C-c", "Up" (termkey.h). Returns -1 and INVALID if it has none. */
int session_key(struct session *s, struct str key, struct err *e);
/* As tmux send-keys: the key of that name, else the characters as they are. */
int session_press(struct session *s, struct str key, struct err *e);
int session_eof(struct session *s, struct err *e);
/*
 * The input, key or end of file that follows is the caller's `id`, which is kept
 * in the same step as it is typed. The id of the newest such input that begins
 * with prefix, also of a worker before; NULL: none of the last INPUTS_KEPT.
 */
void session_input_as(struct session *s, const char *id);
const char *session_input_call(const struct session *s, struct str prefix);
/* Standard input of the running command that asked for it (op.with_stdin). */
size_t session_stdin_room(struct session *s, const char *id, uint64_t *accepted);
void session_stdin(struct session *s, uint64_t offset, struct str bytes, bool eof);
int session_resize(struct session *s, int rows, int cols, struct err *e);
/*
 * To the foreground job; seq: only of that command, 0: whichever runs. ERR_BUSY: the
 * shell itself is in the foreground, in a builtin or about to start something, and
 * ignores that signal, as interactive shells do TERM and QUIT.
 */
int session_signal(struct session *s, int sig, uint64_t seq, struct err *e);

/*
 * The same to all processes of the command, once, wherever they are; and to a shell that
 * itself is in a loop or a list, INT. Jobs of commands before it do not get it.
 */
int session_signal_tree(struct session *s, int sig, struct err *e);

typedef void session_killed_fn(void *arg, int found, bool no_proc, bool ended);
/*
 * Ends what runs: sig to the whole tree of the command, KILL after grace_ms to what
 * is left of it. Jobs of commands before it live on; when no command runs they are
 * what is ended. What the shell goes on with after that (the next turn of a loop,
 * the rest of a list) is interrupted. The shell itself is ended when it does not
 * come back all the same, or when `end` asks for it, and then with all that it
 * started. With end, the session is forgotten. fn, unless it is
 * NULL, is called once when it is over: never later than the rounds take, whatever does
 * not end.
 */
void session_kill(struct session *s, int sig, int64_t grace_ms, bool end,
                  session_killed_fn *fn, void *arg);
void session_kill_cancel(struct session *s, void *arg);

/* Somebody looks and types: keys go in as they are. */
void session_attach(struct session *s, struct op *viewer);
void session_detach(struct session *s, struct op *viewer);
bool session_type(struct session *s, struct str bytes); /* false: no room now */

/*
 * Every command of every session, for one watcher: commands of callers, of people's
 * scripts and of the server itself, but not what somebody attached types.
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
    /* It runs. Not called for one whose beginning was missed. */
    void (*began)(void *arg, const struct command_seen *c);
    /*
     * It is over: once for each command that was given to a shell, after its callers
     * were answered. A worker that takes over may call it for an end that the worker
     * before called it for; both say the same.
     */
    void (*ended)(void *arg, const struct command_seen *c);
    void *arg;
};

/* Sets the watcher, borrowed as long as the engine is there; before engine_resume. */
void session_watch(struct engine *en, const struct session_watch *w);
/*
 * The command with this id, which runs or is about to, or is one of the last 16 that
 * ended, also in a worker before. Returns false if there is none.
 */
bool session_command(struct session *s, const char *id, struct command_seen *out);
/* Does an op with this id wait for its turn? */
bool session_queued(struct session *s, const char *id);
/*
 * Does the terminal show what is typed now? Programs that ask for a password switch that
 * off. So does a session while nobody is attached, for all its commands.
 */
bool session_echoes(const struct session *s);
/*
 * Does the program that runs hide what is typed? Known of those that switch more off
 * than the echo, which is off for them all: as bash's read -s and getpass(3) do.
 */
bool session_hides(const struct session *s);

/*
 * What was seen of the command since its last output or input: does it wait? Returns
 * false if nobody has looked.
 */
bool session_looked(const struct session *s, struct look *out);
/* Since its last output or input; 0 if nothing runs. */
int64_t session_quiet_ms(const struct session *s);
/* For lists: name, state, shell, cwd, command, since, … */
struct json *session_json(const struct session *s);
const char *session_name(const struct session *s);
struct engine *session_engine(const struct session *s);
const char *session_cwd(const struct session *s);
/* PATH at the last end; before the first, that of its environment; "": unknown. */
const char *session_path(const struct session *s);
/* $! at the last end; 0: none. */
pid_t session_last_background(const struct session *s);
/*
 * The id of the newest command, running or among the answers that are kept,
 * whose id begins with prefix; NULL: none. Borrowed until the next command.
 */
const char *session_call(const struct session *s, struct str prefix);
/* The last command has ended, and nobody was told so yet. */
bool session_untold(const struct session *s);
/* Would waiting for this session make the command `parent` (an OD_OP) wait for itself? */
bool session_in_chain(const struct session *s, const char *parent);
/* Does something run, so that the next command must wait? */
bool session_busy(const struct session *s);
/* Does the command that was run with this id still run? */
bool session_running(const struct session *s, const char *id);
uid_t session_uid(const struct session *s);
void session_free(struct session *s);
/* Everybody who waits is answered with CANCELLED: the server ends. */
void session_cancel(struct session *s);
/* Bytes of output that are kept, at most. */
uint64_t session_spool_bytes(const struct session *s);
/* The callers that wait changed, or took output: see hold_flow. */
void session_flow(struct session *s);

/* What op.c delivers from. */
struct session_view {
    const struct keep_stream *stream;
    int fd;
    uint64_t scanned; /* searched for marks up to here */
    uint64_t view;    /* who is attached sees up to here: not half of a line of ours */
    uint64_t command; /* what the command wrote ends here, at the latest */
    const struct shell *shell;
    bool disk_full; /* why output that is not there is gone */
};
void session_view(const struct session *s, struct session_view *v);
/*
 * Is what was written at `at` the output of a command of ours, which nobody
 * translated: do its newlines want a return for a terminal? *next: until where.
 */
bool session_bare(const struct session *s, uint64_t at, uint64_t *next);
/* The end of the noise that begins at or before `at`; 0: there is none. */
uint64_t session_skip(const struct session *s, uint64_t at, uint64_t *next);

#endif
