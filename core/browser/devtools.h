/* SPDX-License-Identifier: MIT */
/*
 * A DevTools client's link to a browser: to its host, which keeps clients apart
 * (browser/host/host_devtools.h).
 *
 *   LINKING --the host has attached it--> OPEN --it ended--> over
 *   LINKING --no Chromium runs--> STARTING --a call has started it--> LINKING
 *
 * The browser starts if it does not run; a browser with a link is in use, and is not
 * closed for idleness. A link ends with its worker, the browser's tabs do not.
 */
#ifndef OD_BROWSER_DEVTOOLS_H
#define OD_BROWSER_DEVTOOLS_H

#include "browser/browsing.h"
#include "io/stream.h"

enum {
    DEVTOOLS_IN = 30 << 20, /* bytes of a message to Chromium, at most */
    DEVTOOLS_TARGET = 79    /* bytes of a target's id */
};

struct devtools_link;

/* Not called from within the functions below. */
struct devtools_calls {
    /* Messages may be sent. */
    void (*ready)(struct devtools_link *k);
    /* A message of Chromium, borrowed. Returns false to get it again after
     * devtools_again. */
    bool (*message)(struct devtools_link *k, struct str text);
    /* There is room again after devtools_send returned false. */
    void (*room)(struct devtools_link *k);
    /* For the log: {"event", "target", "url"}, borrowed. */
    void (*event)(struct devtools_link *k, const struct json *event);
    /* Called once, as the last. */
    void (*over)(struct devtools_link *k, const struct err *why);
};

/* Embedded in its owner, whose memory lasts to the end of the turn of devtools_close. */
struct devtools_link {
    struct list node;   /* in browsing.links */
    struct browsing *b; /* borrowed; NULL: it was closed */
    struct engine *en;  /* the same */
    const struct devtools_calls *calls;
    enum { DEVTOOLS_OVER, DEVTOOLS_STARTING, DEVTOOLS_LINKING, DEVTOOLS_OPEN } state;
    struct stream s;
    struct browsing_call *call; /* that starts the browser; NULL: none */
    size_t scanned;             /* bytes of the input without a zero */
    bool linked, started, full;
    bool held;   /* the owner does not take a message */
    bool closes; /* set by the owner: its Browser.close closes the browser for all */
    char target[DEVTOOLS_TARGET + 1];
    struct task later;
    struct err why;
};

/*
 * Opens a link to the browser of that name, which o describes if there is none yet.
 * target: a page whose session stands for the browser's; "": the browser itself. k is
 * zeroed, except calls and closes. Returns -1 and sets *e (as browsing_open); then no
 * call follows.
 */
int devtools_open(struct engine *en, struct devtools_link *k, struct str browser,
                  struct str target, const struct browsing_opts *o, struct err *e);
/*
 * Sends a JSON text without zero bytes, of at most DEVTOOLS_IN. Returns false if the
 * sender is to wait for calls->room; the message is sent nevertheless.
 */
bool devtools_send(struct devtools_link *k, struct str text);
/* The owner takes messages again. */
void devtools_again(struct devtools_link *k);
/* Ends the link without a call. Idempotent. */
void devtools_close(struct devtools_link *k);

#endif
