/* SPDX-License-Identifier: MIT */
/*
 * Actions that the front-end which asks for them does itself, as their caller takes part:
 * od exec's has output as it comes, gives input, and has time limits of its own. Each is
 * in the log before it begins and has one observation, whether or not its caller stays.
 *
 *   outside_open ─▶ in the log ─▶ the front-end does it ─▶ outside_end or outside_fail
 *                                  └─ a command of a session: run.h ends it
 *
 * The id of the request names it: a caller that comes back with the same id, after a
 * restart of the worker or on another connection, gets the same action. One that the
 * worker before left is followed (follow.h) if what it asked for has begun; else it is
 * taken up when its caller comes back, and ended with an error when it does not within
 * OUTSIDE_BACK_MS. A command is taken up at once (run.h).
 *
 * A log that has no room stops nothing: the action is done, and a gap tells of it.
 */
#ifndef OD_ACTION_OUTSIDE_H
#define OD_ACTION_OUTSIDE_H

#include "action/action.h"

#define ACTION_SOURCE_EXEC "exec"

enum { OUTSIDE_BACK_MS = 60000 }; /* as long as od exec tries to come back */

struct outside_order {
    const char *kind;   /* "run", "input", … as outside.c lists them */
    struct str session; /* its name, or that of what the action is about; empty: "main" */
    struct str id;      /* of the request; empty: it cannot be asked again */
    const char *source; /* as in struct action; NULL: ACTION_SOURCE_EXEC */
    uid_t uid;          /* of the peer */
    pid_t pid;
    struct json *args; /* taken; NULL: none */
};

enum outside_state {
    OUTSIDE_NEW,
    OUTSIDE_AGAIN, /* it was asked before and has not ended */
    OUTSIDE_OVER   /* it was asked before and has ended: there is no action */
};

/*
 * Writes the action to the log, or finds it. *a is borrowed until its end; NULL with
 * OUTSIDE_OVER, then *end is the id of its observation, 0 if the log has none.
 */
enum outside_state outside_open(struct actions *all, const struct outside_order *o,
                                struct action **a, uint64_t *end);
/*
 * How the action is stopped, while its front-end does it: stop sees to it that the action
 * ends, at once or later. NULL: what is done goes on when the action is cancelled, and
 * the log has it as cancelled; so it is before the first call, and after one with NULL of
 * the owner that had set it.
 */
typedef void outside_stop(void *owner);
void outside_on_cancel(struct action *a, outside_stop *stop, void *owner);
/* The action of this key that has not ended; NULL: there is none. */
struct action *outside_find(const struct actions *all, const char *key);
/*
 * Ends it, with an object of extras or NULL, which is taken. Its observation is written
 * when this turn's answers are sent.
 */
void outside_end(struct action *a, struct str text, struct json *take);
void outside_fail(struct action *a, const struct err *e);

/* A text as the log has it: as NAME, or by --log-commands none its length and sum. */
void outside_put_text(const struct actions *all, struct json *args, const char *name,
                      struct str text);
/* The same of an object, which is `text` as JSON. */
void outside_put_json(const struct actions *all, struct json *args, const char *name,
                      const struct json *value, struct str text);

#endif
