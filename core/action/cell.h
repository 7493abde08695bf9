/* SPDX-License-Identifier: MIT */
/*
 * Events of a running cell, for the actions `cell` and run_ipython. Its output is in
 * events cell_output, 1 MiB at most; pieces that come within 100 ms share an event. A
 * picture has an event of its own; of the pictures, 512 KiB at most are shown. Its
 * questions are events cell_input, which the action `input` answers.
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
    bool open;         /* the last of it is a display that has not ended its line */
    uint64_t told;     /* bytes that are in events */
    size_t shown;      /* bytes of pictures that are in events */
    struct timer tell;
    struct cell *cell; /* borrowed; NULL: it cannot be held */
    bool asks;         /* a question waits for its answer: */
    bool password;
    struct buf prompt; /* owned */
    void (*answer)(void *owner, struct str text);
    void *owner;
};

/*
 * Begins with a zeroed c, for the cell of the action id. answer is called once for each
 * question, with the text without the newline at its end.
 */
void action_cell_begin(struct action_cell *c, struct actions *all, uint64_t id,
                       const char *session, void (*answer)(void *, struct str),
                       void *owner);
/* The owner calls these from its on_output and on_input of kernel.h. */
void action_cell_said(struct action_cell *c, struct str type, const struct json *content);
/* Adds text of the owner's, as a display, for events only. */
void action_cell_adds(struct action_cell *c, struct str text);
/* Whether somebody gets its messages, with all data. */
bool action_cell_followed(const struct action_cell *c);
void action_cell_asks(struct action_cell *c, struct str prompt, bool password);
/* Ends the events: writes the rest of the output; takes no more answers. Idempotent. */
void action_cell_over(struct action_cell *c);
/* The same, but drops the rest of the output. Idempotent. */
void action_cell_drop(struct action_cell *c);

/* Does the cell of the action ask for a password? */
bool action_cell_hides(const struct actions *all, uint64_t id);
/* Returns the action of that session whose cell asks a question; 0: none. */
uint64_t action_cell_asking(const struct actions *all, struct str session);

/*
 * Receives the messages of one cell as they come. Embedded in its owner; in use from
 * action_cell_follow until `ended` or action_cell_unfollow.
 */
struct cell_follower {
    struct list node;
    /* The kernel runs it as number count; may come more than once. NULL: not wanted. */
    void (*begun)(struct cell_follower *f, int64_t count);
    /* As on_output of kernel.h. NULL: not wanted. */
    void (*said)(struct cell_follower *f, struct str type, const struct json *content);
    /* Called once, as the last; f is not used after it. */
    void (*ended)(struct cell_follower *f, const struct action_result *r);
    uint64_t id; /* of the action */
};
/* Follows the action id. To be called between action_open and action_go. */
void action_cell_follow(struct actions *all, uint64_t id, struct cell_follower *f);
/* No call follows. Idempotent after action_cell_follow. */
void action_cell_unfollow(struct cell_follower *f);
/* Pauses or continues `said` of the action's cell; its output waits in the spool. */
void action_cell_hold(const struct actions *all, uint64_t id, bool hold);
/* For kinds: the kernel runs the cell as number count. */
void action_cell_begun(struct action_cell *c, int64_t count);

/* Returns the running cell of the action id, borrowed; NULL if there is none. */
const struct action_cell *action_cell_find(const struct actions *all, uint64_t id);
/*
 * Answers the question of that cell; a newline at the end of text is left out. Returns -1
 * and sets *e if it asks none.
 */
int action_cell_input(struct actions *all, uint64_t id, struct str text, struct err *e);

#endif
