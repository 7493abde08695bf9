/* SPDX-License-Identifier: MIT */
/* What the keeper's files share. */
#ifndef OD_KEEPER_KEEPER_OWN_H
#define OD_KEEPER_KEEPER_OWN_H

#include "base/list.h"
#include "base/map.h"
#include "keeper/keeper.h"
#include "keeper/keepmsg.h"

#include <stdbool.h>
#include <sys/types.h>

enum { KEEPER_CHUNK = 64 << 10, KEEPER_HEALTHY_MS = 10000 };

enum watch_kind {
    WATCH_SIGNALS,
    WATCH_WORKER,
    WATCH_REAPER,
    WATCH_OUT,
    WATCH_IN,
    WATCH_COMMAND
};

/* What an epoll event points at; embedded in its owner. */
struct watch {
    enum watch_kind kind;
    int fd;          /* -1: not watched */
    uint32_t events; /* as registered */
};

/* Another file for the worker: keeper_upgrade.c has its states. */
struct upgrade {
    enum upgrade_state {
        UPGRADE_NONE,
        UPGRADE_CHECKING,
        UPGRADE_LEAVING,
        UPGRADE_TRIAL
    } state;
    uint64_t token;    /* of the request; 0: a signal */
    char name[256];    /* of the file, for messages */
    int fd;            /* owned; the new file, until it is the worker's */
    int before;        /* owned; the file to go back to; -1: none */
    int said;          /* owned; the output of the check */
    pid_t pid;         /* of the check; 0: none */
    int64_t deadline;  /* 0: none */
    int deaths;        /* of workers of the new file */
    bool due;          /* the outcome of token is still to be sent */
    char outcome[512]; /* of token; "": it was done */
};

/* The image's own program beside the worker. */
struct keeper_child {
    struct watch report; /* owned; of its start */
    pid_t pid;           /* 0: not running */
    int tty;             /* owned; the terminal that it got; -1: none */
};

struct keeper_proc;

/* A program's output, and its spool. */
struct keeper_stream {
    struct watch w; /* owns the descriptor */
    struct keeper_proc *owner;
    int spool;     /* owned */
    uint64_t told; /* see give_up_oldest */
    uint64_t from; /* the oldest byte that takes space */
    uint64_t flow; /* offset that a caller waits for, see KEEP_FLOW; UINT64_MAX: none */
    uint64_t small; /* on a full disk, room for what a caller waits for; 0: all */
    uint64_t full_at; /* 1 + the end of output when the disk was last full; 0: never */
    bool whole;    /* never shortened */
    bool read;     /* this worker has told where it reads */
    char *late;    /* owned; what the disk refused once, written again at held_until */
    size_t late_n; /* 0: nothing */
    bool refused;  /* the disk has refused output before */
    struct list rich; /* in keeper.rich, while it has more than LIMIT_SPOOL_FLOOR */
    struct list held; /* in keeper.held, while it is not read, for a slow caller */
    int64_t held_until;
    struct keep_stream s;
};

struct keeper_proc {
    struct list node, dirty; /* in keeper.procs; in keeper.dirty when a record is due */
    struct keep_proc p;
    struct keeper_stream out[2];
    struct watch in; /* owns the descriptor unless the PTY's master */
    int slave;       /* owned; a PTY's other side, so that it never hangs up early */
    char *pending;   /* owned; input that the program has not taken yet */
    size_t pending_n;
    uint64_t told_input; /* of which the worker was sent a record last */
    bool close_in;  /* close the input when pending is written */
    unsigned ahead; /* records sent and not acknowledged */
    bool handed;    /* this worker has its descriptors */
    uid_t uid;
};

/* By its key, in keeper.states. */
struct keeper_state {
    char *value; /* owned */
    size_t n;
    bool handed;
};

/* A descriptor that each worker gets. */
struct held {
    struct list node;
    char *name; /* owned */
    int fd;     /* owned */
    bool handed;
};

struct reaper {
    struct list node;
    struct watch w;
    uid_t uid;
    gid_t gid;
    pid_t pid;
    pid_t below; /* its own pid, if pid is its supervisor's; 0: not so, or not yet */
};

struct keeper {
    const struct keeper_config *conf;
    int epoll;
    struct watch signals, worker;
    pid_t worker_pid;
    int file;                                  /* the worker's; conf->self, or owned */
    int64_t worker_since, restart_at, kill_at; /* 0: no deadline */
    int pause;                                 /* ms before the next restart */
    bool ready_sent, serving, stopping, killed;
    bool leaving; /* the worker has asked for the end, and exits by itself */
    struct upgrade upgrade;
    struct keeper_child command;
    struct reaper *command_by; /* is starting the command; NULL: none is */
    int status; /* our own, at the end */
    struct list procs, dirty, helds, reapers;
    struct list rich;   /* streams with output to drop, longest silent first */
    struct list held;   /* streams that are held back, earliest deadline first */
    uint64_t spool_used; /* bytes in all spools */
    struct map ids; /* proc by id, 8 bytes */
    struct map states;
    size_t states_n; /* bytes of all of them */
    uint64_t refused, refused_kept; /* number of the last KEEP_M_REFUSED; kept of them */
    bool refused_due; /* one is to be sent */
    long nofile;     /* the soft limit that children get */
    int oom;         /* the oom_score_adj that children get */
    char space[sizeof(struct keep_head) + KEEP_DATA];
    char chunk[KEEPER_CHUNK];
};

/* keeper.c */
void watch_set(struct keeper *k, struct watch *w, uint32_t events);
void watch_close(struct keeper *k, struct watch *w);
/* Asks all processes to end; those that remain after the grace are killed. */
void keeper_stop(struct keeper *k, int64_t grace_ms);

/* keeper_proc.c */
struct keeper_proc *proc_by_id(struct keeper *k, uint64_t id);
/* Marks the program's record to be sent to the worker. */
void proc_mark(struct keeper *k, struct keeper_proc *p);
void proc_drop(struct keeper *k, struct keeper_proc *p);
void proc_exited(struct keeper *k, struct keeper_proc *p, int status);
void proc_exited_pid(struct keeper *k, pid_t pid, int status);
void proc_failed(struct keeper *k, struct keeper_proc *p, int errnum, int step);
/* Moves a bounded amount of output into the spool. */
void proc_move_output(struct keeper *k, struct keeper_proc *p, struct keeper_stream *t);
/* Writes as much of the pending input as the program takes. */
void proc_write_input(struct keeper *k, struct keeper_proc *p);
void proc_take_input(struct keeper *k, struct keeper_proc *p, struct keep_msg *m);
/* The worker has dealt with that many records. */
void proc_seen(struct keeper_proc *p, uint64_t records);
/* Begins with a stream's spool, and counts what it holds already. */
void stream_begin(struct keeper *k, struct keeper_stream *t);
/* A KEEP_FLOW. */
void stream_flow(struct keeper *k, struct keeper_stream *t, uint64_t at);
/* The same at the end of the output, unless an earlier offset is in force. */
void stream_awaited(struct keeper *k, struct keeper_stream *t);
/* The worker is gone: the next one has LIMIT_HOLD_BACK_MS to tell where it reads. */
void stream_left(struct keeper *k, struct keeper_stream *t);
/* Reads streams again whose callers took nothing for too long, or whose disk was full. */
void streams_deadline(struct keeper *k);

/* keeper_reaper.c */
/* The reaper of uid; starts it if there is none. NULL with errno. */
struct reaper *reaper_for(struct keeper *k, uid_t uid, gid_t gid);
/* Gives all reapers the state KEEP_RULES_KEY. */
void reapers_rules(struct keeper *k);
void reaper_message(struct keeper *k, struct reaper *mi);

/* keeper_worker.c */
/* Starts the worker from k->file. */
void keeper_start_worker(struct keeper *k);
void worker_died(struct keeper *k, int status);
/* Sends records and answers that are due, as far as the worker's socket takes them. */
void worker_pump(struct keeper *k);
/* Handles one message of the worker; false: there is none, or the worker is gone. */
bool worker_message(struct keeper *k);
void worker_answer(struct keeper *k, uint64_t token, struct str body, int errnum);
/* The reaper of uid is gone: what it was asked has no answer. */
void worker_unanswered(struct keeper *k, uid_t uid, gid_t gid);
/* A KEEP_M_REFUSED. */
void worker_refused(struct keeper *k, struct str what);
/* An empty value deletes. */
void keeper_store(struct keeper *k, struct str key, struct str value);
/*
 * Asks the worker to end the sandbox, once. If no worker serves, the sandbox ends at
 * once; wait: a worker that has just begun may first come to serve.
 */
void keeper_drain(struct keeper *k, bool wait);

/* keeper_upgrade.c */
void upgrade_init(struct keeper *k);
/* Takes fd; -1: it could not be opened, for the reason errnum. */
void upgrade_ask(struct keeper *k, uint64_t token, int fd, int errnum, struct str name);
/* Upgrades to the file at the server's own path. */
void upgrade_by_signal(struct keeper *k);
/* A child ended. True: it was the check. */
bool upgrade_reaped(struct keeper *k, pid_t pid, int status);
/* The worker ended. True: another one was started for that. */
bool upgrade_worker_died(struct keeper *k, bool by_kill, int64_t lived_ms);
void upgrade_serving(struct keeper *k);
void upgrade_deadline(struct keeper *k);
/* Sends the outcome if it is due. False: the worker's socket is full. */
bool upgrade_tell(struct keeper *k);

/* keeper_command.c */
#define COMMAND_ID UINT64_MAX /* the command's id at its reaper; the worker has no such \
                               */
void command_init(struct keeper *k);
void command_start(struct keeper *k);
/* Its start is settled. */
void command_reported(struct keeper *k);
/* The reaper has started the command as pid. 0: the start failed at this step. */
void command_spawned(struct keeper *k, pid_t pid, int step, int errnum);
/* A child ended. True: it was the command. */
bool command_reaped(struct keeper *k, pid_t pid, int status);
/* Passes a signal on. False: there is no command. */
bool command_signal(struct keeper *k, int sig);

#endif
