/* SPDX-License-Identifier: MIT */
/* Shared by the files browse*.c. */
#ifndef OD_BROWSE_H
#define OD_BROWSE_H

#include "base/buf.h"
#include "browser/driver/browser.h"
#include "ipc/client.h"
#include "net/sockpath.h"

#include <stdbool.h>
#include <stdint.h>

enum { BROWSE_FAILED = 1, BROWSE_OURS = 125 }; /* exit statuses */
enum { BROWSE_PAGE = 100000 };                 /* bytes of a page's part */

/* What was shown last, for the log. */
struct browse_shown {
    struct buf url, title, error;
    int status;
};

struct browse_options {
    struct buf actions;
    struct browse_shown *shown; /* filled in by browse_show; NULL: not needed */
    const char *url, *shot, *downloads, *cdp, *deny, *har;
    bool tree, full_tree, json, links, text;
    bool whole, marks, console; /* --full-page … */
    size_t page_size;
    int page;
    const char *session; /* a browser of the server; NULL: one for this call */
    const char *server;  /* WHERE (net/sockpath.h), or NULL */
    char socket_space[SOCKPATH_MAX];
    bool list, close;
    int64_t timeout_ms; /* 0: the server's default */
};

/* Prints an error message. Returns BROWSE_OURS. */
int browse_fail(const char *text);
/* Turns an argument of the command line into an address for a browser. */
void browse_address(struct buf *out, const char *given);
/* Returns what the options ask to see. */
struct browser_want browse_want(const struct browse_options *o);
/* Writes an archive to o->har. Returns 0, or the exit status after an error message. */
int browse_write_har(const struct browse_options *o, struct str har);
/* Prints the result, and writes the picture. Returns the exit status. */
int browse_show(const struct browse_options *o, struct browser_seen *seen);
/* ---- browse_log.c ---- */

struct browse_log {
    struct client client;
    char id[33]; /* of the visit */
    bool on;     /* a server knows of it */
};

/* Tells the server of this machine, if one runs, that the visit begins. */
void browse_log_begin(struct browse_log *l, const struct browse_options *o);
/* Tells it the result, and releases l. */
void browse_log_end(struct browse_log *l, const struct browse_options *o,
                    const struct browse_shown *shown);

/* ---- browse_session.c and browse_text.c ---- */

/* Makes the calls that a server answers. Returns the exit status. */
int browse_in_session(const struct browse_options *o);
/*
 * Visits the page without a browser and prints it. Returns the exit status. missing: why
 * there is no browser; printed if a picture is asked for and the page itself is none.
 */
int browse_by_text(const struct browse_options *o, const char *missing);

#endif
