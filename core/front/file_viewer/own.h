/* SPDX-License-Identifier: MIT */
/* What the files of this room share. */
#ifndef OD_FRONT_FILE_VIEWER_OWN_H
#define OD_FRONT_FILE_VIEWER_OWN_H

#include "base/json.h"
#include "engine/engine.h"
#include "io/job.h"

#include <limits.h>
#include <netinet/in.h>

enum {
    VIEWER_MAX = 4,
    VIEWER_IMAGE_MAX = 20 << 20, /* bytes of a picture's file */
    VIEWER_PAGE_MAX = 40 << 20   /* bytes of HTML in the helper at the same time */
};

/* A request to the helper. */
struct viewer_ask {
    char path[PATH_MAX]; /* absolute */
    char cwd[PATH_MAX];  /* the working directory of the sandbox; "": none */
    struct sockaddr_in peer, own;
};

/*
 * A job_fn; arg is a struct viewer_ask. Runs as the user whose files are shown, and
 * writes the page of the file. On failure, sets *e: DENIED if the client may not see the
 * file or a link leads out, NOTFOUND, INVALID only for a folder, UNSUPPORTED for a file
 * of another type or a damaged one, or another code.
 */
int file_viewer_make_page(void *arg, const struct job_child *c, struct err *e);

/* Appends a path, which may be any bytes, or another text, as HTML. */
int file_viewer_add_path(struct buf *out, const char *path);

#endif
