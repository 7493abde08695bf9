/* SPDX-License-Identifier: MIT */
/*
 * The protocols of agent-sandbox's clients (https://github.com/kubernetes-sigs/
 * agent-sandbox): the runtime API of examples/python-runtime-sandbox and the REST half of
 * packages/sandboxd, at their own listeners (--listen sandbox@ADDRESS). All paths are
 * below one folder and do not leave it.
 *
 *   front.c    the front-end: options, routes, refusals
 *   execute.c  POST /execute
 *   runtime.c  /upload, /download, /list, /exists
 *   rest.c     /v1/files, /v1/health, /v1/metadata
 */
#ifndef OD_FRONT_SANDBOX_OWN_H
#define OD_FRONT_SANDBOX_OWN_H

#include "action/action.h"
#include "front/front.h"
#include "front/transfer/transfer.h"

#define SANDBOX_SOURCE ACTION_SOURCE_SANDBOX

struct sandbox_http {
    struct http_front front;
    struct engine *en;
    struct json *env;   /* owned: what GET /v1/metadata reports */
    const char *base;   /* owned; "": the directory of the session main */
    int64_t timeout_ms; /* of POST /execute; 0: none */
    bool closed;        /* the server ends */
    struct list executes;
};

/* Returns the served folder. Borrowed. */
const char *sandbox_http_base(const struct sandbox_http *f);
/*
 * Sets *out to the served folder and the user that owns its files and programs. Returns
 * -1 and sets *e if that user does not exist.
 */
int sandbox_http_place(const struct sandbox_http *f, struct sandbox_place *out,
                       struct err *e);
/* Answers {"message": text}, as FastAPI's handlers of the runtime do. */
void sandbox_http_say(struct req *r, int status, const char *text);
/* Answers JSON; takes j. */
void sandbox_http_answer(struct req *r, int status, struct json *take);

/* Returns the part of the path that matches the route's "*", decoded. */
struct str sandbox_http_path(const struct req *r);

/* A transfer_ask (transfer.h) with the members that all requests share. */
struct sandbox_http_ask {
    struct transfer_ask q;
    struct sandbox_place place;
};
/* Fills *a. Returns -1 after answering with words->fail if there is no such user. arg: as
 * in transfer.h. */
int sandbox_http_ask(struct req *r, struct sandbox_http_ask *a, const char *verb,
                     const struct json *args, const struct transfer_words *words,
                     void *arg);

/*
 * Lists a whole folder, page by page: calls put for each entry, and answers with what put
 * appended, between head and tail. args: path and other arguments of `list`; taken.
 */
typedef bool sandbox_http_entry_fn(struct buf *out, const struct json *entry, void *arg);
void sandbox_http_list(struct req *r, struct json *take_args, struct str head,
                       struct str tail, sandbox_http_entry_fn *put,
                       void (*fail)(struct req *, void *, const struct err *));

/* ---- routes ---- */

void sandbox_http_post_execute(struct req *r);
void sandbox_http_post_upload(struct req *r);
void sandbox_http_get_download(struct req *r);
void sandbox_http_get_list(struct req *r);
void sandbox_http_get_exists(struct req *r);

void sandbox_http_rest_get(struct req *r);
void sandbox_http_rest_put(struct req *r);
void sandbox_http_rest_delete(struct req *r);
void sandbox_http_rest_health(struct req *r);
void sandbox_http_rest_metadata(struct req *r);
/* Answers an error in sandboxd's form: {"code","message"}. */
void sandbox_http_rest_fail(struct req *r, int status, const char *text);

#endif
