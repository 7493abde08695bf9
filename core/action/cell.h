/* SPDX-License-Identifier: MIT */
/*
 * Events of a running cell, for the actions `cell` and run_ipython: its output as
 * cell_output, at most 1 MiB, with pieces joined that come within 100 ms; its questions
 * as cell_input, which the action `input` answers.
 */
#ifndef OD_ACTION_CELL_H
#define OD_ACTION_CELL_H

#include "action/action.h"

/* Embedded in its owner, which runs the cell; in use from begin to over or drop. */
struct action_cell {
    struct list node;
    struct actions *all; /* NULL: it has not begun, or is over */
    uint64_t id;         /* of the action */
    char session[ACTION_SESSION_MAX + 1];
    struct buf unsaid; /* owned; output that is in no event yet */
    uint64_t told;     /* bytes that are in events */
    struct timer tell;
    struct cell *cell; /* borrowed; NULL: it cannot be held */
    bool asks;         /* a question waits for its answer: */
    bool password;
    struct buf prompt; /* owned */
    void (*answer)(void *owner, struct str text);
    void *owner;
};

/* answer is called once for each question, with a text without a newline. */
void action_cell_begin(struct action_cell *c, struct actions *all, uint64_t id,
                       const char *session, void (*answer)(void *, struct str),
                       void *owner);
/* As on_output and on_input of kernel.h. */
void action_cell_said(struct action_cell *c, struct str type, const struct json *content);
void action_cell_asks(struct action_cell *c, struct str prompt, bool password);
/* The cell is over: writes the rest of its output; takes no more answers. Idempotent. */
void action_cell_over(struct action_cell *c);
/* The same without the rest of the output. Idempotent. */
void action_cell_drop(struct action_cell *c);

/*
 * Who gets the messages of one cell as they come. Embedded in its owner, from
 * action_cell_follow until `ended` was called or action_cell_unfollow.
 */
struct cell_follower {
    struct list node;
    /* The kernel runs it as number count; may come more than once. */
    void (*begun)(struct cell_follower *f, int64_t count);
    /* As on_output of kernel.h. */
    void (*said)(struct cell_follower *f, struct str type, const struct json *content);
    /* Last and once; f is not used after it. */
    void (*ended)(struct cell_follower *f, const struct action_result *r);
    uint64_t id; /* of the action */
};
/* Follows the action id, which was opened and not yet started: action_open, action_go. */
void action_cell_follow(struct actions *all, uint64_t id, struct cell_follower *f);
/* No call follows. Idempotent after action_cell_follow. */
void action_cell_unfollow(struct cell_follower *f);
/* Stops and restarts `said` of the action's cell, which waits in the spool meanwhile. */
void action_cell_hold(const struct actions *all, uint64_t id, bool hold);
/* For kinds: the kernel runs the cell as number count. */
void action_cell_begun(struct action_cell *c, int64_t count);

/* The cell of the action id, which has begun and is not over; NULL: there is none. */
const struct action_cell *action_cell_find(const struct actions *all, uint64_t id);
/*
 * Answers the question of the cell of action id; a newline at the end is left out.
 * Returns -1 and sets *e if it has no question.
 */
int action_cell_input(struct actions *all, uint64_t id, struct str text, struct err *e);

#endif
