/* SPDX-License-Identifier: MIT */
/* What host.c and host_see.c share. */
#ifndef OD_BROWSER_HOST_HOST_OWN_H
#define OD_BROWSER_HOST_HOST_OWN_H

#include "base/limits.h"
#include "browser/host/host.h"
#include "browser/host/host_devtools.h"
#include "browser/driver/driver.h"
#include "browser/driver/task.h"
#include "webpage/outline.h"
#include "webpage/webreader.h"

/* The socket through which people watch and act: host_screen.c. */
struct host_screen {
    int listener, fd; /* -1: none; nobody watches */
    int watch;        /* an epoll of both and of standard input; -1: none */
    bool quiet;       /* this turn: nothing of watch can be read */
    struct buf in, out;
    bool wanted; /* the worker wants pictures */
    int quality, width;
    bool driven, asked_before; /* a person drives; browser.asks before that */
    bool next;                 /* the worker waits for a picture newer than `sent` */
    unsigned sent, moves;
    struct buf tabs, dialog; /* as last sent */
    const char *mode;        /* the same; NULL: not yet */
    bool waits_to_write;
};

struct host {
    struct halt halt; /* ended: the process must end */
    struct buf in;
    int64_t came_ms;             /* when the bytes of in arrived */
    uint64_t sent, seen, window; /* bytes out; window: the most not yet seen */
    int64_t within_ms;           /* of the call */
    struct buf answer;           /* the last answer, to be sent again */
    char id[LIMIT_ID + 1];
    char cancel[LIMIT_ID + 1]; /* the id of a cancelled call; "": none */
    bool calling;              /* a call runs */
    bool again;
    bool text; /* without a Chromium */
    struct str downloads, cdp;
    char profile[PATH_MAX]; /* "": it goes with the browser */
    char dir[PATH_MAX];
    struct browser *b; /* NULL: none */
    struct webreader reader;
    bool reading; /* the reader has a page */
    bool told;    /* the browser's elements have bids */
    struct browser_task task;
    struct buf news;                   /* notes for the next answer */
    struct {                           /* for calls about one page: host_page.c */
        struct outline known;          /* what the caller last saw of the page */
        char document[2 * BROWSER_ID]; /* the document of known */
        unsigned load, base, next;     /* of the reader's page: weboutline.h */
        unsigned pictures;
    } page;
    unsigned offered;
    struct host_screen screen;
    struct host_devtools devtools;
};

/*
 * Puts the description of the page into out, as the member look of the call requests.
 * Returns -1 and sets *e; then out is incomplete.
 */
int host_see_browser(struct host *h, const struct json *q, struct json *out,
                     struct err *e);
void host_see_reader(struct host *h, const struct json *q, struct json *out);
/* Adds the notes of an answer, which it takes. */
void host_put_notes(struct host *h, struct json *out, struct json *take);

/*
 * Carries out a call about one page, by its member page, and puts the answer into out.
 * Returns -1 and sets *e; then out is incomplete.
 */
int host_page(struct host *h, const struct json *q, struct json *out, struct err *e);

/* ---- host_screen.c ---- */

/* The name of its socket in the host's folder. */
#define HOST_SCREEN_SOCKET "screen"

/*
 * Called when the folder exists. Without a socket there is no screen, and all else
 * works.
 */
void host_screen_open(struct host *h);
void host_screen_close(struct host *h);
/* Reads what has come and sends what is due. It does not wait. */
void host_screen_turn(struct host *h);

/* ---- host_devtools.c ---- */

/* The same for the socket of DevTools clients; opened after that of the screen. */
void host_devtools_open(struct host *h);
void host_devtools_close(struct host *h);
/* Passes on what has come, and notices that the browser has ended. It does not wait. */
void host_devtools_turn(struct host *h);

#endif
