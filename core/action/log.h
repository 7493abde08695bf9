/* SPDX-License-Identifier: MIT */
/*
 * The log of actions and observations: reading it, and keeping secrets out of it.
 * front/events/README.md describes the lines.
 */
#ifndef OD_ACTION_LOG_H
#define OD_ACTION_LOG_H

#include "action/action.h"
#include "eventlog/eventlog.h"

/* Returns the log, borrowed; NULL before part.load. */
struct eventlog *actions_log(const struct actions *all);
/* Returns whether the log is a folder. If not, ids start again with each server. */
bool actions_on_disk(const struct actions *all);
/* What stands for a secret: <secret_hidden>. */
extern const struct str log_hidden;
/* The id that the next event gets. */
uint64_t actions_next_id(const struct actions *all);

/* The first members of an event's line, in their order. Texts borrow from the line. */
struct event_members {
    uint64_t id;
    enum { EVENT_OTHER, EVENT_ACTION, EVENT_END } kind;
    struct str key;       /* ACTION: 32 digits */
    uint64_t cause;       /* END */
    struct str session;   /* as in JSON; a session's name needs no escapes */
    struct str client_id; /* with its quotes; n 0: none */
    bool has_output;      /* END, with from and to */
    bool ended; /* END: an event `ended` of a background command (background.h), not an
                   observation */
    uint64_t from, to;
};
void event_members(struct str line, struct event_members *out);
/* Decodes a JSON string with its quotes. Returns -1 if token is not one. */
int event_unquote(struct str token, struct buf *out);

/* Appends the line of an event to out, with its newline. Returns -1 if it is not kept. */
int actions_line(struct actions *all, uint64_t id, struct buf *out);
/* Returns -1 and sets *e if the observation is an error: its code, and the first 500
 * bytes of its words. */
int actions_error(const struct json *observation, struct err *e);
/*
 * Returns the observation `end`, which the caller frees. Returns NULL and sets *e if it
 * is an error, or if there is none: then *e is *lost, or GONE. end and lost are what a
 * watcher's `ended` gets; lost may be NULL.
 */
struct json *actions_observation(struct actions *all, uint64_t end,
                                 const struct err *lost, struct err *e);

/* A line of the batch, without its newline. */
struct batch_line {
    struct str text; /* borrowed from the batch, as are those of members */
    uint64_t id;
    struct event_members members;
};
/*
 * Reads the lines from c on into the batch that all links share. Returns false if there
 * are none now.
 */
bool actions_batch(struct actions *all, const struct event_cursor *c);
/*
 * Returns line i of the batch, parsed once for all links; NULL after the last. Borrowed.
 */
const struct batch_line *actions_batch_line(struct actions *all, unsigned i);
/* The size of the batch in bytes, and the cursor after it. */
size_t actions_batch_bytes(const struct actions *all);
struct event_cursor actions_batch_after(const struct actions *all);

/*
 * Writes an event that belongs to no action, such as what a person does. object is
 * {"observation":…}, at most as long as an event. Returns -1 and sets *e if the log has
 * no room.
 */
int actions_tell(struct actions *all, struct buf *object, struct err *e);
/* The same for an event as JSON, which is borrowed. */
int actions_note(struct actions *all, const struct json *event, struct err *e);

/* ---- secrets ---- */

/*
 * Hides this value in the log from now on (front/events/README.md), also in later
 * workers. A known or empty value is accepted. Returns -1, sets *e and changes nothing if
 * the value is too short, too long or not UTF-8, or there is no room for more.
 */
int actions_secret(struct actions *all, struct str value, struct err *e);
/*
 * The same for a secret that each worker is given, such as a key of the server. On
 * failure logs a warning, in which `what` names the secret.
 */
void actions_own_secret(struct actions *all, struct str value, const char *what);
/*
 * Replaces secrets in the strings of a JSON text, and returns how many it replaced. If
 * the result does not fit, the text is empty and has its overflow mark.
 */
unsigned actions_mask(const struct actions *all, struct buf *text);
/*
 * Finds the first secret in a plain text, the longest that begins there. Returns false if
 * it has none.
 */
bool actions_find_secret(const struct actions *all, struct str text, size_t *at,
                         size_t *n);
bool actions_has_secrets(const struct actions *all);
/*
 * For output in pieces: the number of bytes at the end of s that may be the beginning of
 * a secret, which continues in the next piece.
 */
size_t actions_secret_tail(const struct actions *all, struct str s);

#endif
