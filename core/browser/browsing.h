/* SPDX-License-Identifier: MIT */
/*
 * Browsers by name. Each has a host (browser/host/host.h), which is a companion
 * (companion/companion.h); calls to one browser run one after the other, and its pages
 * stay open between them.
 *
 * A call has an id: a worker that takes over waits for the answer of the running call,
 * and a caller that repeats the id gets it. The last answer of each browser is kept.
 *
 *   call: WAITING --its turn--> RUNNING --answer--> done
 *         RUNNING --its time ends, or it is cancelled--> done: the host reports it;
 *                   the browser and its pages stay
 *         RUNNING --the host does not report it, or ends--> done, with an error; the
 *                   next call starts another process
 */
#ifndef OD_BROWSER_BROWSING_H
#define OD_BROWSER_BROWSING_H

#include "base/json.h"
#include "engine/engine.h"

enum { BROWSING_TIME_MS = 120000 }; /* for a call without a limit of its own */

struct browsing;
struct browsing_call;

struct browsing_opts {
    struct str mode;      /* "": Chromium, or text without one; "text" */
    struct str downloads; /* an absolute folder; "": they are refused */
    struct str cdp;       /* the address of a running browser (browser.h) */
    struct str task;      /* the page of a task (browser/driver/task.h), or "" */
    struct str cwd, user; /* as of a process */
};

/*
 * Called once, at the end of a call, which is freed when this returns. answer: as in
 * browser/host/host.h, borrowed; NULL: e is TIMEOUT, GONE, CANCELLED, or the host's
 * error.
 */
typedef void browsing_done_fn(void *owner, const struct json *answer,
                              const struct err *e);

struct browsing_ask {
    const char *id;          /* the caller's id: a second call with it attaches; "":
                              * none */
    const struct json *what; /* borrowed: a request's members without id */
    int64_t timeout_ms;      /* 0: BROWSING_TIME_MS */
    /* Called at most once: the call cannot begin until this person gives the browser
     * back (screen.h). NULL: it ends with TIMEOUT if that takes longer than its time. */
    void (*waits)(void *owner, const char *driver);
};

/* Returns the browser of that name; NULL if there is none. */
struct browsing *browsing_lookup(struct engine *en, struct str name);
/*
 * The same, but makes the browser if there is none; its process starts with the first
 * call. Returns NULL and sets *e.
 */
struct browsing *browsing_open(struct engine *en, struct str name,
                               const struct browsing_opts *o, struct err *e);
/*
 * Returns the name of an option (mode, downloads or cdp) that is set in o and differs
 * from the one that b was opened with; NULL if there is none. A Chromium takes other
 * downloads by a member of the call (browser/host/host.h).
 */
const char *browsing_differs(const struct browsing *b, const struct browsing_opts *o);
/* Resumes a browser from its state at the keeper; processes have resumed before. */
void browsing_resume(struct engine *en, struct str name, struct str state);
/* After all browsers have resumed: ends processes that belong to none. */
void browsing_resumed(struct engine *en);
/* Ends the browser; calls that wait or run are answered with CANCELLED. */
void browsing_close(struct browsing *b);
/* Ends the calls of all browsers when the server ends. */
void browsing_cancel_all(struct engine *en);

/*
 * Appends an address in the form that a browser takes. An address with a scheme stays as
 * it is; a path, or the name of a file in cwd, becomes file:; anything else is a host.
 */
void browsing_address(struct buf *out, struct str cwd, struct str given);

/*
 * Queues a call. Returns NULL and sets *e (LIMIT: too many calls wait, or this one is
 * too long).
 */
struct browsing_call *browsing_ask(struct browsing *b, const struct browsing_ask *q,
                                   browsing_done_fn *done, void *owner, struct err *e);
/* Whether the call with this id waits or runs, or its answer is kept. */
bool browsing_knows(struct browsing *b, const char *id);
/*
 * Cancels a call. A waiting call ends with CANCELLED before this returns. A running call
 * ends when the host has stopped it, with CANCELLED, or with its answer if that came
 * first.
 */
void browsing_cancel(struct browsing_call *c);
bool browsing_runs(const struct browsing_call *c);
/* Drops a call: done is not called. A waiting call never runs; a running one goes on. */
void browsing_drop(struct browsing_call *c);

/* Returns {name, state: idle, busy or closed, mode, url, title, idle_ms, pid}; the caller
 * frees it. */
struct json *browsing_json(const struct browsing *b);

#endif
