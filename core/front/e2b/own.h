/* SPDX-License-Identifier: MIT */
/*
 * The front-end `e2b`: the protocol of E2B's daemon envd (README.md has what is served).
 * It answers at --listen e2b@ADDRESS only.
 *
 *   front.c       options, life, routes, credentials, refusals
 *   init.c        what POST /init sets, kept at the keeper; health, figures, variables
 *   cors.c        the web pages that may read answers
 *   user.c        the user that a request names, and paths as that user writes them
 *   rpc.c         Connect: requests, answers, streams, errors; envelope.h has its frames
 *   act.c         actions whose observation answers a request
 *   process.c     process.Process: the list of processes, start, signals, size
 *   listener.c    streams of a process's output
 *   input.c       its standard input
 *   entry.c       EntryInfo, made from the result of the action `stat`
 *   read.c        calls that only read files, and are not in the log
 *   filesystem.c  filesystem.Filesystem: Stat, ListDir, MakeDir, Move, Remove
 *   sign.c        signed URLs
 *   compose.c     POST /files/compose
 *   download.c, upload.c   GET and POST /files
 *   watch.c       streams of the changes in a directory
 *   watcher.c     watchers, which clients poll
 */
#ifndef OD_FRONT_E2B_OWN_H
#define OD_FRONT_E2B_OWN_H

#include "action/ask.h"
#include "engine/state.h"
#include "front/e2b/e2b.h"
#include "front/e2b/rpc.h"
#include "front/front.h"
#include "os/machine.h"
#include "setup/sandbox.h"

#include <limits.h>

enum { E2B_USER_MAX = 63 };

struct e2b {
    struct engine *en; /* borrowed, as are the next two */
    struct actions *actions;
    struct fronts *fronts;
    struct http_front front;
    /* Set by POST /init; init.c stores it at the keeper. */
    char *token;         /* owned; NULL: none. Before /init, the option's */
    char *default_user;  /* owned; "": the user of the sandbox's sessions */
    char *workdir;       /* owned; "": the user's home */
    struct json *env;    /* owned: an object of strings */
    double init_at;      /* seconds: the newest timestamp of /init; 0: none */
    struct machine seen; /* at the previous GET /metrics */
    struct action_watch watch;
    struct list processes; /* struct e2b_process, the newest first */
    unsigned nprocesses;
    struct list listeners; /* struct e2b_listener */
    struct list watches;   /* struct e2b_watch */
    unsigned nwatches;
};

/* ---- init.c ---- */

void e2b_init_open(struct e2b *f, const struct json *options);
void e2b_init_load(struct e2b *f);
void e2b_post_init(struct req *r);
void e2b_get_health(struct req *r);
void e2b_get_metrics(struct req *r);
void e2b_get_envs(struct req *r);

/* ---- act.c ---- */

#define E2B_SOURCE ACTION_SOURCE_E2B

/* Submits {"action": name, "args": args}, as action_ask does. Takes args. */
int e2b_act(struct e2b *f, struct action_ask *q, const char *name, struct json *args,
            struct err *e);
/* For RPCs whose answer is {}: does the action, and answers, or fails with its error. */
void e2b_act_answer(struct e2b *f, struct req *r, const char *name, struct json *args);

/* ---- process.c ---- */

struct process;

/* A process that Start made, while the engine keeps it. Owned by f->processes. */
struct e2b_process {
    struct list node;
    struct e2b *f;
    char name[24];       /* of the engine's process */
    char *tag;           /* owned; NULL: none */
    struct json *config; /* owned: {"cmd", "args", "envs", "cwd"} */
    bool tty, has_stdin;
    bool closed;        /* its standard input was ended */
    struct list inputs; /* struct e2b_input: the first one writes */
    /* Bytes of output and error output that were sent to any listener. */
    uint64_t sent[2];
    unsigned listeners;
};

/* The rows of process.Process in the table of routes. */
void e2b_process_list(struct req *r);
void e2b_process_start(struct req *r);
void e2b_process_connect(struct req *r);
void e2b_process_update(struct req *r);
void e2b_process_send_input(struct req *r);
void e2b_process_stream_input(struct req *r);
void e2b_process_send_signal(struct req *r);
void e2b_process_close_stdin(struct req *r);

/*
 * Returns the process that the member `process` of a message selects. ended: also one
 * that has ended. Returns NULL and sets *code and *e if there is none.
 */
struct e2b_process *e2b_process_find(struct e2b *f, const struct json *m, bool ended,
                                     struct process **p, const char **code,
                                     struct err *e);
void e2b_processes_load(struct e2b *f);

/* ---- input.c ---- */

/* The engine no longer keeps the process: answers waiting requests with an error. */
void e2b_inputs_forget(struct e2b_process *x);

/* ---- listener.c ---- */

struct e2b_listener;
/*
 * Begins a stream of the process's events. action: the id of the action that starts it;
 * 0: p runs or has ended, and the stream has its output from `from` on. limit_ms: time
 * after its start at which the process is killed; 0: never.
 */
struct e2b_listener *e2b_listen(struct e2b_process *x, struct req *r, uint64_t action,
                                int64_t limit_ms);
void e2b_listener_follow(struct e2b_listener *l, struct process *p,
                         const uint64_t from[2]);
/* The process of the action was started, or the action ended, maybe without a process. */
void e2b_listeners_started(struct e2b *f, uint64_t action, struct process *p);
void e2b_listeners_ended(struct e2b *f, uint64_t action, uint64_t end,
                         const struct err *e);
/* The engine no longer keeps the process. Its listeners still send what they have. */
void e2b_listeners_forget(struct e2b_process *x);
/* Ends the streams, because this worker ends. */
void e2b_listeners_close(struct e2b *f);

/* ---- entry.c ---- */

#define E2B_METADATA "user.e2b." /* prefix of attributes that are metadata */

/* Returns the last part of a path, without slashes at its end; "/" for "/". */
struct str e2b_base_name(struct str path);
/* Appends the EntryInfo of the file at path. facts: as stat with `full` reports them. */
void e2b_put_entry(struct buf *b, struct str path, const struct json *facts);

/* ---- read.c ---- */

/* result: borrowed; NULL if it has failed: then *e has the reason. */
typedef void e2b_done(void *owner, const struct json *result, const struct err *e);
struct e2b_read;
/*
 * Runs a verb of file/fileact.h that changes nothing, and calls fn once with its result.
 * Takes args. Returns NULL if fn was called before this returns.
 */
struct e2b_read *e2b_read(struct e2b *f, const struct sandbox_place *user,
                          const char *verb, struct json *args, e2b_done *fn, void *owner);
/* fn will not be called. */
void e2b_read_drop(struct e2b_read *k);

/* ---- filesystem.c, watch.c, watcher.c: the rows of filesystem.Filesystem ---- */

void e2b_fs_stat(struct req *r);
void e2b_fs_list(struct req *r);
void e2b_fs_make_dir(struct req *r);
void e2b_fs_move(struct req *r);
void e2b_fs_remove(struct req *r);
void e2b_fs_watch_dir(struct req *r);
void e2b_fs_create_watcher(struct req *r);
void e2b_fs_get_watcher_events(struct req *r);
void e2b_fs_remove_watcher(struct req *r);

/* ---- watch.c, watcher.c ---- */

struct fileact;
enum { E2B_WATCH_QUEUE_MAX = 4 << 20 };

/* A directory that a stream or a watcher watches. Owned by f->watches. */
struct e2b_watch {
    struct list node;
    struct e2b *f;
    struct fileact *helper; /* NULL: it has ended */
    struct sandbox_place user;
    char user_name[E2B_USER_MAX + 1];
    char id[24];      /* of a watcher; "": a stream */
    struct buf path;  /* owned */
    struct buf queue; /* owned: waiting events, a line of JSON each */
    const char *gap;  /* static: why changes may be missing; NULL: none are missing */
    struct e2b_rpc_stream out; /* of a stream */
    struct req *req; /* of a watcher: CreateWatcher until it is answered, else NULL */
    size_t kept;     /* of a watcher: bytes of the queue at the keeper */
    bool recursive, entries, begun;
    char made[NAME_MAX + 1]; /* the last created name, until it is written */
};

/* Makes an empty watch and adds it to f->watches. */
struct e2b_watch *e2b_watch_new(struct e2b *f);
/* Reads the request and starts the helper. Returns NULL if r was refused. */
struct e2b_watch *e2b_watch_open(struct req *r, bool stream);
/* Starts the helper of w. again: a previous worker's helper watched before. Returns -1
 * and sets *e. */
int e2b_watch_start(struct e2b_watch *w, bool again, struct err *e);
void e2b_watch_forget(struct e2b_watch *w);
/* Appends the member "gap". */
void e2b_watch_put_gap(struct buf *b, const struct e2b_watch *w);
/*
 * The helper of a watcher has reported changes; or it has ended, with an error in *e or
 * without.
 */
void e2b_watcher_changed(struct e2b_watch *w);
void e2b_watcher_ended(struct e2b_watch *w, const struct err *e);
/* Restores the watchers of the previous worker, and starts their helpers. */
void e2b_watchers_load(struct e2b *f);
void e2b_watchers_start(struct e2b *f);
/* Ends the streams, because this worker ends. */
void e2b_watches_close(struct e2b *f);

/* ---- sign.c, download.c, upload.c, compose.c ---- */

/* Where its requests may have a proof. */
extern const struct door e2b_door;
/* Has r's signed URL expired? */
bool e2b_is_late(const struct req *r);
void e2b_get_files(struct req *r);
void e2b_post_files(struct req *r);
void e2b_post_compose(struct req *r);
/*
 * Reads from the query the user and the absolute path (out is empty if it has none).
 * Returns -1 if the request was refused.
 */
int e2b_files_query(const struct e2b *f, struct req *r, struct sandbox_place *user,
                    struct buf *path, struct err *e);
/* Answers with an error about a file: 400, 404, 500, 507 … */
void e2b_refuse_file(struct req *r, const struct err *e);

/* ---- user.c ---- */

/*
 * Finds the identity and home of the user of this name; "": the default user. Returns -1
 * and sets *e (NOTFOUND: there is no such user; DENIED: the server may not act as that
 * user).
 */
int e2b_user(const struct e2b *f, struct str name, struct sandbox_place *out,
             struct err *e);
/*
 * The same for the user that an RPC names by Authorization: Basic, whose password is
 * ignored. Sets name to the user's name; "" for the default user.
 */
int e2b_rpc_user(const struct e2b *f, const struct req *r, char name[E2B_USER_MAX + 1],
                 struct sandbox_place *out, struct err *e);

/*
 * Appends the absolute path that the user means: a relative path begins in the home, as ~
 * does, and "" is the directory of POST /init or the home. Returns -1 and sets *e
 * (INVALID).
 */
int e2b_path(const struct e2b *f, const struct sandbox_place *user, struct str path,
             struct buf *out, struct err *e);

/* ---- front.c ---- */

/* Answers {"code": status, "message": text}, as REST routes do. */
void e2b_fail(struct req *r, int status, const char *text);
/* The same with the status of the error's code. */
void e2b_refuse(struct req *r, const struct err *e);

#endif
