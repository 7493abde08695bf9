/* SPDX-License-Identifier: MIT */
/* The action of a request (action/outside.h). */
#ifndef OD_FRONT_LOCAL_ACT_H
#define OD_FRONT_LOCAL_ACT_H

#include "action/outside.h"

struct conn;

/*
 * Writes the action of q to the log before it begins; take: its args. If the same request
 * came before, returns OUTSIDE_AGAIN (the action has not ended) or OUTSIDE_OVER (it has).
 */
enum outside_state local_open(struct conn *c, const char *kind, const struct json *q,
                              const char *session, struct json *take);
/* The request's action; NULL if it has ended. */
struct action *local_action(struct conn *c);
/* Ends the action, if it has not ended. take: its extras, or NULL. */
void local_end(struct conn *c, struct str text, struct json *take);
void local_end_failed(struct conn *c, const struct err *e);
/* Sets the function that stops the request's action; it gets c. NULL: none. */
void local_on_cancel(struct conn *c, outside_stop *stop);
/* Ends the action as cancelled, and the request with it. */
void local_cancelled(struct conn *c, const char *text);
/* Ends the action with an error, because its caller has disconnected. */
void local_end_left(struct conn *c);
/*
 * Ends the action of a request that is done at once. r < 0: it failed with *e, and no
 * answer is sent. Otherwise sends an answer. take: members of it and of the action's
 * extras, or NULL. Returns r.
 */
int local_done(struct conn *c, int r, struct json *take, const struct err *e);
/*
 * Answers from the log after OUTSIDE_OVER. Returns -1 and sets *e if the action had
 * failed.
 */
int local_again(struct conn *c, struct err *e);

/* Copies the members of q that names, which ends with NULL, lists. */
void local_put(struct json *args, const struct json *q, const char *const names[]);
/* Appends text; of a long one only both ends, as much as the log keeps of output. */
void local_cut(struct buf *out, struct str text);
/* Adds the names in q's env, without their values. */
void local_put_env(struct json *args, const struct json *q);

#endif
