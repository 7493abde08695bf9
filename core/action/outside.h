/* SPDX-License-Identifier: MIT */
/*
 * Actions that a front-end does itself, because their caller takes part: od exec streams
 * output, gives input, and has its own time limits. Each is in the log before it begins
 * and has one observation, whether or not its caller stays.
 *
 *   outside_open ─▶ in the log ─▶ the front-end does it ─▶ outside_end or outside_fail
 *                                  └─ a command of a session: run.h ends it
 *
 * The id of the request names the action: a caller that comes back with the same id,
 * after a restart of the worker or on another connection, gets the same action. After a
 * restart, an action that has begun is followed (follow.h). One that has not begun waits
 * for its caller, and is ended with an error after OUTSIDE_BACK_MS. A command is taken up
 * at once (run.h).
 *
 * If the log has no room, the action is done nevertheless, and the log has a gap.
 */
#ifndef OD_ACTION_OUTSIDE_H
#define OD_ACTION_OUTSIDE_H

#include "action/action.h"

#define ACTION_SOURCE_EXEC "exec"

enum { OUTSIDE_BACK_MS = 60000 }; /* as long as od exec tries to come back */

struct outside_order {
    const char *kind;   /* "run", "input", … as outside.c lists them */
    struct str session; /* name of the session, kernel, …; empty: "main" */
    struct str id;      /* of the request; empty: it cannot be repeated */
    const char *source; /* as in struct action; NULL: ACTION_SOURCE_EXEC */
    uid_t uid;          /* of the peer */
    pid_t pid;
    struct json *args; /* taken; NULL: none */
};

enum outside_state {
    OUTSIDE_NEW,
    OUTSIDE_AGAIN, /* a repeated request; the action has not ended */
    OUTSIDE_OVER   /* a repeated request; the action has ended and is gone */
};

/*
 * Writes the action to the log, or finds it by o->id. *a is borrowed until its end. With
 * OUTSIDE_OVER *a is NULL, and *end is the id of its observation, if the log has one.
 */
enum outside_state outside_open(struct actions *all, const struct outside_order *o,
                                struct action **a, uint64_t *end);
/*
 * Sets how to stop the action while its front-end does it: stop makes the action end, at
 * once or later. Without a stop function, a cancelled action ends as cancelled in the log
 * while its work goes on. stop NULL removes the function if owner had set it.
 */
typedef void outside_stop(void *owner);
void outside_on_cancel(struct action *a, outside_stop *stop, void *owner);
/* Returns the action with this key that has not ended; NULL if there is none. */
struct action *outside_find(const struct actions *all, const char *key);
/*
 * Ends the action. take, an object or NULL, becomes the extras. The observation is
 * written by a task, after the answers of this turn are sent. The first end counts.
 */
void outside_end(struct action *a, struct str text, struct json *take);
void outside_fail(struct action *a, const struct err *e);

/* Puts a text into args for the log; with --log-commands none, its length and sum. */
void outside_put_text(const struct actions *all, struct json *args, const char *name,
                      struct str text);
/* Puts the length and the SHA-256 of a text in its place. */
void outside_put_sum(struct json *args, struct str text);
/* The same for an object; text is its JSON. */
void outside_put_json(const struct actions *all, struct json *args, const char *name,
                      const struct json *value, struct str text);

#endif
