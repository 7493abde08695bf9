/* SPDX-License-Identifier: MIT */
/*
 * The action language (browse_action.h) on a reader of the web without a browser
 * (webtext.h), for a process that does one thing at a time: each call waits.
 *
 * What needs a page that is drawn (a mouse, keys) is an error that says so; what a reader
 * has no need of, as scrolling, does nothing.
 */
#ifndef OD_WEBPAGE_WEBREADER_H
#define OD_WEBPAGE_WEBREADER_H

#include "os/halt.h"
#include "webpage/browse_action.h"
#include "webpage/webtext.h"

struct webreader {
    struct webtext *web;        /* owned; to be looked at */
    struct loop *loop;          /* owned */
    struct halt *halt;          /* borrowed; NULL: none */
    struct io stop[HALT_FDS];   /* while it waits */
    struct timer late;          /* the same */
    struct timer wait;          /* of noop(ms) */
    bool waited;                /* its time is over */
    struct browse_progress did; /* of the last text */
    struct err why;             /* of the last action */
    struct buf said; /* send_msg_to_user and report_infeasible, one line each */
};

/*
 * spec's loop, on_done and owner are the reader's own, deny is that of OD_BROWSE_DENY
 * where it has none. halt: what waits ends with CANCELLED
 * when that is over, and leaves the page as it was; NULL: none. -1: e; there is nothing
 * to be closed then.
 */
int webreader_open(struct webreader *r, const struct webtext_spec *spec,
                   struct halt *halt, struct err *e);
void webreader_close(struct webreader *r);
/* 0; -1: r->why. */
int webreader_goto(struct webreader *r, struct str url);
/* All of a text, up to the first that fails; -1: r->why. */
int webreader_act(struct webreader *r, struct str actions);
/* The tabs as a browser's observations have them: [{url, title}]. */
struct json *webreader_tabs(const struct webreader *r);
/*
 * Appends the page in the form that a browser's tree has (browser/driver/tree.c): a
 * line for the page, its text, and behind each line of text what can be acted on in it,
 * `[3] link 'manual', url='…'`. -1: out is full.
 */
int webreader_outline(const struct webreader *r, struct buf *out);

#endif
