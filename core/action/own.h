/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share.
 *
 *   actions.c   the table of kinds; the life of an action: turns, ends, restart
 *   order.c     what a peer sends, as an action in the log
 *   group.c     many actions at once, with one write to the log
 *   log.c       the log: what is written to it, found in it, kept next to it
 *   line.c      the beginning of an event's line; secrets
 *   describe.c  every action with its parameters, for help and schemas
 *   place.c     where an action is done, and notes of what it did
 *   part.c      the start of a worker
 *
 *   input.c     cancel, input, key, eof, signal, resize
 *   kernel.c    cell, complete, inspect, kernels …; cell.c: output and questions of cells
 *   files.c     actions on files       skill.c   skills
 *   until.c     run with `until`       background.c  commands that go on after it
 *   wait.c      waits for what runs in a session
 *   checkpoint.c  checkpoints of files, also before actions
 *   ask.c       one action, and who waits for its observation
 *   page.c      pages of the web, in the session's browser
 *   control.c   asks a person to take a terminal or browser
 *   process.c   processes outside of sessions
 *   outside.c   actions that their front-end does itself; run.c: those that are commands;
 *               follow.c: those whose caller left
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
    KNOWN_MAX = 8192,   /* actions that can be found by name */
    KNOWN_BACK = 16384, /* events that are searched for them */
    SECRETS_MAX = 64,   /* values */
    SECRET_MIN = 4,     /* bytes of one: shorter ones are too common */
    SECRET_MAX = 8192,
    SECRETS_BYTES = LIMIT_BLOB_MAX -
                    256,   /* of all as JSON: they fit in one entry at the keeper */
    CUT_STRING = 64 << 10, /* a longer string of an event that is too long is cut */
    ANSWER_MAX = 64 << 20, /* an answer to an action, before it is cut to fit an event */
    BATCH = 64 << 10,      /* of events read at once */
    STORE_EVERY = 64,      /* events between two lists of unfinished actions */
    KEYS_DRAWN = 32,       /* random keys at once */
    GROUP_MAX = 32,        /* actions that are written to the log at once */
    GROUP_BYTES = 16 << 10 /* and of their lines; heads and sums have 3 KiB more */
};

/* Lines that wait to be written to the log at once (group.c). */
struct group {
    struct buf text; /* one line after another */
    unsigned n;
    struct action *a[GROUP_MAX]; /* owned until the line is written */
    size_t end[GROUP_MAX];       /* of the line, in text */
};

/* An action that a repeated request finds: by its client_id, or the key of its body. */
struct known {
    struct list node; /* the oldest first */
    uint64_t id, end; /* end 0: it has no observation yet */
    char *name;       /* owned: "c/CLIENT_ID" or "k/KEY" */
};

/* Where the calls of all watchers about one event are. A call may begin another round,
 * and any watcher may leave. */
struct watch_round {
    struct list *next;
    struct watch_round *outer;
};

struct actions {
    struct engine *en;
    struct eventlog *log;
    struct eventlog_opts opts;
    struct list list;      /* the unfinished struct action, by id */
    struct list turns;     /* those that have not begun, in the order of their arrival */
    struct list watches;   /* struct action_watch */
    struct watch_round *rounds; /* the innermost; NULL: no watcher is being called */
    struct list cells;     /* struct action_cell: the running ones */
    struct list followers; /* struct cell_follower, at most one for an action */
    struct list backgrounds; /* struct background, owned, the oldest first */
    struct session_watch watch;
    bool terse;       /* --log-commands none: only length and sum of commands */
    struct task turn; /* begins actions whose turn it is */
    struct checkpoints *checkpoints; /* owned; checkpoint.c */
    void *foreign;    /* actions_foreign */
    struct sandbox_wait ready;
    struct map places; /* directories from the previous worker, owned, by key */
    struct map holders; /* names of people who drive, owned, by "SESSION/WHAT" */
    struct map names;  /* struct known, by name */
    struct map ends;   /* struct known without an end, by "ID" */
    struct list knowns;
    unsigned nknowns;
    bool indexed;        /* names has those of earlier workers, too */
    uint64_t indexed_to; /* the first id of this worker; earlier events are searched when
                            needed */
    struct str secrets[SECRETS_MAX]; /* owned: in their form in JSON, without quotes */
    struct str plain[SECRETS_MAX];   /* owned: the same, not escaped */
    unsigned nsecrets;
    size_t secret_bytes; /* of them, plus one for each */
    struct buf batch;    /* lines that several links read at once */
    uint64_t batch_from, batch_next;
    struct event_cursor batch_after;
    struct batch_line *lines; /* owned: those of the batch that were parsed */
    unsigned nlines, lines_max;
    size_t lines_end;              /* bytes of the batch that they cover */
    struct task keep;              /* stores the unfinished actions */
    uint64_t stored;               /* the next id at the time they were stored */
    uint64_t last_cause, last_end; /* the newest observation */
    struct actions_stats stats;
    struct buf kept;     /* events/open, between load and start */
    struct buf line;     /* see log_begin */
    struct group joined; /* actions that are not in the log yet */
    struct group ended;  /* observations of actions that have left the list */
    /* Of a group, while its kind's start is called; or NULL. */
    struct action *beginning;
    struct action_sender *sender;     /* of joined; borrowed */
    struct action *spares[GROUP_MAX]; /* owned: memory of the next actions */
    unsigned nspares;
    char keys[KEYS_DRAWN * ACTION_KEY + 1]; /* of the next actions: the last one first */
    unsigned nkeys;
};

/* ---- line.c ---- */

/* Returns 1 if it is new; 0 if it was known; -1 and sets *e, see actions_secret. */
int actions_add_secret(struct actions *all, struct str value, struct err *e);
/* Cuts each string in j that is longer than `most` bytes, so that j fits an event. */
void event_shorten(struct json *j, size_t most);

/* ---- cell.c ---- */

/* Passes the result r of the action id to its follower, if it has one. */
void cell_follower_end(struct actions *all, uint64_t id, const struct action_result *r);

/* ---- group.c ---- */

/* Adds an opened action with its line to the group. Returns false if they do not fit. */
bool group_add(struct actions *all, struct action *a, struct str line);
/* Returns whether an action of the group has this client_id. */
bool group_has(const struct actions *all, struct str client_id);
/*
 * Takes a, which ends, with its observation, if that may wait for others. Returns false
 * if it must be written now.
 */
bool group_hold_end(struct action *a, const struct action_result *r);
/* Writes the observations that wait, and calls action_ended for each. */
void group_write_ends(struct actions *all);

/* ---- input.c ---- */

/* Returns the session of an action; NULL and sets *e if there is none. */
struct session *action_session(const struct action *a, struct err *e);

/* ---- log.c ---- */

/* Opens the log, in the state directory, or else in memory. */
void log_open(struct actions *all);
/*
 * An empty buffer for one event, with this maximum. Borrowed, until log_done; there
 * is only one, so that its memory is there for the next event.
 */
struct buf *log_begin(struct actions *all, size_t max);
void log_done(struct actions *all);
/* Masks and appends an event. Returns its id; 0 and sets *e if there is no room. */
uint64_t log_append(struct actions *all, struct buf *object, struct err *e);
/* The two parts of it: log_mask returns -1 and sets *e if the event is too long. */
int log_mask(struct actions *all, struct buf *object, struct err *e);
uint64_t log_write(struct actions *all, struct str object, struct err *e);
/* Calls fn for each line whose id is at least `from` and less than `to`. */
void log_each(struct actions *all, uint64_t from, uint64_t to,
              void (*fn)(void *arg, struct str line), void *arg);
/* Returns the source in the line of an action; NULL if it has none. */
const char *log_source(struct str line);
/* Returns whether only the server may write this source, such as that of od exec. */
bool log_is_source(struct str name);
/*
 * Removes from args or extras what the log must not have: the values of env, and the
 * texts of commands and cells that are `silent`, or of all with --log-commands none.
 * Length and sum replace a text. If it is unshown, <secret_hidden> replaces its text: a
 * sum of a password would help to guess it. Returns the number of bytes removed.
 */
size_t log_hide(const struct actions *all, struct json *j, bool unshown);
/* Puts the observation of a, not masked, into b. Returns whether the action failed. */
bool log_put_end(struct buf *b, const struct action *a, const struct action_result *r);
/*
 * Find and add an action by its kind, 'c' with a client_id or 'k' with a key. Adding
 * drops the action that had the name before, or the oldest if there are too many.
 */
struct known *known_find(struct actions *all, char kind, struct str name);
struct known *known_add(struct actions *all, char kind, struct str name, uint64_t id);
/* Notes the id of the observation of the action `cause`. */
void known_end(struct actions *all, uint64_t cause, uint64_t end);
/* Restores the secrets of the previous worker. */
void secrets_load(struct actions *all);

/* ---- order.c ---- */

/* Begins an opened action that is in the log as id. */
void order_go(struct action *a, uint64_t id);
/* Frees one that the log refused, and reports it to the sender. */
void order_refused(struct action *a, const struct err *e);
/* Restores an unfinished action of the previous worker from its line in the log. */
void order_again(struct actions *all, uint64_t id, bool new_server);

/* ---- actions.c ---- */

/* Makes an action of a kind, which is not in the log yet. Takes message. */
struct action *action_new(struct actions *all, const struct action_kind *k,
                          struct json *message, struct str session);
/* Frees an action that was never in the list, with what its kind made. */
void action_discard(struct action *a);
/*
 * Frees the message of an action that has ended, and whose kind has returned. Messages of
 * many actions in one turn would else be freed together, and the allocator would give
 * their pages back to the kernel and get them again in the next turn.
 */
void action_forget(struct action *a);
/* Adds the action to the list, now that its id is known. */
void action_enter(struct action *a, uint64_t id);
/*
 * Called when the observation of a, which has left the list, is in the log as `end`; 0:
 * the log refused it, with e. Calls the watchers and frees a.
 */
void action_ended(struct action *a, uint64_t end, const struct err *e);
/* Continues an action of the previous worker, as its kind decides. */
void action_resume(struct action *a);
/* Begins actions whose turn it is. */
void actions_turn(struct actions *all);
/* Notifies the watchers that a command is in the background. */
void actions_tell_trail(struct actions *all);
/* Notifies the watchers that a has its process. */
void actions_tell_process(const struct action *a, struct process *p);

/* ---- place.c ---- */

/* Restores the directories that the previous worker stored, from engine.states. */
void places_load(struct actions *all);
/* Drops the directories and notes of actions that have ended. */
void places_loaded(struct actions *all);
/* Drops the place of an action whose end is in the log. */
void place_forget(const struct action *a);

#endif
