/* SPDX-License-Identifier: MIT */
/*
 * The log of actions and observations: how it is read, for those who follow it, and what
 * is kept out of it. front/events/README.md has the lines.
 */
#ifndef OD_ACTION_LOG_H
#define OD_ACTION_LOG_H

#include "action/action.h"
#include "eventlog/eventlog.h"

/* The log; NULL before the load. Borrowed. */
struct eventlog *actions_log(const struct actions *all);
/* Is the log a folder? Else ids begin anew with each server. */
bool actions_on_disk(const struct actions *all);
/* The id that the next event gets. */
uint64_t actions_next_id(const struct actions *all);

/* How an event's line begins, which is always the same way. */
struct event_look {
    uint64_t id;
    enum { LOOK_OTHER, LOOK_ACTION, LOOK_END } kind;
    struct str key;       /* ACTION: 32 digits */
    uint64_t cause;       /* END */
    struct str session;   /* as it is in JSON, which for a session's name is itself */
    struct str client_id; /* with its quotes; n 0: none */
    bool has_output;      /* END, with from and to */
    bool ended; /* END of a command that its observation did not wait for (trail.h) */
    uint64_t from, to;
};
void event_look(struct str line, struct event_look *out);
/* A JSON string, with its quotes, as what it says. -1: it is none. */
int event_unquote(struct str token, struct buf *out);

/* The line of an event, with its newline. -1: it is not there, or not any more. */
int actions_line(struct actions *all, uint64_t id, struct buf *out);

/* A line of the batch, without its newline. */
struct batch_line {
    struct str text; /* borrowed from the batch, as is what look says */
    uint64_t id;
    struct event_look look;
};
/* The lines from c on, shared by who reads the same. false: none now. */
bool actions_batch(struct actions *all, const struct event_cursor *c);
/* The line i of those, looked at once for all links; NULL: there are no more. */
const struct batch_line *actions_batch_line(struct actions *all, unsigned i);
/* The bytes of the batch, and where to read on behind it. */
size_t actions_batch_bytes(const struct actions *all);
struct event_cursor actions_batch_after(const struct actions *all);

/* ---- secrets ---- */

/*
 * Keeps this value out of the log from here on, also in the workers to come: it is
 * replaced (front/events/README.md). A known or empty value is fine. Returns -1 with *e
 * set and nothing changed if it is too short or too long, or there is no room for more.
 */
int actions_secret(struct actions *all, struct str value, struct err *e);
/* The same for one that is known to each worker, as a key of the server: `what` names it
 * in the warning that it cannot be hidden. */
void actions_own_secret(struct actions *all, struct str value, const char *what);
/* Replaces secrets inside of the strings of a JSON text. The number of them. */
unsigned actions_mask(const struct actions *all, struct buf *text);
/*
 * Output in pieces: how many bytes at the end of s may be the beginning of a secret that
 * goes on in the next piece. 0: none.
 */
size_t actions_secret_tail(const struct actions *all, struct str s);

#endif
