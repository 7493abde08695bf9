/* SPDX-License-Identifier: MIT */
/* What the files browse*.c share. */
#ifndef OD_BROWSE_H
#define OD_BROWSE_H

#include "base/buf.h"

#include <stdbool.h>

enum { BROWSE_FAILED = 1, BROWSE_OURS = 125 }; /* exit statuses */
enum { BROWSE_PAGE = 100000 };                 /* bytes of a page's part */

struct browse_options {
    struct buf actions;
    const char *url, *shot, *downloads;
    bool tree, full_tree, json, links, text;
    bool whole, console; /* --full-page, --console */
    size_t page_size;
    int page;
};

/* The visit without a browser: prints the page; the exit status. */
int browse_by_text(const struct browse_options *o);

#endif
