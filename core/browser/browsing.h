/* SPDX-License-Identifier: MIT */
/*
 * Browsers by name. Each has a host (browser/host/host.h), which is a companion
 * (companion/companion.h); calls to one of them come one after the other, and its pages
 * stay open between them.
 *
 * A call has an id: a worker that takes over waits for the answer of the call that runs,
 * and the caller that comes back with the same id gets it. The last answer of each
 * browser is kept.
 *
 *   call: WAITING --its turn--> RUNNING --answer--> done
 *         RUNNING --its time is over, or it is cancelled--> done: the host reports it;
 *                   the browser and its pages stay
 *         RUNNING --the host does not report it, or ended--> done, with an error; the
 *                   next call starts another process
 */
#ifndef OD_BROWSER_BROWSING_H
#define OD_BROWSER_BROWSING_H

#include "base/json.h"
#include "engine/engine.h"

enum { BROWSING_TIME_MS = 120000 }; /* of a call that names no time */

struct browsing;
struct browsing_call;

struct browsing_opts {
    struct str mode;      /* "": Chromium, or text without one; "text" */
    struct str downloads; /* an absolute folder; "": they are refused */
    struct str cdp;       /* the address of a browser that runs already (browser.h) */
    struct str task;      /* the page of a task (browser/driver/task.h), or "" */
    struct str cwd, user; /* as a process's */
};

/*
 * Last and once; the call is gone when it returns. answer: as in browser/host/host.h,
 * borrowed. NULL: e is TIMEOUT, GONE, CANCELLED, or the error of the host.
 */
typedef void browsing_done_fn(void *owner, const struct json *answer,
                              const struct err *e);

struct browsing_ask {
    const char *id;          /* of the caller: a second call attaches; "": none */
    const struct json *what; /* borrowed: a request's members without id */
    int64_t timeout_ms;      /* 0: BROWSING_TIME_MS */
};

/* The one of that name. Returns NULL if there is none. */
struct browsing *browsing_lookup(struct engine *en, struct str name);
/*
 * The same, made if there is none; it starts with its first call. Returns NULL and sets
 * *e.
 */
struct browsing *browsing_open(struct engine *en, struct str name,
                               const struct browsing_opts *o, struct err *e);
/*
 * Returns the option of mode, downloads and cdp that is set in o and that b was not
 * opened with: "text", …; NULL if there is none.
 */
const char *browsing_differs(const struct browsing *b, const struct browsing_opts *o);
/* Resumes a browser from its state at the keeper; processes have resumed before. */
void browsing_resume(struct engine *en, struct str name, struct str state);
/* When all have resumed: ends processes that belong to no browser. */
void browsing_resumed(struct engine *en);
/* Ends it; calls that wait or run are answered with CANCELLED. */
void browsing_close(struct browsing *b);
/* Ends the calls of all browsers: the server ends. */
void browsing_cancel_all(struct engine *en);

/*
 * Appends an address in the form that a browser takes. An address with a scheme stays as
 * it is; a path, or the name of a file in cwd, becomes file:; anything else is a host.
 */
void browsing_address(struct buf *out, struct str cwd, struct str given);

/* Returns NULL and sets *e (LIMIT: too many calls wait, or it is too long). */
struct browsing_call *browsing_ask(struct browsing *b, const struct browsing_ask *q,
                                   browsing_done_fn *done, void *owner, struct err *e);
/* Does this call run, or is its answer kept? */
bool browsing_knows(struct browsing *b, const char *id);
/*
 * Ends a call. A call that waits is done before this returns, as CANCELLED; one that runs
 * is done when the host has stopped it, with CANCELLED or, if that was sooner, its
 * answer.
 */
void browsing_cancel(struct browsing_call *c);
bool browsing_runs(const struct browsing_call *c);
/* done is not called. A call that waits never runs; one that runs goes on. */
void browsing_drop(struct browsing_call *c);

/* {name, state: idle, busy or closed, mode, url, title, idle_ms, pid}, to be freed. */
struct json *browsing_json(const struct browsing *b);

#endif
