/* SPDX-License-Identifier: MIT */
/*
 * A request that waits for a helper or an action: what the routes of files and git share.
 *
 *   work_new ─▶ work_file, work_git or work_act ─▶ then(), once ─▶ … ─▶ work_end
 *        └── the client disconnects ─▶ the helper ends, the action goes on ─▶ freed
 *
 * `then` answers w->req, or begins the next step; after its answer it calls work_end.
 */
#ifndef OD_FRONT_V1_WORK_H
#define OD_FRONT_V1_WORK_H

#include "action/ask.h"
#include "file/fileact.h"
#include "front/v1/own.h"
#include "git/git.h"
#include "setup/sandbox.h"

struct work;

/* result: an object, borrowed; NULL if e has a code. */
typedef void work_then(struct work *w, const struct json *result, const struct err *e);

struct work {
    struct v1 *v;
    struct req *req;            /* NULL: the client is gone, or has its answer */
    struct json *query;         /* owned: what model_query returned; may be NULL */
    struct sandbox_place place; /* the user and the directory of the server */
    char path[V1_PATH_MAX];     /* of the query, absolute */
    struct fileact *file;       /* borrowed; NULL: none runs */
    struct git_call *git;       /* the same */
    struct action_ask ask;
    work_then *then;
    const char *type; /* the type of bytes sent; NULL: none */
    bool begun;       /* the answer has begun */
    bool ended;
    void (*drop)(struct work *w); /* frees own; may be NULL */
    void *own;                    /* the route's */
};

/* The folder of the state directory for patches that are being made. */
#define WORK_SCRATCH "git"

/* Removes what an earlier worker left in WORK_SCRATCH. */
void work_start(const struct engine *en);

/*
 * Counts as activity; reads the query by the model m (NULL: none) and the member `path`.
 * absolute: a relative path is refused; otherwise it is relative to the server's
 * directory. Returns NULL after refusing r.
 */
struct work *work_new(struct req *r, const struct model *m, bool absolute);
/* Frees w: the request has its answer, or needs none. */
void work_end(struct work *w);

/*
 * Each starts one step and calls then() at its end, perhaps before returning. Takes args
 * and env. With w->type, bytes are sent to the client as they arrive, in an answer 200
 * that the first of them begins.
 */
void work_file(struct work *w, const char *verb, struct json *args, work_then *then);
void work_git(struct work *w, struct git_ask *q, work_then *then);
void work_act(struct work *w, const char *action, struct json *args, work_then *then);

/* Returns the home folder of the user that owns these files. */
const char *work_home(const struct work *w);

/* ---- answers, each of which ends w ---- */

void work_answer(struct work *w, struct json *take);
void work_detail(struct work *w, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Answers a handler's own 500: "PREFIX: " and the operating system's error about
 * w->path. */
void work_broken(struct work *w, const char *prefix, const struct err *e);
/* Ends an answer of bytes; on an error, cuts it off visibly. */
void work_sent(struct work *w, const struct err *e);

/*
 * Appends an error as Python prints an OSError: "[Errno 21] Is a directory: '/tmp'". The
 * reason is found by examining the path; otherwise it is e's text.
 */
void work_errno(struct buf *out, const char *path, const struct err *e);
/* Adds Content-Disposition: attachment (RFC 6266) with this name. */
void work_attachment(struct req *r, const char *name);
/* Appends text with everything but unreserved characters (RFC 3986 2.3) encoded. */
void work_quote(struct buf *out, struct str text, const char *safe);
/* The last part of a path; "root" of "/". */
const char *work_base(const char *path);

#endif
