/* SPDX-License-Identifier: MIT */
/* What host.c and host_look.c share. */
#ifndef OD_BROWSER_HOST_HOST_OWN_H
#define OD_BROWSER_HOST_HOST_OWN_H

#include "base/limits.h"
#include "browser/host/host.h"
#include "browser/driver/driver.h"
#include "browser/driver/task.h"
#include "webpage/outline.h"
#include "webpage/webreader.h"

struct host {
    struct halt halt; /* ended: the process is to end */
    struct buf in;
    int64_t came_ms;             /* what is in there */
    uint64_t sent, seen, window; /* bytes out; window: not yet seen by the reader */
    int64_t within_ms;           /* of the call */
    struct buf answer;           /* the last one, to be sent again */
    char id[LIMIT_ID + 1];
    char cancel[LIMIT_ID + 1]; /* a call that is not wanted any more; "": none */
    bool calling;              /* that one runs */
    bool again;
    bool text; /* no Chromium is wanted */
    struct str downloads, cdp;
    char dir[PATH_MAX];
    struct browser *b; /* NULL: none */
    struct webreader reader;
    bool reading; /* there is one */
    bool told;    /* the browser's elements have bids */
    struct browser_task task;
    struct buf news;                   /* for the next answer */
    struct {                           /* of calls about one page: host_page.c */
        struct outline known;          /* what its caller has seen of it last */
        char document[2 * BROWSER_ID]; /* of that */
        unsigned load, base, next;     /* of the reader's page: weboutline.h */
        unsigned pictures;
    } page;
    unsigned offered;
};

/*
 * Puts the description of the page into out, as the member look of the call asks for it.
 * Returns -1 and sets *e; out is then of no use.
 */
int host_see_browser(struct host *h, const struct json *q, struct json *out,
                     struct err *e);
void host_see_reader(struct host *h, const struct json *q, struct json *out);
/* The notes of an answer; takes them. */
void host_put_notes(struct host *h, struct json *out, struct json *take);

/*
 * Carries out a call about one page, by its member page, and puts the answer into out.
 * Returns -1 and sets *e; out is then of no use.
 */
int host_page(struct host *h, const struct json *q, struct json *out, struct err *e);

#endif
