/* SPDX-License-Identifier: MIT */
/* The action of a request (action/outside.h). */
#ifndef OD_FRONT_LOCAL_ACT_H
#define OD_FRONT_LOCAL_ACT_H

#include "action/outside.h"

struct conn;

/*
 * Writes the action of q to the log before it begins, with take as its args, or finds
 * that it was asked before: OUTSIDE_AGAIN, it has not ended; OUTSIDE_OVER, it has.
 */
enum outside_state local_open(struct conn *c, const char *kind, const struct json *q,
                              const char *session, struct json *take);
/* The request's action; NULL: it has ended. */
struct action *local_action(struct conn *c);
/* Ends it, if it has not ended; take: its extras, or NULL. */
void local_end(struct conn *c, struct str text, struct json *take);
void local_end_failed(struct conn *c, const struct err *e);
/*
 * How the request's action is stopped: stop gets c. NULL: it no longer is.
 */
void local_on_cancel(struct conn *c, outside_stop *stop);
/* Ends the action as cancelled, and the request with it. */
void local_cancelled(struct conn *c, const char *text);
/* The same as local_end: its caller left. */
void local_end_left(struct conn *c);
/*
 * Ends the action of a request that is done at once: r 0: it was, the members of take
 * (or NULL) are in its extras and in the answer, which is sent. Returns r.
 */
int local_done(struct conn *c, int r, struct json *take, const struct err *e);
/* Answers OUTSIDE_OVER from the log. Returns -1 and sets *e if it had failed. */
int local_again(struct conn *c, struct err *e);

/* Copies those of these members, NULL-terminated, that q has. */
void local_put(struct json *args, const struct json *q, const char *const names[]);
/* Both ends of a long text, as much as the log has of output. Appended to out. */
void local_cut(struct buf *out, struct str text);
/* The names in env, without their values. */
void local_put_env(struct json *args, const struct json *q);

#endif
