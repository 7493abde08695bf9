/* SPDX-License-Identifier: MIT */
/*
 * What `od exec --put` and `--get` share: exec_copy.c copies a file, exec_folder.c a
 * folder, both over a link of exec_link.c.
 */
#ifndef OD_APPLETS_EXEC_COPY_H
#define OD_APPLETS_EXEC_COPY_H

#include "exec.h"
#include "http/httpc.h"
#include "io/loop.h"
#include "ipc/remote.h"
#include "net/backoff.h"

/* ---- exec_link.c ---- */

/* The part of a copy that knows what is copied. Each gets the link's arg. */
struct copy_calls {
    void (*ask)(void *arg);  /* connected: makes the first request */
    void (*drop)(void *arg); /* or NULL; called when a connection is not used any more */
    const struct httpc_events *requests; /* they find the copy with copy_arg */
};

/*
 * A connection to a server elsewhere that is made again when it is lost, with the
 * progress on a terminal and the signals that end the copy:
 *
 *   DIAL ─▶ ask ─▶ … ─▶ copy_stop
 *     ▲      └─ copy_lost ─┘
 *     └─ WAIT ◀──┘ (60 s without a byte) ──▶ copy_fail
 *
 * Embedded in the copy. The owner sets only the members that are marked so.
 */
struct copy_link {
    const struct exec_options *o;
    const struct copy_calls *calls;
    void *arg;
    bool put;
    const char *far; /* the path there; borrowed */
    struct loop *loop;
    struct remote remote;
    struct dial *dial;
    struct httpc http;
    bool asking; /* http is in use */
    bool connected_ever;
    bool over;
    uint64_t at, size; /* bytes that were transferred, and all; set by the owner, too */
    bool known;        /* the size is known; set by the owner */
    int64_t began, got_on; /* clock_ms */
    struct timer wait, show;
    struct io signals;
    struct backoff backoff;
    struct buf answer; /* of a request, filled by the owner */
    struct err e;      /* why it failed; set by the owner before copy_fail */
    int status;        /* 0, 1: failed, 128 + signal */
};

/* Begins an unconnected link, for `far` of the options o. arg and calls outlive it. */
void copy_init(struct copy_link *l, const struct exec_options *o,
               const struct copy_calls *calls, void *arg);
void copy_release(struct copy_link *l);
/* The arg of the link that has this client. */
void *copy_arg(struct httpc *h);
/*
 * Connects and transfers until copy_stop, copy_fail or a signal of the descriptor
 * `signals`. Returns -1 with *e when it failed; else l->status is 0 or 128 + signal.
 */
int copy_run(struct copy_link *l, int signals, struct err *e);
/* Ends copy_run, with success unless l->status says else. */
void copy_stop(struct copy_link *l);
/* Ends copy_run with the error l->e. */
void copy_fail(struct copy_link *l);
/* Connects again without delay, because the server does not keep this connection. */
void copy_again(struct copy_link *l);
/* Notes that n more bytes were transferred. */
void copy_got(struct copy_link *l, size_t n);
/*
 * Sends a request with the key and these fields; q's host and fields are set here, and
 * l->answer becomes empty. A request that cannot be sent fails the copy.
 */
void copy_send(struct copy_link *l, struct httpc_request *q, struct str fields);
/*
 * In on_done: takes e, the end of a request that got no answer. Returns true if there was
 * such an error, which has been handled.
 */
bool copy_broke(struct copy_link *l, const struct err *e);
/*
 * The server refused, as its status and l->answer say: tries again or fails. Returns true
 * if it failed with an error of the server's own about the path.
 */
bool copy_refused(struct copy_link *l);
/* Fails the copy, because the peer is not an od server. */
void copy_is_odd(struct copy_link *l);

/* Appends FIRST NAME=VALUE to the target of a request, escaped. */
void exec_add_query(struct buf *out, char first, const char *name, struct str value);
/* The same for a path, as NAME_base64 if it is not UTF-8. */
void exec_add_path(struct buf *out, char first, const char *name, struct str path);
/* Appends the session of the options, if there is one. */
void exec_add_session(struct buf *out, const struct exec_options *o);
/* Returns the part after the last slash. */
const char *exec_base_name(const char *path);

/* ---- exec_folder.c ---- */

/*
 * --put and --get of a folder, after the attempt to copy it as a file failed with *why.
 * Reports *why if no folder has that path. Returns the exit status.
 */
int exec_folder(const struct exec_options *o, int signals, struct err *why);

#endif
