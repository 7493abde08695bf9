/* SPDX-License-Identifier: MIT */
/*
 * The action language (browse_action.h) on a reader of the web without a browser
 * (webtext.h), for a process that does one thing at a time: each call blocks. An action
 * that needs a drawn page (a mouse, keys) fails with an error that explains it; one that
 * a reader does not need, such as scrolling, does nothing.
 */
#ifndef OD_WEBPAGE_WEBREADER_H
#define OD_WEBPAGE_WEBREADER_H

#include "os/halt.h"
#include "webpage/browse_action.h"
#include "webpage/webtext.h"

struct webreader {
    struct webtext *web;        /* owned; for the caller to read */
    struct loop *loop;          /* owned */
    struct halt *halt;          /* borrowed; NULL: none */
    struct io stop[HALT_FDS];   /* watched while it waits */
    struct timer late;          /* the same */
    struct timer wait;          /* of noop(ms) */
    bool waited;                /* the wait is over */
    struct browse_progress did; /* of the last text */
    struct err why;             /* of the last action */
    struct buf said; /* send_msg_to_user and report_infeasible, one line each */
};

/*
 * The reader sets spec's loop, on_done and owner itself, and deny from OD_BROWSE_DENY if
 * it is NULL. halt: when it ends, a waiting call ends with CANCELLED and leaves the page
 * as it was; NULL: none. Returns -1 and sets *e; then there is nothing to close.
 */
int webreader_open(struct webreader *r, const struct webtext_spec *spec,
                   struct halt *halt, struct err *e);
void webreader_close(struct webreader *r);
/* Goes to a URL. Returns -1 and sets r->why. */
int webreader_goto(struct webreader *r, struct str url);
/* Runs the actions of a text, up to the first that fails. Returns -1 and sets r->why. */
int webreader_act(struct webreader *r, struct str actions);
/* Returns the tabs as in a browser's observations: [{url, title}]. */
struct json *webreader_tabs(const struct webreader *r);
/*
 * Appends the page in the form of a browser's tree (browser/driver/tree.c): a line for
 * the page, its text, and after each line of text its links and fields, `[3] link
 * 'manual', url='…'`. Returns -1 if out is full.
 */
int webreader_outline(const struct webreader *r, struct buf *out);

#endif
