/* SPDX-License-Identifier: MIT */
/* What the files browse*.c share. */
#ifndef OD_BROWSE_H
#define OD_BROWSE_H

#include "base/buf.h"

#include <stdbool.h>

enum { BROWSE_FAILED = 1, BROWSE_OURS = 125 }; /* exit statuses */

struct browse_options {
    struct buf actions;
    const char *url, *shot, *downloads;
    bool tree, json, links, text;
};

/* The visit without a browser: prints the page; the exit status. */
int browse_by_text(const struct browse_options *o);

#endif
