/* SPDX-License-Identifier: MIT */
/* What recording.c and recording_log.c share. */
#ifndef OD_FRONT_TERMINAL_RECORDING_OWN_H
#define OD_FRONT_TERMINAL_RECORDING_OWN_H

#include "action/log.h"
#include "base/list.h"
#include "shell/session.h"

enum { RECORDED_TEXT = 200 };

/* A command of the session, or the end of another action that had output; or what was
 * typed into a process, of which only the time is known. */
struct recorded {
    struct list node;
    uint64_t id;
    uint64_t from, to; /* its output; to UINT64_MAX: it runs */
    int64_t begin_us, end_us;
    bool command, begun, typed;
    bool input; /* the command is input for the one that runs */
    bool more;  /* text is not all of it */
    char text[RECORDED_TEXT + 1]; /* its first line */
};

/* What the log knows about a session. Embedded in struct recording. */
struct recorded_log {
    struct actions *all;
    char session[ACTION_SESSION_MAX + 1];
    uint64_t action;    /* the recording begins with it; 0: none */
    int64_t created_us; /* the spool is that old; 0: unknown */
    uint64_t first;     /* the oldest action with output that counts; 0: none */
    uint64_t start;     /* where the output of `action` begins */
    int64_t start_us;   /* when it was sent; 0: it was not found */
    bool started;       /* start is known */
    bool process;       /* not a session: what is typed counts, it has no commands */
    uint64_t last_to;
    struct event_cursor at;
    uint64_t end;               /* reading stops at this event, or soon after it */
    unsigned raised;            /* how often it was raised */
    struct list waiting, ready; /* owned: of struct recorded, oldest first */
    unsigned nwaiting;
    struct buf lines; /* owned */
};

void recorded_open(struct recorded_log *g);
void recorded_release(struct recorded_log *g);
/* Does the first pass, a part of it. Returns true when it is over. */
bool recorded_scan(struct recorded_log *g);
/* Sets where the second pass begins. Returns -1 and sets *e if `action` is unknown. */
int recorded_begin(struct recorded_log *g, struct err *e);
/* Adds commands to ready, a part of the log. Returns true when all were read. If end is
 * raised after that, it continues with the new events. */
bool recorded_read(struct recorded_log *g);
/* The oldest one that is ready; NULL: none. */
struct recorded *recorded_first(struct recorded_log *g);
void recorded_drop(struct recorded *c);

#endif
