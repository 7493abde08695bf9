/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share (README.md).
 *
 *   front.c     options, the program swerex-remote, keys, refusals, routes, life
 *   ask.c       a request's body, its answer, repeated requests
 *   error.c     exceptions, by class
 *   word.c      values as Python and JSON write them
 *   clean.c     output of a terminal as text
 *   text.c      output from the spool, and observations that have it
 *   expect.c    patterns in output as it arrives
 *   session.c   sessions by their clients' names: create, close
 *   run.c       commands and input: run_in_session
 *   ended.c     how these end: observations and exceptions
 *   interrupt.c the same for BashInterruptAction
 *   syntax.c    may bash parse it?
 *   execute.c   a program outside of sessions
 *   file.c      read_file
 *   put.c       write_file; bytes that become files, by actions
 *   upload.c    upload
 */
#ifndef OD_FRONT_SWEREX_OWN_H
#define OD_FRONT_SWEREX_OWN_H

#include "action/ask.h"
#include "base/list.h"
#include "engine/state.h"
#include "file/fileact.h"
#include "front/front.h"
#include "http/httpd.h"
#include "io/job.h"
#include "setup/sandbox.h"
#include "shell/session.h"
#include "shell/spool.h"

#define SWEREX_VERSION "1.4.0" /* of SWE-ReX, whose server this replaces */
#define SWEREX_PROMPT  "SHELLPS1PREFIX"
#define SWEREX_CLASS   "swerex.exceptions."
#define SWEREX_STAGED  "swerex/stage/" /* keys at the keeper; "swerex/NAME": sessions */

enum {
    SWEREX_BODY_MAX = 64 << 20, /* bytes of a JSON request */
    SWEREX_NAME_MAX = 256,      /* of a session's name */
    SWEREX_SESSIONS_MAX = 1024,
    SWEREX_ID_MAX = 100,           /* of a valid X-Request-ID */
    SWEREX_KEPT = 16,              /* answers of such requests */
    SWEREX_KEPT_MAX = 64 << 10,    /* bytes of one */
    SWEREX_MESSAGE_MAX = 48 << 20, /* bytes of an exception's message */
    SWEREX_TEXT_MAX =
        8 << 20, /* of output in an exception, or of an interactive program */
    SWEREX_PATTERNS = 64,
    SWEREX_TOKEN = 32, /* hex digits in the name of a staged file */
    SWEREX_FOLDER_MAX = 256,
    SWEREX_STAGE_MAX = SWEREX_FOLDER_MAX + SWEREX_TOKEN + 16,
    SWEREX_TIMEOUT_MAX_S = 30 * 86400
};

/* The answer to a request, for one that repeats it. */
struct swerex_kept {
    char id[SWEREX_ID_MAX + 1], path[32];
    int status;
    char *body; /* owned */
    size_t n;
};

struct swerex {
    struct engine *en;
    struct actions *actions;
    struct http_front front;
    struct action_watch watch;
    struct list sessions; /* struct swerex_session, owned */
    unsigned nsessions;
    uint64_t next_session;
    struct list runs;     /* struct swerex_run, owned, that wait */
    struct list reads;    /* struct swerex_read, owned */
    struct list puts;     /* struct swerex_put, owned */
    struct swerex_kept kept[SWEREX_KEPT];
    unsigned kept_next;
};

/* ---- word.c ---- */

/* Appends UTF-8 text as the inside of a JSON string. U+0000 is \u0000. */
void swerex_put_json(struct buf *out, struct str text);
/* Appends text as Python's repr() does. */
void swerex_put_repr(struct buf *out, struct str text);
/* Appends a number as Python's repr() of a float does: 5.0, 0.1. */
void swerex_put_float(struct buf *out, double v);
/* Appends bytes as text; those that are not UTF-8 as \xNN (Python's backslashreplace). */
void swerex_put_text(struct buf *out, struct str bytes);

/* ---- clean.c ---- */

/*
 * Appends output of a terminal, piece by piece, as text without control sequences and
 * with CR LF as LF. hold keeps what may continue in the next piece; last: no piece
 * follows.
 */
void swerex_clean(struct buf *hold, struct str bytes, bool last, struct buf *out);

/* ---- ask.c ---- */

/* Writes the X-Request-ID of r to out, "" if it has none. */
void swerex_id(const struct req *r, char out[SWEREX_ID_MAX + 1]);
/* Answers r as an earlier request with the same id and path. Returns false if there is
 * none. */
bool swerex_repeats(struct req *r);
/* Answers with a JSON object, and keeps it for a repeated request. Takes body. */
void swerex_answer(struct req *r, int status, struct buf *take);
void swerex_answer_z(struct req *r, const char *body);
struct model;
/*
 * Returns the body of r, checked against a model; the caller owns it. Returns NULL after
 * answering r, with an error or as a repeated request. tags: the models for the values of
 * the body's member `by`, ended by a tag NULL; sets *which to the index.
 */
struct swerex_tag {
    const char *tag;
    const struct model *model;
};
struct json *swerex_body(struct req *r, const struct model *m);
struct json *swerex_tagged(struct req *r, const char *by, const struct swerex_tag *tags,
                           size_t *which);

/* ---- error.c ---- */

/*
 * Answers 511 with an exception that the client raises: class_path as in
 * "builtins.OSError"; message is UTF-8; extra, which is taken, its extra_info or NULL.
 */
void swerex_raise(struct req *r, const char *class_path, struct str message,
                  struct json *take_extra);
__attribute__((format(printf, 3, 4))) void
swerex_raisef(struct req *r, const char *class_path, const char *format, ...);
/* Raises an error of the engine, by its code. */
void swerex_raise_err(struct req *r, const struct err *e);
/* Raises "[Errno 2] No such file or directory: 'PATH'", as Python's OSError by errno. */
void swerex_raise_errno(struct req *r, int errnum, struct str path);
/* The same for a helper's error about the file `path`; other errors by their code. */
void swerex_raise_file(struct req *r, const struct err *e, struct str path);

/* ---- text.c ---- */

/*
 * Output as text: a text of ours, then ranges of a spool, oldest first. A session's
 * output is cleaned; a process's is as the program wrote it.
 */
struct swerex_text {
    struct swerex *w;
    char of[64];     /* the engine's name of the session or process */
    bool is_process; /* and its stream: 0 output, 1 error output */
    int stream;
    struct buf said; /* owned: comes first */
    struct spool_range v[3];
    unsigned n, at;
    uint64_t gone; /* bytes that are no longer kept */
    struct buf hold;
};
void swerex_text_init(struct swerex_text *t, struct swerex *w, const char *session);
/* Adds all output of stream i of a process. */
void swerex_text_of_process(struct swerex_text *t, struct swerex *w, const char *process,
                            int i);
void swerex_text_range(struct swerex_text *t, uint64_t from, uint64_t to);
void swerex_text_release(struct swerex_text *t);
/* Appends the whole text, at most SWEREX_TEXT_MAX bytes, then a line with the number of
 * bytes that follow. */
void swerex_text_all(struct swerex_text *t, struct buf *out);

/*
 * Answers 200 with n texts, which are taken, each between its piece of JSON before[i] and
 * a quote, and then `after`. Short texts are sent at once, longer ones as fast as the
 * client reads.
 */
void swerex_send(struct req *r, struct swerex_text *take, const char *const *before,
                 unsigned n, const char *after);

/* How an observation ends. */
struct swerex_seen {
    bool has_exit;
    int exit;
    const char *expect; /* borrowed */
};
/* Answers with a BashObservation that has this output, which is taken. */
void swerex_observe(struct req *r, struct swerex_text *take, const struct swerex_seen *o);
/* The same with a short text. */
void swerex_observe_text(struct req *r, struct str text, const struct swerex_seen *o);

/* ---- expect.c ---- */

struct swerex_expect;
enum { SWEREX_NO_MATCH = -1, SWEREX_HARD = -2 };
/* list: an array of strings. Returns NULL and sets *e if one is not a valid
 * expression. */
struct swerex_expect *swerex_expect_new(const struct json *list, struct err *e);
void swerex_expect_free(struct swerex_expect *x);
/*
 * Searches output that begins at offset `at` of the stream. Returns the index of the
 * pattern whose match begins first, and sets the range of the match in the stream; or
 * SWEREX_NO_MATCH if there is none yet; or SWEREX_HARD and sets *e if a pattern takes too
 * long.
 */
int swerex_expect_feed(struct swerex_expect *x, uint64_t at, struct str bytes,
                       struct spool_range *match, struct err *e);
/* Returns the text of pattern i. */
const char *swerex_expect_text(const struct swerex_expect *x, int i);

/* ---- session.c ---- */

struct swerex_session {
    struct list node;
    struct swerex *w;
    char *name;                          /* owned; the client's */
    char engine[ACTION_SESSION_MAX + 1]; /* its name in the engine */
    char made_by[SWEREX_ID_MAX + 1];     /* the request that made it */
    bool ready;                          /* it has shown its first prompt */
    bool closed;                         /* ended by POST /close; its name is still
                                          * known */
    /* A command that its client no longer waits for, or to which it sends input. */
    char command[LIMIT_ID + 1];
    uint64_t cursor;  /* its output from here on was in no answer yet */
    bool interactive; /* it is a program that reads input */
    char *said;       /* owned: text for the next output; NULL: none */
};
/* Returns the session with this name; NULL after answering r if there is none. */
struct swerex_session *swerex_session_of(struct req *r, struct str name);
struct session *swerex_shell(const struct swerex_session *s); /* NULL if it is gone */
/* Stores at the keeper what the next worker needs. */
void swerex_session_keep(const struct swerex_session *s);
/* Loads the sessions of the previous worker. */
void swerex_sessions_load(struct swerex *w);
void swerex_create_session(struct req *r);
void swerex_close_session(struct req *r);
void swerex_close(struct req *r);

/* ---- run.c ---- */

enum swerex_mode { RUN_PLAIN, RUN_INTERACTIVE, RUN_QUIT, RUN_INTERRUPT, RUN_CREATE };

/* A request that waits for a command or program of a session. */
struct swerex_run {
    struct list node;
    struct swerex *w;
    struct swerex_session *s; /* borrowed: a session that closes ends its runs */
    struct req *req;
    enum swerex_mode mode;
    enum { CHECK_RAISE, CHECK_SILENT, CHECK_IGNORE } check;
    struct buf command, error_msg; /* owned */
    char id[SWEREX_ID_MAX + 1];
    double timeout;               /* seconds; 0: none */
    struct swerex_expect *expect; /* owned; NULL: the prompt alone */
    struct job *syntax;           /* borrowed from the loop */
    struct buf problem;           /* owned: what bash -n wrote, or a pattern's error */
    uint64_t action, end;         /* the engine's action, and its observation */
    struct op *op;                /* borrowed from the session: follows the command */
    bool typed;                   /* it sends input to a command that already runs */
    bool unread;                  /* that command ended without reading it */
    char runs[LIMIT_ID + 1];      /* the command, once it runs; "": not yet */
    uint64_t from;                /* where the output of this request begins */
    int matched;                  /* the pattern that was found, or SWEREX_… */
    struct spool_range match;
    struct task step; /* a pattern was found */
    struct timer timer;
    int tries; /* left for an interrupt */
    bool killed;
    struct sandbox_wait ready;
    bool awaits; /* the sandbox */
};
void swerex_run_in_session(struct req *r);
/* Makes a run for the request r, in a session that exists; it becomes the owner of r. */
struct swerex_run *swerex_run_new(struct req *r, struct swerex_session *s,
                                  enum swerex_mode mode);
void swerex_run_free(struct swerex_run *x);
/*
 * Does an action that ends at once. Takes args. Returns 0, or -1 and sets *e.
 */
int swerex_act(const struct swerex_session *s, const char *action, struct json *take_args,
               struct err *e);
/* Runs x->command, or follows it if an earlier request ran it. */
void swerex_run_start(struct swerex_run *x);
/* Follows the running command from x->from on; the op ends after timeout_ms (0: no
 * limit). */
void swerex_run_follow(struct swerex_run *x, int64_t timeout_ms);

/* ---- ended.c: each frees x ---- */

/* The command ended, with this exit status and output. */
void swerex_run_finish(struct swerex_run *x, int exit, uint64_t from, uint64_t to);
/* The time limit ended: from and to are the output so far. The command goes on. */
void swerex_run_late(struct swerex_run *x, uint64_t from, uint64_t to);
/* The command did not run, or cannot be followed. */
void swerex_run_fail(struct swerex_run *x, const struct err *e);
/* A pattern matched: answers with the output before the match. */
void swerex_run_matched(struct swerex_run *x);
/* Does not free x. The client no longer waits for the command; its output from cursor on
 * was in no answer. */
void swerex_run_leave(struct swerex_run *x, uint64_t cursor, bool interactive);
/* Does not free x. Adds what was in no answer yet: texts of ours, output of the previous
 * command. */
void swerex_run_unread(struct swerex_run *x, struct swerex_text *t);

/* Sets id to the running command, and *from to where its output begins. Returns false if
 * none runs. */
bool swerex_running(const struct swerex_session *s, char id[LIMIT_ID + 1],
                    uint64_t *from);
/* Ends all runs of a session with this error. */
void swerex_runs_end(struct swerex *w, const struct swerex_session *s,
                     const char *class_path, const char *message);
void swerex_run_started(struct swerex *w, const struct action *a);
void swerex_run_ended(struct swerex *w, uint64_t cause, uint64_t end,
                      const struct err *e);
/* Called when a session shows its first prompt, or fails to; in session.c. */
void swerex_created(struct swerex_run *x, const struct err *e, bool late);

/* ---- interrupt.c ---- */

void swerex_interrupt(struct swerex_run *x, const struct json *args);
/* The command that x interrupted has ended, with r. */
void swerex_interrupted(struct swerex_run *x, const struct op_result *r);

/* ---- syntax.c ---- */

/* May the command have a syntax error? If not, bash need not check it. */
bool swerex_may_be_wrong(struct str command);
/* Checks the command with bash, then calls swerex_run_start or answers. */
void swerex_check_syntax(struct swerex_run *x);

/* ---- the others ---- */

void swerex_execute(struct req *r);
void swerex_read_file(struct req *r);
void swerex_upload(struct req *r);

/* ---- put.c ---- */

/* Bytes that become one or more files: from the request to the end of the action. */
struct swerex_put {
    struct list node; /* in swerex.puts */
    struct swerex *w;
    struct req *req; /* NULL: gone, or answered */
    char id[SWEREX_ID_MAX + 1];
    struct sandbox_place place;
    struct buf path; /* owned: the target, as the client wrote it */
    char stage[SWEREX_STAGE_MAX];
    char token[SWEREX_TOKEN + 1]; /* of the state at the keeper that names stage */
    bool unzip;
    const char *name;  /* static: the file's name if path is a folder; NULL: none */
    struct action_ask ask;
    struct fileact *f; /* stages the content of write_file; NULL: not running */
    struct json *body; /* owned: of write_file */
    size_t sent;       /* bytes of its content that the helper has */
    bool whole;
};
/* Prepares a staged file. Returns NULL and sets *e on errors. Ended by _go, _fail or
 * _free. */
struct swerex_put *swerex_put_new(struct req *r, struct err *e);
/* Makes p answer r at its end, unless the client disconnects before. */
void swerex_put_own(struct swerex_put *p, struct req *r);
/* Arguments of the verb receive (file/fileact.h) that stage the bytes; the caller's. */
struct json *swerex_put_args(const struct swerex_put *p);
/* The bytes are staged: submits the action that puts them at p->path. */
void swerex_put_go(struct swerex_put *p);
/* Removes the staged file and frees p. */
void swerex_put_free(struct swerex_put *p);
/* Loads what the previous worker staged: its actions go on, other staged files are
 * removed. */
void swerex_puts_load(struct swerex *w);
void swerex_puts_start(struct swerex *w);
void swerex_write_file(struct req *r);

#endif
