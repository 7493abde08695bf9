/* SPDX-License-Identifier: MIT */
/*
 * The worker's end of the keeper (keeper.h): what is held there, and the
 * programs that run there.
 *
 * Sending never fails for want of room: the keeper never blocks, so waiting
 * for it is short. A keeper that is gone ends the worker.
 */
#ifndef OD_KEEPER_HOLD_H
#define OD_KEEPER_HOLD_H

#include "io/loop.h"
#include "keeper/keepmsg.h"
#include "keeper/minder.h"

struct hold;

/* A program at the keeper; embedded in its owner (a session, a process). */
struct proc {
    struct hold *hold;  /* NULL: not attached */
    struct keep_proc r; /* the latest record */
    int in;             /* owned; a PTY's master, else -1 */
    int spool[2];       /* owned; -1: no such stream */
    unsigned unseen;    /* records not acknowledged yet */
    uint64_t sent;      /* input handed to the keeper: the next offset */
    struct {
        bool set;     /* a KEEP_FLOW may hold */
        uint64_t at;  /* the last one's offset, or what was there then */
        int64_t ms;   /* when it was sent */
    } flow[2];
    uid_t uid;
    gid_t gid;
    void (*changed)(struct proc *p);
};

struct hold_events {
    /* A held listening socket, or what hold_keep gave; our copy, owned by the callee. */
    void (*held)(void *arg, struct str name, int fd);
    /* A state as last stored, before ready. */
    void (*state)(void *arg, struct str key, struct str value);
    /* Everything was handed over: take programs with hold_claim. */
    void (*ready)(void *arg);
    void (*signal)(void *arg, int signo);
};

typedef void hold_answer_fn(void *arg, const struct minder_answer *a, int errnum);

/* Takes fd. NULL with errno. */
struct hold *hold_open(struct loop *l, int fd, const struct hold_events *ev, void *arg);

/* A program handed over by number: fills p. -1: there is none such. */
int hold_claim(struct hold *h, struct proc *p, uint64_t id);
/* Forgets handed programs that nobody claimed, once after ready. */
void hold_drop_unclaimed(struct hold *h);

struct hold_spawn {
    const char *program, *cwd;
    char *const *argv, *const *envp;
    uid_t uid;
    gid_t gid;
    unsigned kind;        /* KEEP_PTY, KEEP_IN, KEEP_ERR */
    int child[3];         /* borrowed; PTY: the slave first */
    int in, out[2];       /* ours; taken: only a PTY's master (both) stays the proc's */
    int spool[2];         /* taken: they stay the proc's */
    uint64_t spool_bytes; /* ring size, a multiple of 1 KiB */
    uint64_t offset;      /* where its output begins */
    bool whole;           /* no byte is given up for the budget: its reader is ours */
    /*
     * The owner's state, stored in the same step: without it a worker that takes over
     * right then finds a program of nobody, and a repeated request starts another one.
     */
    struct str key, value;
};
/* The id of the program that hold_spawn starts next, for the state that goes with it. */
uint64_t hold_next_id(const struct hold *h);
/*
 * Starts it; what happens next comes through p->changed. -1: ERR_LIMIT when
 * arguments and environment are too long; the descriptors are then closed.
 */
int hold_spawn(struct hold *h, struct proc *p, const struct hold_spawn *s, struct err *e);
/* A FIFO's writing end as an input alone; takes fd. */
void hold_input_only(struct hold *h, struct proc *p, int fd);
/* Input, with a state in the same step (key.n may be 0). */
void hold_write(struct proc *p, struct str bytes, struct str key, struct str value);
/*
 * The same for what the program answers with output: p->changed is not called for the
 * input's sake, unless some of it waits. Without an answer hold_room would shrink.
 */
void hold_write_quietly(struct proc *p, struct str bytes, struct str key,
                        struct str value);
/* The same for a command that a caller waits for: as hold_flow, from here on. */
void hold_write_awaited(struct proc *p, struct str bytes, struct str key,
                        struct str value);
/*
 * A caller waits for stream i from `at` on (HOLD_NOBODY: no caller waits): the program
 * is held back before that is overwritten. To be called whenever one of them may have
 * changed; the keeper is told only when it matters. Returns whether the caller is so
 * far behind that hold_flow_again should be called while it takes bytes.
 */
#define HOLD_NOBODY UINT64_MAX
bool hold_flow(struct proc *p, int i, uint64_t at);
/* The caller at that offset took bytes: it gets LIMIT_HOLD_BACK_MS from now. */
void hold_flow_again(struct proc *p, int i);
/* Room for input before the keeper would have to drop some. */
size_t hold_room(const struct proc *p);
void hold_close_input(struct proc *p);
/* Ends the program's record at the keeper; its own descriptors are closed. */
void hold_forget(struct proc *p);

void hold_put(struct hold *h, struct str key, struct str value);
/* The keeper has a copy of fd, a socket or memory, and hands it to later workers. */
void hold_keep(struct hold *h, struct str name, int fd);
/* Asks the minder of uid; fn (may be NULL) is called once, when the answer comes. */
void hold_ask(struct hold *h, uid_t uid, gid_t gid, const struct minder_request *q,
              hold_answer_fn *fn, void *arg);
/* why: what kept the new file from serving, "" when it serves. */
typedef void hold_upgrade_fn(void *arg, struct str why);
/*
 * Asks the keeper to start the worker from another file, which is borrowed (-1:
 * errno says why it could not be opened); name is its, for people. fn is called
 * once if it is refused. Otherwise this worker ends first: the next one asks with
 * the same token (not 0) and is told.
 */
void hold_upgrade(struct hold *h, uint64_t token, int file, struct str name,
                  hold_upgrade_fn *fn, void *arg);
/* Answers that are still to come for arg are dropped. */
void hold_ask_cancel(struct hold *h, void *arg);
void hold_serving(struct hold *h);
void hold_stop(struct hold *h, int64_t grace_ms);

#endif
