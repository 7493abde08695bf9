/* SPDX-License-Identifier: MIT */
/*
 * What a cell says and asks while it runs, as events: of the actions `cell` and
 * run_ipython. Its text comes as cell_output, at most
 * 1 MiB of it, pieces that come soon after each other as one; what it asks as
 * cell_input, which the action `input` answers.
 */
#ifndef OD_ACTION_CELL_H
#define OD_ACTION_CELL_H

#include "action/action.h"

/* Embedded in who runs the cell, between begin and over. */
struct action_cell {
    struct list node;
    struct actions *all; /* NULL: it has not begun, or is over */
    uint64_t id;         /* of the action */
    char session[ACTION_SESSION_MAX + 1];
    struct buf unsaid; /* text that was not told yet */
    uint64_t told;     /* how much was */
    struct timer tell;
    bool asks; /* a question waits for its answer: */
    bool password;
    struct buf prompt; /* owned */
    void (*answer)(void *owner, struct str text);
    void *owner;
};

/* answer: text without a newline, once for each question. */
void action_cell_begin(struct action_cell *c, struct actions *all, uint64_t id,
                       const char *session, void (*answer)(void *, struct str),
                       void *owner);
/* As on_output and on_input of kernel.h. */
void action_cell_said(struct action_cell *c, struct str type, const struct json *content);
void action_cell_asks(struct action_cell *c, struct str prompt, bool password);
/* The rest of its text; nobody can answer it any more. Idempotent. */
void action_cell_over(struct action_cell *c);
/* Without its rest. Idempotent. */
void action_cell_drop(struct action_cell *c);

/* The cell of the action id, which has begun and is not over; NULL: there is none. */
const struct action_cell *action_cell_find(const struct actions *all, uint64_t id);
/* Answers the cell of the action id; a newline at the end is left out. -1: e. */
int action_cell_input(struct actions *all, uint64_t id, struct str text, struct err *e);

#endif
