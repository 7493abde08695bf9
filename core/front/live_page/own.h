/* SPDX-License-Identifier: MIT */
/*
 * The live page (README.md).
 *
 *   front.c    the front-end: routes, files, logins, --status
 *   ports.c    the ports that programs listen at
 *   link.c     the address that logs in once
 */
#ifndef OD_FRONT_LIVE_PAGE_OWN_H
#define OD_FRONT_LIVE_PAGE_OWN_H

#include "front/front.h"
#include "access/access.h"
#include "io/loop.h"

enum {
    PAGE_FILES = 5,
    PAGE_HASH_HEX = 16 /* digits in the name of a file, and in the page's ETag */
};

/* A file of the page. Its name contains a hash of its bytes, so it never changes. */
struct page_file {
    const char *stem, *end, *type;
    struct str gz;
    char name[64]; /* STEM.HASH.END */
};

struct live_page {
    struct http_front front;
    struct fronts *fronts;
    struct access *access;
    struct page_file files[PAGE_FILES];
    struct buf html, form;       /* owned */
    char tag[PAGE_HASH_HEX + 3]; /* of html */
    char *origin, *embed;        /* owned; "": none */
    struct list waiting;         /* struct ports_wait: requests for ports */
    unsigned nwaiting;
    struct timer look; /* runs while any waits */
    struct buf once;   /* owned: the hash of the first link; empty: none */
};

/*
 * GET /ui/ports?since=TAG: {"ports":[{"port","pid","program","app","host"}],"tag"},
 * without our own. If TAG is that of the current list, the answer waits for a change, at
 * most half a minute. app: the path of the app, if r's login has RIGHT_USE; host: with
 * --preview-host, the app as HOST/PATH, without scheme and port.
 */
void live_page_ports(struct req *r);
void live_page_ports_init(struct live_page *p);
/* Answers all waiting requests, as the worker ends. */
void live_page_ports_end(struct live_page *p);

#endif
