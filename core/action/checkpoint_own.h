/* SPDX-License-Identifier: MIT */
/*
 * For both of them:
 *
 *   checkpoint.c         the actions
 *   checkpoint_before.c  the options, and checkpoints that are made before what may
 *                        change files
 */
#ifndef OD_ACTION_CHECKPOINT_OWN_H
#define OD_ACTION_CHECKPOINT_OWN_H

#include "action/checkpoint.h"
#include "action/own.h"
#include "checkpoint/checkpoint.h"
#include "engine/gate.h"
#include "io/job.h"

enum checkpoint_when {
    CHECKPOINT_OFF,
    CHECKPOINT_TURN,
    CHECKPOINT_EACH,
    CHECKPOINT_RISKY
};

/* One helper. Owned by its action, or by struct checkpoints. */
struct checkpointing {
    struct action *a;      /* whose result it is; NULL: it precedes something */
    struct checkpoints *o; /* then */
    void (*done)(void *arg, struct str result,
                 const struct err *e); /* or both are NULL */
    void *arg;
    struct job *job;
    struct sandbox_place place;
    struct store_user user;
    char store[256];
    char key[ACTION_KEY + 1];
    struct checkpoint_call call;
    bool resumed, kept;
    struct buf result;
    uint64_t action; /* in the log, that it precedes; 0: none */
};

/* The options, and the checkpoint that is being made before something. */
struct checkpoints {
    struct gate gate;
    struct actions *all;
    enum checkpoint_when when;
    int64_t wait_ms;
    uint64_t budget;
    struct json *dirs, *exclude;   /* owned; NULL: none */
    int64_t ended_ms;              /* clock_ms of the last end of an action; 0: none */
    struct list waits;             /* struct gate_wait: those that wait for it */
    uint64_t made;                 /* how many were begun */
    struct checkpointing *running; /* NULL: none */
    struct timer late;
    struct task go; /* calls those that wait */
    bool beside;    /* what it precedes did not wait for its end */
    bool turn;      /* one was made in this turn */
    struct watch_fds watch; /* owned; lent to helpers that make checkpoints */
};

/*
 * The user and the folder for a session, or a new one: the server's working directory,
 * if the session is in it. Returns -1 and sets *e.
 */
int checkpointing_place(struct actions *all, struct str session,
                        struct sandbox_place *out, struct err *e);
/*
 * Begins the helper of r, whose call has its verb and args, and whose place is known.
 * note: as of action_note, or -1. Returns -1 and sets *e.
 */
int checkpointing_begin(struct checkpointing *r, struct actions *all,
                        const struct job_events *ev, int note, struct err *e);
/* For these events: adds to the result. */
void checkpointing_data(struct job *j, struct buf *in);
void checkpointing_free(struct checkpointing *r);

extern const struct member checkpoint_made_members[];

#endif
