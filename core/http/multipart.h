/* SPDX-License-Identifier: MIT */
/*
 * multipart/form-data (RFC 7578, over RFC 2046 5.1) as it comes, in pieces of any
 * size: the content of a part is passed on and never kept.
 */
#ifndef OD_HTTP_MULTIPART_H
#define OD_HTTP_MULTIPART_H

#include "base/err.h"
#include "base/str.h"

#define MULTIPART_BOUNDARY_MAX 70 /* RFC 2046 5.1.1 */
#define MULTIPART_HEAD_MAX 8192   /* bytes of one part's header lines */
#define MULTIPART_PARTS_MAX 10000

struct multipart;

/* The head of a part; slices that are valid during on_part only. */
struct multipart_part {
    struct str name;
    struct str filename; /* p is NULL: it is not a file. As given: no path is cut off */
    struct str type;     /* p is NULL: not given */
};

/* Each returns 0, or -1 to stop: then multipart_feed fails and leaves e as it is. */
struct multipart_events {
    int (*on_part)(void *arg, const struct multipart_part *p);
    int (*on_data)(void *arg, struct str bytes);
    int (*on_part_end)(void *arg);
};

/*
 * content_type: of the request; it names the boundary. ev is borrowed. Returns NULL and
 * sets *e: INVALID, it is not a form.
 */
struct multipart *multipart_new(struct str content_type,
                                const struct multipart_events *ev, void *arg,
                                struct err *e);
void multipart_free(struct multipart *m); /* NULL is fine */
/* Parses all of the next bytes. Returns -1 if they are malformed or an event stops. */
int multipart_feed(struct multipart *m, struct str bytes, struct err *e);
/* Ends the body. Returns -1 and sets *e if its last boundary has not come. */
int multipart_finish(const struct multipart *m, struct err *e);

#endif
