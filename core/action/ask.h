/* SPDX-License-Identifier: MIT */
/*
 * One action, and who waits for its observation: what most front-ends do for a request.
 *
 *   action_ask or action_ask_do ─▶ done(), once
 *        └── action_ask_drop ─▶ done() is not called, and the action goes on
 */
#ifndef OD_ACTION_ASK_H
#define OD_ACTION_ASK_H

#include "action/action.h"

/* Embedded in its owner, zeroed; in use until `done` or action_ask_drop. */
struct action_ask {
    struct action_watch watch;
    struct actions *all;
    uint64_t id; /* of the action; 0: not in use */
    /*
     * observation: {"content", "extras", …}, borrowed; NULL if the action failed, then *e
     * has the reason. The owner may be freed in it, or ask again.
     */
    void (*done)(struct action_ask *q, const struct json *observation,
                 const struct err *e);
};

/*
 * Opens an action as action_open does, and starts it in its turn. Takes message. Returns
 * 0; done may be called before this returns. On error returns -1 and sets *e: done is not
 * called.
 */
int action_ask(struct action_ask *q, struct actions *all, struct json *message,
               const struct action_order *o, struct err *e);
/* The same as actions_do does it: a client_id that is known is that action, which may
 * have ended. */
int action_ask_do(struct action_ask *q, struct actions *all, struct json *message,
                  const char *source, struct err *e);
/* Waits for an action that has not ended, such as one of the previous worker. */
void action_ask_follow(struct action_ask *q, struct actions *all, uint64_t id);
/* Idempotent; does nothing if q is zeroed. */
void action_ask_drop(struct action_ask *q);

/* Returns {"action": name, "args": take_args}, which the caller owns. */
struct json *action_message(const char *name, struct json *take_args);

#endif
