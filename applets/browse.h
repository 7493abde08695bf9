/* SPDX-License-Identifier: MIT */
/* What the files browse*.c share. */
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
    /* A browser of the server's. */
    const char *session;
    const char *server; /* WHERE (net/sockpath.h), or NULL */
    char socket_space[SOCKPATH_MAX];
    bool list, close;
    int64_t timeout_ms; /* 0: as the server has it */
};

/* Says why on standard error; BROWSE_OURS. */
int browse_fail(const char *text);
/* An address as a browser takes it, of what was given on the command line. */
void browse_address(struct buf *out, const char *given);
/* What is to be seen. */
struct browser_look browse_look(const struct browse_options *o);
/* Prints what was seen, and writes the picture; the exit status. */
int browse_show(const struct browse_options *o, struct browser_seen *seen);
/* The calls that a server answers; the exit status. */
int browse_in_session(const struct browse_options *o);
/*
 * The visit without a browser: prints the page; the exit status. missing: why there is no
 * picture of a page that is not one.
 */
int browse_by_text(const struct browse_options *o, const char *missing);

#endif
