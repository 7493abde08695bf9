/* SPDX-License-Identifier: MIT */
/* Shared by the files browse*.c. */
#ifndef OD_BROWSE_H
#define OD_BROWSE_H

#include "base/buf.h"
#include "browser/driver/browser.h"
#include "net/sockpath.h"

#include <stdbool.h>
#include <stdint.h>

enum { BROWSE_FAILED = 1, BROWSE_OURS = 125 }; /* exit statuses */
enum { BROWSE_PAGE = 100000 };                 /* bytes of a page's part */

struct browse_options {
    struct buf actions;
    const char *url, *shot, *downloads, *cdp, *deny;
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
struct browser_look browse_look(const struct browse_options *o);
/* Prints the result, and writes the picture. Returns the exit status. */
int browse_show(const struct browse_options *o, struct browser_seen *seen);
/* Makes the calls that a server answers. Returns the exit status. */
int browse_in_session(const struct browse_options *o);
/*
 * Visits the page without a browser and prints it. Returns the exit status. missing: why
 * there is no browser; printed if a picture is asked for and the page itself is none.
 */
int browse_by_text(const struct browse_options *o, const char *missing);

#endif
