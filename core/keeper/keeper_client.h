/* SPDX-License-Identifier: MIT */
/*
 * The worker's side of the keeper (keeper.h): what the keeper holds, and the
 * programs that it runs.
 *
 * Sending never fails for lack of room: it blocks, but not for long, since the
 * keeper never blocks. The worker exits when the keeper is gone.
 */
#ifndef OD_KEEPER_CLIENT_H
#define OD_KEEPER_CLIENT_H

#include "io/loop.h"
#include "keeper/keepmsg.h"
#include "keeper/reaper.h"

struct keeper_client;

/* A program at the keeper; embedded in its owner (a session, a process). */
struct proc {
    struct keeper_client *keeper; /* NULL: not attached */
    struct keep_proc r;           /* the latest record */
    int in;                       /* owned; a PTY's master, else -1 */
    int spool[2];                 /* owned; -1: no such stream */
    unsigned unseen;              /* records not acknowledged yet */
    uint64_t sent;                /* input handed to the keeper: the next offset */
    struct {
        bool set;    /* a KEEP_FLOW may be in force */
        uint64_t at; /* its offset, or the end of the output at that time */
        int64_t ms;  /* when it was sent */
    } flow[2];
    uid_t uid;
    gid_t gid;
    void (*changed)(struct proc *p);
};

struct keeper_client_events {
    /* A held listening socket, or a descriptor of keeper_client_keep; the callee owns our
     * copy. */
    void (*held)(void *arg, struct str name, int fd);
    /* A state as last stored, before ready. */
    void (*state)(void *arg, struct str key, struct str value);
    /* The handover is complete: claim programs with keeper_client_claim. */
    void (*ready)(void *arg);
    void (*signal)(void *arg, int signo);
};

typedef void keeper_client_answer_fn(void *arg, const struct reaper_answer *a,
                                     int errnum);

/* Takes fd. NULL with errno. */
struct keeper_client *keeper_client_open(struct loop *l, int fd,
                                         const struct keeper_client_events *ev,
                                         void *arg);

/* Attaches p to the program of this id that was handed over. -1: there is none. */
int keeper_client_claim(struct keeper_client *h, struct proc *p, uint64_t id);
/* Forgets programs that were handed over and not claimed. Once, after ready. */
void keeper_client_drop_unclaimed(struct keeper_client *h);

struct keeper_client_spawn {
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
    bool whole;           /* its spools are never shortened for the budget */
    /*
     * The owner's state, stored in the same step: otherwise a worker that takes over at
     * that moment finds a program without owner, and a repeated request starts a second.
     */
    struct str key, value;
};
/* The id of the program that keeper_client_spawn starts next, for the state that goes
 * with it. */
uint64_t keeper_client_next_id(const struct keeper_client *h);
/*
 * Starts it, with a caller who waits for its output from the first byte on, as by
 * keeper_client_flow; what happens next comes through p->changed. -1: ERR_LIMIT when
 * arguments and environment are too long; the descriptors are then closed.
 */
int keeper_client_spawn(struct keeper_client *h, struct proc *p,
                        const struct keeper_client_spawn *s, struct err *e);
/* Attaches p to fd, the writing end of a FIFO: an input without a program. Takes fd. */
void keeper_client_input_only(struct keeper_client *h, struct proc *p, int fd);
/* Input, with a state in the same step (key.n may be 0). */
void keeper_client_write(struct proc *p, struct str bytes, struct str key,
                         struct str value);
/*
 * The same for input that the program answers with output: p->changed is called only if
 * some of the input has to wait. The output's record is what makes keeper_client_room
 * grow again.
 */
void keeper_client_write_quietly(struct proc *p, struct str bytes, struct str key,
                                 struct str value);
/* The same for a command that a caller waits for: keeper_client_flow from the output's
 * end on. */
void keeper_client_write_awaited(struct proc *p, struct str bytes, struct str key,
                                 struct str value);
/*
 * A caller waits for stream i from `at` on (HOLD_NOBODY: no caller waits): the program
 * is held back before the bytes from `at` on are overwritten. It is held back for
 * LIMIT_HOLD_BACK_MS at most, or while this worker lives if it was started as whole. To
 * be called whenever caller or offset may have changed; only changes that matter are
 * sent. Returns whether the caller is so far behind that keeper_client_flow_again should
 * be called when it takes bytes.
 */
#define HOLD_NOBODY UINT64_MAX
bool keeper_client_flow(struct proc *p, int i, uint64_t at);
/* The caller at that offset took bytes: it gets LIMIT_HOLD_BACK_MS from now. */
void keeper_client_flow_again(struct proc *p, int i);
/* Bytes of input that the keeper takes without dropping any. */
size_t keeper_client_room(const struct proc *p);
/* Ends the input after what is pending. */
void keeper_client_close_input(struct proc *p);
/* Drops the program's record at the keeper, and closes p's descriptors. */
void keeper_client_forget(struct proc *p);

/* Stores a state; an empty value deletes it. */
void keeper_client_put(struct keeper_client *h, struct str key, struct str value);
/* Stores rules of the network and gives them to the supervisors (reach/supervisor.h). */
void keeper_client_rules(struct keeper_client *h, struct str rules);
/* Gives the keeper a copy of fd, a socket or memory, for all later workers. */
void keeper_client_keep(struct keeper_client *h, struct str name, int fd);
/*
 * Asks the reaper of uid; fn (may be NULL) is called once, when the answer comes, or with
 * an errno if none comes: ESRCH when the reaper is gone.
 */
void keeper_client_ask(struct keeper_client *h, uid_t uid, gid_t gid,
                       const struct reaper_request *q, keeper_client_answer_fn *fn,
                       void *arg);
/* why: what kept the new file from serving, "" when it serves. */
typedef void keeper_client_upgrade_fn(void *arg, struct str why);
/*
 * Asks the keeper to start the worker from another file, which is borrowed (-1: it
 * could not be opened, for the reason errno); name is the file's, for messages. fn is
 * called once if the file is refused. Otherwise this worker ends: the next one asks
 * with the same token (not 0) and gets the outcome.
 */
void keeper_client_upgrade(struct keeper_client *h, uint64_t token, int file,
                           struct str name, keeper_client_upgrade_fn *fn, void *arg);
/* Drops answers that are still to come for arg. */
void keeper_client_ask_cancel(struct keeper_client *h, void *arg);
/* Reports that the handover is digested and requests are answered. */
void keeper_client_serving(struct keeper_client *h);
/* Asks the keeper to end the sandbox. */
void keeper_client_stop(struct keeper_client *h, int64_t grace_ms);

#endif
