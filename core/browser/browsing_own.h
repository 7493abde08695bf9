/* SPDX-License-Identifier: MIT */
/* What the files browsing*.c share: a browser, and a call to it. */
#ifndef OD_BROWSER_BROWSING_OWN_H
#define OD_BROWSER_BROWSING_OWN_H

#include "browser/browsing.h"
#include "companion/companion.h"

#include <limits.h>

enum {
    BROWSING_DONE = 8, /* ids of answered calls that are remembered */
    /* The host ends calls that are late or cancelled. If it has not after this time, it
     * hangs. */
    BROWSING_GRACE_MS = 15000
};

struct browsing_call {
    struct companion_call call; /* embedded: in host.calls until its end */
    struct browsing *b;
    browsing_done_fn *done; /* NULL: no caller */
    void *owner;
    struct buf line; /* the request; released when it was sent */
    bool cancelled;  /* the cancel was sent to the host */
    void (*waits)(void *owner, const char *driver); /* of struct browsing_ask */
    bool told;       /* waits was called */
};

/* A browser is a companion: companion/companion.h. */
struct browsing {
    struct companion host; /* embedded: its process, and the queue of calls */
    struct json *opts;     /* owned: {mode, downloads, cdp, task, kept, cwd, user} */
    char dir[PATH_MAX];    /* the host's folder */
    /* Ids of answered calls, the newest last; the host keeps the answer of that one. */
    char done[BROWSING_DONE][LIMIT_ID + 1];
    char *url, *title, *mode; /* owned: of the last answer */
    bool answered;            /* the state has changed since it was stored */
    struct timer idle;
    int64_t used_ms;   /* wall clock */
    struct list links; /* struct devtools_link of devtools.h */
};

/* ---- browsing.c ---- */

extern const struct companion_kind browsing_kind;

struct browsing *browsing_make(struct engine *en, struct str name);
struct browsing_call *browsing_call_make(struct browsing *b, const char *id);
/* Starts the timer of a running call: this time, and the grace time of the host. */
void browsing_limit(struct browsing_call *c, int64_t left_ms);
void browsing_idle(struct browsing *b, int64_t left_ms);
void browsing_remember(struct browsing *b, const char *id);
void browsing_set_place(char **place, struct str s);

/* ---- devtools.c ---- */

/* Ends all links to the browser, which is closed. */
void devtools_leave_all(struct browsing *b);

/* ---- browsing_state.c: the state that the keeper holds ---- */

/* Stores the state, and sends a line to the host in the same step; "": no line. */
void browsing_save_and_ask(struct browsing *b, struct str line);

#endif
