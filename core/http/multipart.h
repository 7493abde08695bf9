/* SPDX-License-Identifier: MIT */
/*
 * multipart/form-data (RFC 7578, over RFC 2046 5.1) as it comes, in pieces of any
 * size: what a part holds is handed on and never kept.
 */
#ifndef OD_HTTP_MULTIPART_H
#define OD_HTTP_MULTIPART_H

#include "base/err.h"
#include "base/str.h"

#define MULTIPART_BOUNDARY_MAX 70 /* RFC 2046 5.1.1 */
#define MULTIPART_HEAD_MAX 8192   /* bytes of one part's header lines */
#define MULTIPART_PARTS_MAX 10000

struct multipart;

/* Of a part; slices that hold during on_part only. */
struct multipart_part {
    struct str name;
    struct str filename; /* p is NULL: it is not a file. As given: no path is cut off */
    struct str type;     /* p is NULL: not given */
};

/* Each returns 0, or -1 to end it all: then multipart_feed fails, with e as it is. */
struct multipart_events {
    int (*on_part)(void *arg, const struct multipart_part *p);
    int (*on_data)(void *arg, struct str bytes);
    int (*on_part_end)(void *arg);
};

/*
 * content_type: of the request; it names the boundary. NULL: INVALID, it is no
 * form. ev is borrowed.
 */
struct multipart *multipart_new(struct str content_type,
                                const struct multipart_events *ev, void *arg,
                                struct err *e);
void multipart_free(struct multipart *m); /* NULL is fine */
/* The next bytes, all of which are dealt with. -1: malformed, or an event's wish. */
int multipart_feed(struct multipart *m, struct str bytes, struct err *e);
/* The body is over. -1: before its last boundary. */
int multipart_finish(const struct multipart *m, struct err *e);

#endif
