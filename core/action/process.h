/* SPDX-License-Identifier: MIT */
/*
 * The action `process`: a program outside of sessions (shell/process.h), which waits for
 * no other action. Its observation comes at its end.
 *
 * A front-end that streams output watches for the start (action_watch.process of
 * action.h) and adds an op of its own to the process, which gets all output from the
 * beginning, also after a restart of the worker.
 */
#ifndef OD_ACTION_PROCESS_H
#define OD_ACTION_PROCESS_H

#include "action/ask.h"

struct process;

/* ---- for front-ends: one process and its follower ---- */

/*
 * Embedded in its owner, zeroed; in use from process_call until `started`, `failed` or
 * process_call_drop.
 */
struct process_call {
    struct action_ask ask;
    char key[ACTION_KEY + 1]; /* of the action */
    /* It was started: the owner adds its ops now, and gets all output. */
    void (*started)(struct process_call *c, struct process *p);
    /* It could not be started. */
    void (*failed)(struct process_call *c, const struct err *e);
};
/*
 * Opens the action `process` with these arguments, which it takes, and starts it; source
 * as in struct action. started or failed may be called before this returns. key: 32 hex
 * digits that name the action; NULL: random ones. Returns 0. On error returns -1 and sets
 * *e; then nothing is logged, and no call follows.
 */
int process_call(struct process_call *c, struct actions *all, const char *source,
                 struct json *take_args, const char *key, struct err *e);
/* Stops the calls; the process goes on. Idempotent. */
void process_call_drop(struct process_call *c);

/*
 * For an observation: appends the beginning and the end of its output to text, and adds
 * the same of its error output to extras as "stderr": {"content": …}.
 */
void process_put_outputs(const struct actions *all, const struct process *p,
                         struct buf *text, struct json *extras);

#endif
