/* SPDX-License-Identifier: MIT */
/*
 * The front-end `interpreter`: the protocol of E2B's code interpreter, which the clients
 * @e2b/code-interpreter (npm) and e2b-code-interpreter (Python) speak. README.md has what
 * is served. It answers at --listen interpreter@ADDRESS only, and serves the routes of
 * the front-end e2b there, too, for a client that has one address for both.
 *
 *   front.c     life, routes, credentials, refusals
 *   context.c   contexts: records of kernels, kept at the keeper
 *   manage.c    the routes below /contexts
 *   execute.c   POST /execute: a cell, and its output as lines
 *   line.c      messages of a kernel as these lines
 *   code.c      code that prepares a kernel or a cell; python/ has Python's
 */
#ifndef OD_FRONT_INTERPRETER_OWN_H
#define OD_FRONT_INTERPRETER_OWN_H

#include "action/action.h"
#include "action/cell.h"
#include "engine/state.h"
#include "front/front.h"
#include "kernel/kernel.h"

#include <limits.h>

enum {
    CONTEXT_ID = 36,     /* bytes of an id: a UUID */
    LANGUAGE_MAX = 64,   /* bytes of a language or of a kernelspec's name */
    KEEPALIVE_MS = 5000, /* after the last line of a running cell */
    ENV_MAX = 256 << 10, /* bytes of the variables of one execution as JSON */
    BODY_MAX = LIMIT_EVENT_MAX
};

struct e2b;
struct interpreter;

/*
 * A kernel with its id. The kernel starts with the first cell of the context; after it
 * has ended, with the next cell.
 */
struct context {
    struct list node; /* in interpreter.contexts, the oldest first */
    struct interpreter *f;
    char id[CONTEXT_ID + 1];
    char language[LANGUAGE_MAX + 1]; /* as the client wrote it, normalised */
    char spec[LANGUAGE_MAX + 1];     /* the kernelspec; "": a session of bash */
    char code[LANGUAGE_MAX + 1];     /* the language of its code, from the kernelspec */
    char cwd[PATH_MAX];
    unsigned shells; /* of a session: number of restarts */
    int64_t count;   /* of a session: executions in this shell */
    bool standing;   /* the default context of its language */
};

struct interpreter {
    struct engine *en; /* borrowed, as are the next two */
    struct actions *actions;
    struct access *access; /* borrowed */
    struct e2b *e2b;   /* for its tables, variables and directory; NULL: it is not open */
    struct http_front front;
    struct list contexts; /* owned */
    struct list runs;     /* struct execution of execute.c, owned */
    bool stood;           /* the first contexts were made */
    struct action_watch watch;
};

/* A request to /execute until its last line was sent. */
struct execution {
    struct list node; /* in interpreter.runs */
    struct interpreter *f;
    struct req *r; /* borrowed */
    char context[CONTEXT_ID + 1];
    uint64_t id; /* of the action; 0: not begun yet */
    struct cell_follower follower;
    struct buf out; /* owned: lines that were not sent yet */
    struct timer keepalive;
    bool counted, failed, restarting, held;
    bool ended; /* the last line is in out */
    /* For a session (shell.c): */
    struct op *op;   /* owned by the session; NULL: no output is read */
    struct buf raw;  /* owned: output that may end in half a character */
    uint64_t at;     /* the output before this offset was read */
    bool over;       /* the action has ended; exit is its status */
    bool shell_over; /* the shell has ended, too */
    int exit;
};

/* ---- front.c ---- */

/* Answers with the text as it is. */
void interpreter_fail(struct req *r, int status, const char *text);
/* Answers 404: there is no context of this id. */
void interpreter_unknown(struct req *r, struct str id);

/* ---- context.c ---- */

/* Stores all contexts. Returns -1 if they are too long for a state. */
int contexts_save(struct interpreter *f);
/* Reads the contexts of the previous worker. */
void contexts_load(struct interpreter *f);
/* Makes the contexts that exist from the beginning, once. */
void contexts_stand(struct interpreter *f);
/* Returns the context with this id; NULL if there is none. */
struct context *context_find(const struct interpreter *f, struct str id);
/*
 * Normalises a language: lower case, without blanks around it, long names for short ones.
 */
void context_language(char out[LANGUAGE_MAX + 1], struct str given);
/*
 * Makes a record; cwd empty: the default. Returns NULL and sets *e: NOTFOUND if no kernel
 * of the image runs the language, INVALID if the directory cannot be entered, LIMIT.
 */
struct context *context_make(struct interpreter *f, const char *language, struct str cwd,
                             bool standing, struct err *e);
/*
 * Returns the default context of a language, made if needed. Errors as in context_make.
 */
struct context *context_of(struct interpreter *f, const char *language, struct err *e);
/* Does an action of this kind on the kernel of c. Returns -1 and sets *e. */
int context_act(struct context *c, const struct action_kind *kind, struct err *e);
/* Removes the record, and closes the kernel by an action. */
void context_remove(struct context *c);
/* Appends {"id", "language", "cwd"}. */
void context_print(struct buf *out, const struct context *c);

/* ---- code.c ---- */

/* Appends the code that a kernel of this language runs when it starts; maybe nothing. */
void code_init(struct buf *out, const char *language);
/*
 * Append code, for a silent cell, that sets variables, or that resets them. env: an
 * object of strings. Return false if the language has no such code.
 */
bool code_set(struct buf *out, const char *language, const struct json *env);
bool code_unset(struct buf *out, const char *language, const struct json *env);
/* Whether a variable may have this name. */
bool code_is_name(const char *language, const char *name);
/* Appends the first command of a shell: its directory and variables. */
void code_shell(struct buf *out, const char *cwd, const struct json *env);

/* ---- execute.c ---- */

void interpreter_execute(struct req *r);
/* Sends lines while there is room. May free x. */
void execution_flush(struct execution *x);
/* Adds the line with the count, only once. */
void execution_begun(struct execution *x, int64_t count);
/* Adds an error that the kernel has not reported, unless the execution has one
 * already. */
void execution_error(struct execution *x, const char *name, struct str value);
/* Adds the last line. May free x. */
void execution_end(struct execution *x);
/* Returns the execution of this action; NULL if there is none. */
struct execution *execution_by_action(const struct interpreter *f, uint64_t id);
/* Ends the context's executions with the error that its kernel was restarted. */
void runs_restarting(struct interpreter *f, const struct context *c);
/*
 * Starts the action `cell` with this code in the kernel of c, which is started if needed.
 * follower: may be NULL; owned by the caller. Returns the action's id; 0 and sets *e if
 * the log has no room: then the follower is not called.
 */
uint64_t run_cell(struct context *c, struct str code, bool silent,
                  struct cell_follower *follower, struct err *e);

/* ---- shell.c ---- */

enum { SHELL_PIECE = 64 << 10 };

/* The same as run_cell, in the session of a context of bash. */
uint64_t shell_run(struct context *c, struct str code, bool silent,
                   struct cell_follower *follower, struct err *e);
/* The command of an execution runs: begins to read its output. */
void shell_started(struct execution *x, const struct action *a);
/* The action has ended: calls execution_end, now or after reading the rest of its
 * output. */
void shell_ended(struct execution *x, const struct action_result *result);
void shell_pump(struct execution *x);  /* called when there is room for lines */
void shell_leave(struct execution *x); /* stops reading; idempotent */
/* Ends the shell of c by an action; the next execution starts another one. */
void shell_restart(struct context *c);

/* ---- manage.c ---- */

void contexts_list(struct req *r);
void contexts_create(struct req *r);
void contexts_restart(struct req *r);
void contexts_delete(struct req *r);

/* ---- line.c ---- */

/*
 * Appends the line for a message, in ASCII, with a newline; nothing if the protocol has
 * no such line. Returns -1 if the buffer is full; it is then unchanged.
 */
int line_message(struct buf *out, struct str type, const struct json *content);
int line_count(struct buf *out, int64_t count);
int line_note(struct buf *out, const char *text); /* on stderr, in brackets */
int line_error(struct buf *out, const char *name, struct str value);
int line_type(struct buf *out, const char *type); /* {"type": …} */

#endif
