/* SPDX-License-Identifier: MIT */
/* What the files browsing*.c share: a browser, and a call to it. */
#ifndef OD_BROWSER_BROWSING_OWN_H
#define OD_BROWSER_BROWSING_OWN_H

#include "base/list.h"
#include "browser/browsing.h"
#include "shell/process.h"

#include <limits.h>

enum {
    BROWSING_NAME = 40, /* bytes of one */
    BROWSING_DONE = 8,  /* calls that are remembered */
    /* The host ends calls, in time or when they are cancelled; so much later it hangs. */
    BROWSING_GRACE_MS = 15000
};

extern const char browsing_stem[];        /* of the processes' names */
extern const char *const browsing_kept[]; /* the names of the options; NULL ends them */

enum browsing_step { WAITING, RUNNING };

struct browsing_call {
    struct list node;
    struct browsing *b;
    browsing_done_fn *done; /* NULL: nobody listens */
    void *owner;
    char id[LIMIT_ID + 1];
    struct buf line; /* what is asked; emptied when it was sent */
    enum browsing_step step;
    bool cancelled; /* the host was told */
    int64_t timeout_ms, begun_ms;
    uint64_t in, len; /* where it is in the host's input */
    struct timer limit;
};

struct browsing {
    struct engine *en;
    char *name;
    struct json *opts;       /* those of browsing_kept */
    struct process *process; /* NULL: none */
    char dir[PATH_MAX];      /* where the host keeps its things */
    struct op *op;           /* borrowed: its reader; NULL: none */
    struct buf line;
    bool skipping; /* the rest of a line that was not seen whole */
    uint64_t at, seen;
    /* Calls that were answered, the newest last; of that the host has the answer. */
    char done[BROWSING_DONE][LIMIT_ID + 1];
    char *url, *title, *mode; /* of the last answer */
    struct list calls;        /* the first one may be RUNNING */
    struct task pump, fall;
    struct err why; /* the process is gone */
    struct timer idle;
    int64_t used_ms; /* wall clock */
};

/* browsing.c */
struct browsing *browsing_make(struct engine *en, struct str name);
struct browsing_call *browsing_call_make(struct browsing *b, struct str id);
/* NULL: there is none. */
struct browsing_call *browsing_first(const struct browsing *b);
/* One that runs has so much time, and the host its grace. */
void browsing_limit(struct browsing_call *c, int64_t left_ms);
void browsing_idle(struct browsing *b, int64_t left_ms);
void browsing_remember(struct browsing *b, const char *id);
void browsing_set_place(char **place, struct str s);
/* Reads what the host says, from that offset on. */
void browsing_follow(struct browsing *b, uint64_t from);
/* A line to the host. */
void browsing_send(struct browsing *b, struct str line);
/* Its browser and its folder go with it, when it can still do that. */
void browsing_end_process(struct engine *en, struct process *p);

/* browsing_state.c: what the keeper has of it. */
void browsing_save(struct browsing *b);
void browsing_forget(struct browsing *b);

#endif
