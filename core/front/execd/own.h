/* SPDX-License-Identifier: MIT */
/*
 * OpenSandbox's daemon execd (https://github.com/alibaba/OpenSandbox, components/execd),
 * as its server and its clients expect it, at listeners of its own (--listen
 * execd@ADDRESS).
 *
 *   front.c    the front-end: options, routes, refusals
 *   answer.c   answers, paths and times in execd's form
 *   stream.c   the event stream of a running program
 *   command.c  /command, and commands by /code
 *   context.c  /code/contexts: kernels, and shells of bash
 *   code.c     /code: a cell, or a command of such a shell
 *   session.c  /session
 *   files.c    /files, /directories
 *   act.c      actions one after the other, for a request
 *   pty.c      /pty, and its WebSocket
 *   metrics.c  /metrics
 *   proxy.c    /proxy
 *   program.c  the program execd, by argv[0]
 */
#ifndef OD_FRONT_EXECD_OWN_H
#define OD_FRONT_EXECD_OWN_H

#include "action/process.h"
#include "engine/state.h"
#include "front/front.h"
#include "front/reverse_proxy/reverse_proxy.h"
#include "front/program.h"
#include "shell/op.h"
#include "shell/process.h"

#define EXECD_SOURCE ACTION_SOURCE_EXECD

enum {
    EXECD_COMMANDS_MAX = 1024, /* kept commands; the oldest ended one is removed */
    EXECD_SESSIONS_MAX = 256,
    EXECD_PTYS_MAX = 64,
    EXECD_CONTEXTS_MAX = 64,
    EXECD_LANGUAGE_MAX = 64, /* bytes of a language or of a kernelspec's name */
    EXECD_ID = 32,           /* hex digits of a command's id */
    EXECD_UUID = 36,
    EXECD_TEXT_MAX = 1 << 20
};

struct execd {
    struct http_front front;
    struct engine *en;
    char *envs;           /* owned: EXECD_ENVS, "": none */
    struct list commands; /* struct execd_command */
    unsigned ncommands;
    struct list sessions, ptys, streams;
    unsigned nsessions, nptys;
    struct list contexts, codes;
    unsigned ncontexts;
    struct action_watch watch; /* of codes */
    struct reverse_proxy reverse_proxy;
};

/* ---- answer.c ---- */

/* Answers {"code","message"} with this status. code: one of execd's; NULL: left out. */
void execd_say(struct req *r, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void execd_fail(struct req *r, int status, const char *text);
/* Answers 200 without a body, with Content-Length: 0, which clients check. */
void execd_ok(struct req *r);
void execd_json(struct req *r, int status, struct json *take);
/*
 * Returns the body, an array or an object; NULL if the request was refused. empty: no
 * body counts as {}.
 */
struct json *execd_body(struct req *r, bool array, bool empty);
/*
 * Checks the types of a body's members; absent and null ones are right. types: words of a
 * letter and a name, "s:cwd": s is a string, b a bool, i an integer, u an unsigned one of
 * 32 bits, m an object of strings. Returns false after refusing the request.
 */
bool execd_typed(struct req *r, const struct json *body, const char *types);
/*
 * Appends the absolute path that execd would use: variables and ~ are expanded. envs:
 * variables of the request, which have priority; NULL: none. Returns -1 and sets *e if a
 * variable is not defined.
 */
int execd_path(const struct execd *f, const struct json *envs, struct str text,
               struct buf *out, struct err *e);
/* Appends text with $NAME and ${NAME} expanded; undefined variables are "". */
void execd_expand(const struct execd *f, struct str text, struct buf *out);
/*
 * Cuts the next value of a parameter off a query, decoded. Returns false at the query's
 * end.
 */
bool execd_query_next(struct str *query, const char *name, struct buf *value);
/* Appends "2026-11-23T03:50:00.123456Z" with quotes. */
void execd_put_time(struct buf *out, double seconds);
/* Appends s as a JSON string that no client's line splitter cuts. */
void execd_quote(struct buf *out, struct str s);
/* Appends j in the same way. Returns -1, and appends nothing, if it does not fit. */
int execd_put_json(struct buf *out, const struct json *j);
/* Writes a random UUID. */
void execd_uuid(char out[EXECD_UUID + 1]);
/* Returns bash if PATH has it, else sh, as a path or a name. space: room for the path. */
const char *execd_shell(const struct execd *f, char space[4096], bool *is_bash);
/* Writes Go's text for the end of a program: "exit status 3", "signal: killed". */
void execd_end_text(int exit, int signo, char out[48]);

/* ---- stream.c ---- */

struct execd_stream;
struct execd_stream_opts {
    const char *id;     /* of the event init */
    int64_t timeout_ms; /* of the program, for the text of its end */
    bool state;         /* its error output is not sent, but passed to `over` */
    /* Called when the program has ended or was not started. state: its error output. May
     * be NULL. */
    void (*over)(void *owner, const struct op_result *r, struct str state);
    /* Called when the client has disconnected before the end. May be NULL. */
    void (*gone)(void *owner);
    /* For a cell: called when all waiting events were sent. */
    void (*room)(void *owner);
    void *owner;
};
/* Begins the stream of r with init and ping. Never NULL; it ends by itself. */
struct execd_stream *execd_stream_open(struct execd *f, struct req *r,
                                       const struct execd_stream_opts *o);
/* Sends all output of p, and then how it ended. */
void execd_stream_follow(struct execd_stream *s, struct process *p);
/* Sends execution_complete and ends the stream. ms: how long it took; 0: left out. */
void execd_stream_complete(struct execd_stream *s, int64_t ms);
/* Sends an error event and ends the stream. */
void execd_stream_error(struct execd_stream *s, const char *name, const char *value,
                        const char *trace, const char *more);

/*
 * For a cell, instead of execd_stream_follow: send its text as it is, its result, its
 * exception.
 */
void execd_stream_say(struct execd_stream *s, const char *type, struct str text);
void execd_stream_result(struct execd_stream *s, int64_t count, const struct json *data);
void execd_stream_raised(struct execd_stream *s, struct str name, struct str value,
                         const struct json *traceback);
/* Whether some events are not sent yet. */
bool execd_stream_waits(const struct execd_stream *s);

/* ---- command.c ---- */

struct execd_command {
    struct list node;
    struct execd *f;
    char id[EXECD_ID + 1];
    char *content; /* owned */
    bool background, running, has_exit;
    int exit, signo;
    char error[160]; /* "": none */
    int64_t started_ms, finished_ms, timeout_ms;
    char process[48];
    struct process_call call;
    struct op *op;               /* waits for the end of the process; borrowed */
    struct execd_stream *stream; /* until the process is started; borrowed */
    struct timer kill;
    struct list enders; /* requests that wait for the end */
};

void execd_post_command(struct req *r);
/* Runs code that is a command. Returns false if it has another language or a context. */
bool execd_run_code(struct req *r, struct str code, struct str language, struct str id);
void execd_delete_command(struct req *r); /* and /code */
void execd_get_status(struct req *r);
void execd_get_logs(struct req *r);
void execd_commands_load(struct execd *f);
void execd_commands_start(struct execd *f);

/* ---- context.c ---- */

struct execd_context {
    struct list node; /* in execd.contexts */
    struct execd *f;
    char id[EXECD_UUID + 1];
    char language[EXECD_LANGUAGE_MAX + 1];
    char spec[EXECD_LANGUAGE_MAX + 1]; /* the kernelspec; "": a session of bash */
    char *cwd;                         /* owned */
    bool standing; /* it is used for requests that name only the language */
};

struct execd_context *execd_context_find(const struct execd *f, struct str id);
/* Returns the standing context of a language, made if needed; NULL and sets *e. */
struct execd_context *execd_context_of(struct execd *f, struct str language,
                                       struct err *e);
/* Interrupts a context's cell, by an action. Returns false if no context has this id. */
bool execd_context_interrupt(struct execd *f, struct str id);
void execd_post_context(struct req *r);
void execd_get_contexts(struct req *r);
void execd_delete_contexts(struct req *r);
void execd_get_context(struct req *r);
void execd_delete_context(struct req *r);
void execd_contexts_load(struct execd *f);

/* ---- code.c ---- */

void execd_codes_init(struct execd *f);
void execd_post_code(struct req *r);

/* ---- session.c ---- */

void execd_post_session(struct req *r);
void execd_post_run(struct req *r);
void execd_delete_session(struct req *r);
/* Answers {"session_id": id}. */
void execd_say_session(struct req *r, const char *id, int status);
/* The same after making the folder dir, if it is missing. */
void execd_make_folder(struct req *r, struct str dir, const char *id, int status);
/* Closes the session of this id. Returns false if there is no such session. */
bool execd_session_close(struct execd *f, struct str id);
void execd_sessions_load(struct execd *f);

/* ---- act.c ---- */

/*
 * Does actions one after the other. take_steps: [{"action","args","missing"}]; missing:
 * NOTFOUND is not an error. Calls done, which answers r, with an array of their results,
 * or with e and the number of the failed step.
 */
typedef void execd_acted(struct req *r, const struct json *results, const struct err *e,
                         int failed, void *arg);
void execd_act(struct req *r, struct json *take_steps, execd_acted *done, void *arg,
               void (*free_arg)(void *arg));
/* Adds a step. */
struct json *execd_step(struct json *steps, const char *action);

/* ---- files.c ---- */

void execd_get_info(struct req *r);
void execd_delete_files(struct req *r);
void execd_post_mv(struct req *r);
void execd_post_permissions(struct req *r);
void execd_get_search(struct req *r);
void execd_post_replace(struct req *r);
void execd_post_upload(struct req *r);
void execd_get_download(struct req *r);
void execd_get_directories(struct req *r);
void execd_post_directories(struct req *r);
void execd_delete_directories(struct req *r);

/* ---- pty.c ---- */

void execd_post_pty(struct req *r);
void execd_get_pty(struct req *r);
void execd_delete_pty(struct req *r);
void execd_get_pty_ws(struct req *r);
/* another: another worker follows, which continues them. */
void execd_ptys_close(struct execd *f, bool another);
void execd_ptys_load(struct execd *f);
void execd_ptys_start(struct execd *f);

/* ---- metrics.c ---- */

void execd_get_metrics(struct req *r);
void execd_watch_metrics(struct req *r);

/* ---- proxy.c ---- */

void execd_proxy_init(struct execd *f, struct fronts *all);
void execd_proxy(struct req *r);

/* ---- program.c ---- */

extern const struct program execd_programs[];

#endif
