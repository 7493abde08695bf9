/* SPDX-License-Identifier: MIT */
/*
 * Actions that V0 does not have: one row of action/native.def each, and a file that
 * says what it is. The stream keeps them in the log, knows them by their client_id, and
 * takes them up after a restart; the row says how one is done.
 *
 *   check ─▶ in the log ─▶ start ─▶ … ─▶ native_end or native_fail, once
 *                                    └─ cancel, by {"action":"cancel"}
 *
 * They do not wait for what their session runs. Those that are not `at_once` wait until
 * the sandbox's user and plugins are there, as V0's do.
 */
#ifndef OD_ACTION_NATIVE_H
#define OD_ACTION_NATIVE_H

#include "action/own.h"
#include "base/param.h"

/* What a worker does about one that the worker before had in the log without an end. */
enum native_again {
    NATIVE_AGAIN,      /* it is started, with n->again: twice is as good as once, or it
                          can tell what was done */
    NATIVE_DONE,       /* that worker did it */
    NATIVE_UNKNOWN,    /* whether it was done cannot be known: an error says so */
    NATIVE_INTERRUPTED /* it was not done: the same */
};

struct native_kind;

/* One of them, from its start to its end. Owned by the events it is in. */
struct native {
    struct list node;
    struct events *ev;
    const struct native_kind *kind;
    uint64_t id;       /* of the action */
    struct json *args; /* owned: an object */
    char session[V0_SESSION_MAX + 1];
    char key[EVENTS_KEY + 1]; /* its own name: 32 hex digits, the same after a restart */
    bool again;               /* the worker before had it */
    bool started;
    bool placed; /* where it is done is kept */
    bool noting; /* so is what it did, in a file */
    void *own;   /* the kind's */
};

struct native_kind {
    const char *name;
    bool at_once;
    const struct param_list *takes; /* never NULL */
    /*
     * What takes cannot have: relations between parameters. args fit takes, and are an
     * object, or NULL: none were given. Returns 0; -1 with *e set, and nothing is
     * logged. NULL: there is nothing more to check.
     */
    int (*check)(const struct json *args, struct err *e);
    /* Adds to the schema of takes what only its code knows; may be NULL. */
    void (*refine)(struct json *schema);
    /* May end it before it returns; n is valid until the turn is over. */
    void (*start)(struct native *n);
    /*
     * Somebody takes it back: stops what start began, frees own. It is ended by the
     * caller, which says so. NULL: it ends by itself at once.
     */
    void (*cancel)(struct native *n);
    enum native_again (*again)(const struct native *n); /* NULL: NATIVE_AGAIN */
};

#define NATIVE(name) extern const struct native_kind native_##name;
#include "action/native.def"
#undef NATIVE

/* The end: text is the observation's content, extras a JSON object or empty. */
void native_end(struct native *n, struct str text, struct str extras);
/* The end, as an error; extras.code is the name of e's code. */
void native_fail(struct native *n, const struct err *e);
/*
 * An event of something that goes on, without a cause: `object` is {"observation":…}.
 * The length of one is at most an event's. -1: the log has no room.
 */
int native_tell(struct native *n, struct buf *object, struct err *e);

/*
 * v0_place of its session, when it is first asked: after a restart the directory is the
 * same, wherever the session's shell is by then.
 */
int native_place(struct native *n, struct v0_place *out, struct err *e);

/*
 * A file for what it has done, which the next worker's native_note of it has, too: until
 * its end is in the log. The caller's. -1: there is none, for lack of a place.
 */
int native_note(struct native *n);

/* ---- for events.c and act.c ---- */

/* Takes up what the worker before kept, from engine.states. */
void natives_load(struct events *ev);
/* What nobody took up goes. */
void natives_loaded(struct events *ev);

/* NULL: it is none of these. */
const struct native_kind *native_find(const struct json *message);
/* The one at place i; NULL: there are no more. */
const struct native_kind *native_at(size_t i);
/* Adds ", NAME" for each of them. */
void native_names(struct buf *out);
int native_check(const struct native_kind *k, const struct json *message, struct err *e);
/* The same of its "args"; NULL: there are none. */
int native_check_args(const struct native_kind *k, const struct json *args,
                      struct err *e);
/* Starts what is in the log, now or when it may be; p is its pending. */
void native_start(const struct native_kind *k, const struct pending *p, struct events *ev,
                  const struct json *message, const char *key);
/* The same for one of the worker before. */
void native_resume(const struct native_kind *k, struct pending *p, struct events *ev,
                   const struct json *message, const char *key);
/* The sandbox is ready: those that wait begin. */
void natives_ready(struct events *ev);
/* Ends the one with this id. false: there is none. */
bool native_take_back(struct events *ev, uint64_t id);

#endif
