/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share.
 *
 *   actions.c   the table of kinds; the life of an action: turns, ends, restart
 *   order.c     what a peer sends, as an action in the log
 *   log.c       the log: what is written to it, found in it, kept next to it
 *   line.c      the beginning of an event's line; secrets
 *   describe.c  every action with its parameters, for help and schemas
 *   place.c     where an action is done, and what it has done
 *   part.c      a worker begins
 *
 *   input.c     cancel, input, key, eof, signal, resize
 *   kernel.c    cell, complete, inspect, kernels …; cell.c: what a cell says
 *   files.c     actions on files       skill.c   skills
 *   until.c     run with `until`       trail.c   what goes on after it
 *   wait.c      waits for what runs in a session
 *   outside.c   actions that their front-end does itself: run.c, those that are commands;
 *   follow.c    and those whose caller left
 */
#ifndef OD_ACTION_OWN_H
#define OD_ACTION_OWN_H

#include "action/action.h"
#include "action/log.h"
#include "base/map.h"
#include "eventlog/eventlog.h"
#include "eventlog/line.h"
#include "shell/session.h"

enum {
    ACTIONS_MAX = 1024, /* without an observation yet */
    KNOWN_MAX = 8192,   /* actions that are known by name */
    KNOWN_BACK = 16384, /* events that are looked through for such */
    SECRETS_MAX = 64,   /* values */
    SECRET_MIN = 4,     /* bytes of one: shorter ones are everywhere */
    SECRET_MAX = 8192,
    SECRETS_BYTES = LIMIT_BLOB_MAX - 256, /* of all as JSON: the keeper has them too */
    CUT_STRING = 64 << 10, /* a longer string of an event that is too long is cut */
    BATCH = 64 << 10,      /* of events read at once */
    STORE_EVERY = 64       /* events between two lists of what has no end */
};

/* An action that can be asked for again: by its client_id, or the key of its body. */
struct known {
    struct list node; /* the oldest first */
    uint64_t id, end; /* end 0: it has no observation yet */
    char *name;       /* owned: "c/CLIENT_ID" or "k/KEY" */
};

struct actions {
    struct engine *en;
    struct eventlog *log;
    struct eventlog_opts opts;
    struct list list;    /* struct action without an end, by id */
    struct list turns;   /* those that have not begun, in the order of their coming */
    struct list watches; /* struct action_watch */
    struct list cells;   /* struct action_cell: those that run */
    struct list trails;  /* struct trail, owned, the oldest first */
    struct session_watch watch;
    bool terse;       /* --log-commands none: of commands the length and sum */
    struct task turn; /* one may begin */
    void *foreign;    /* actions_foreign */
    struct sandbox_wait ready;
    struct map places; /* by key: a directory, owned; of the worker before */
    struct map names;  /* struct known, by name */
    struct map ends;   /* struct known without an end, by "ID" */
    struct list knowns;
    unsigned nknowns;
    bool indexed;                    /* names has what the log had when we came */
    uint64_t indexed_to;             /* events before that are looked through on need */
    struct str secrets[SECRETS_MAX]; /* owned: as they are in JSON, without quotes */
    struct str plain[SECRETS_MAX];   /* owned: the same as they are */
    unsigned nsecrets;
    size_t secret_bytes; /* of them, and one for each */
    struct buf batch;    /* lines that several links read at once */
    uint64_t batch_from, batch_next;
    struct event_cursor batch_after;
    struct batch_line *lines; /* owned: those of the batch that anybody looked at */
    unsigned nlines, lines_max;
    size_t lines_end;              /* bytes of the batch that they are */
    struct task keep;              /* what has no end is to be stored */
    uint64_t stored;               /* the id that came next when that was stored */
    uint64_t last_cause, last_end; /* the newest observation */
    struct actions_stats stats;
    struct buf kept; /* events/open, between load and start */
};

/* ---- line.c ---- */

/* 1: it is new; 0: it was known; -1: e, see actions_secret. */
int actions_add_secret(struct actions *all, struct str value, struct err *e);
/* Cuts the long strings in it, so that it fits an event. */
void event_shorten(struct json *j, size_t most);

/* ---- input.c ---- */

/* The session of an action. NULL: there is none, and *e says so. */
struct session *action_session(const struct action *a, struct err *e);

/* ---- log.c ---- */

/* Opens the log, in the state directory, else in memory. */
void log_open(struct actions *all);
/* Appends, masked. Returns the id; 0 and sets *e if there is no room. */
uint64_t log_append(struct actions *all, struct buf *object, struct err *e);
/* Calls fn for the lines of the ids from … to before `to`. */
void log_each(struct actions *all, uint64_t from, uint64_t to,
              void (*fn)(void *arg, struct str line), void *arg);
/* The front-end that asked for the action of a line; NULL: it is the client's word. */
const char *log_source(struct str line);
/*
 * With --log-commands none: empties the texts of commands and cells in args or extras,
 * and puts their length and sum next to them. Returns the length; 0: there is none, or
 * the log has texts.
 */
size_t log_hide(const struct actions *all, struct json *j);
/* The observation of a; the id of its event, 0 and *e: the log has no room. */
uint64_t log_end(struct actions *all, const struct action *a,
                 const struct action_result *r, struct err *e);
struct known *known_find(struct actions *all, char kind, struct str name);
struct known *known_add(struct actions *all, char kind, struct str name, uint64_t id);
/* The action `cause` has its observation. */
void known_end(struct actions *all, uint64_t cause, uint64_t end);
/* Takes up the secrets of the worker before. */
void secrets_load(struct actions *all);

/* ---- order.c ---- */

/* The actions of the worker before that have no end, from their lines in the log. */
void order_again(struct actions *all, uint64_t id, bool new_server);

/* ---- actions.c ---- */

/* Makes one of a kind, which is not in the log yet. Takes message. */
struct action *action_new(struct actions *all, const struct action_kind *k,
                          struct json *message, struct str session);
/* Frees one that was never in the list, with what its kind made. */
void action_discard(struct action *a);
/* Its id is known: it is in the list from here on. */
void action_enter(struct action *a, uint64_t id);
/* The worker before had it; whole: its message is as it was. */
void action_resume(struct action *a);
/* Begins what may begin. */
void actions_turn(struct actions *all);
/* A trail began. */
void actions_tell_trail(struct actions *all);

/* ---- place.c ---- */

/* Takes up what the worker before kept, from engine.states. */
void places_load(struct actions *all);
/* What nobody took up goes. */
void places_loaded(struct actions *all);
/* The action's end is in the log: nobody will ask again. */
void place_forget(const struct action *a);

#endif
