/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share.
 *
 *   transfer.c  a request and its helper; reading about files, and sending them
 *   list.c      a folder, page by page
 *   body.c      bodies that become files: whole ones, and forms
 */
#ifndef OD_FRONT_TRANSFER_OWN_H
#define OD_FRONT_TRANSFER_OWN_H

#include "action/files.h"
#include "file/fileact.h"
#include "front/transfer/transfer.h"

enum { TRANSFER_TOKEN = 32 };

struct transfer_body; /* of a form */

struct transfer_call {
    struct loop *loop;
    struct req *req;   /* NULL: it is gone */
    struct fileact *f; /* NULL: not begun, or over */
    const struct transfer_words *words;
    const struct transfer_form *form;
    const char *type;
    struct files_log log;
    void *arg;
    void (*free)(void *arg);
    struct transfer_body *body; /* owned; NULL: not a form */
    bool sends;                 /* the helper first sends a line about the file */
    bool begun;                 /* the answer has */
    bool over;                  /* r was answered; waits for the end of the helper */
};

/* Makes a call for r and becomes its owner. */
struct transfer_call *transfer_new(struct req *r, const struct transfer_ask *q);
/* Starts the helper; args: for the log. Returns -1 and sets *e. */
int transfer_start(struct transfer_call *t, const struct transfer_ask *q,
                   const struct json *args, bool input, bool output, struct err *e);
/* Answers with e, and frees t at the end of the turn. */
void transfer_fail(struct transfer_call *t, const struct err *e);
/* The same with a result. */
void transfer_done(struct transfer_call *t, struct str result);
void transfer_bury(struct transfer_call *t);

/* ---- body.c ---- */

/* The helper has room again. */
void body_room(struct transfer_call *t);
/* The helper ended before the body. Returns false if the body is not a form. */
bool body_ended(struct transfer_call *t, struct str result, const struct err *e);
/* The client disconnected: the helper ends by itself. Returns false if the body is not a
 * form. */
bool body_gone(struct transfer_call *t);
/* The action was cancelled. Returns false if the body is not a form. */
bool body_cancel(struct transfer_call *t, const struct err *e);
void body_free(struct transfer_body *b);

#endif
