/* SPDX-License-Identifier: MIT */
/*
 * The event log: JSON objects, one a line, numbered 1, 2, 3 … for ever.
 *
 * A log is a folder of segments, each named by the id of its first event
 * (00000000000000000001.jsonl), so grep and tail work on it. Appending is one
 * write and nothing else; what was written is read back from the file, so a
 * reader that is far behind costs no memory. The writer may be killed at any
 * instant: a torn end is cut off when the log is opened again and ids go on.
 * A power cut takes what was not synchronised yet, and those ids are given
 * again; with EVENTLOG_SYNC_ALWAYS there is none such.
 *
 * A reader gets every id once and in order. What is no more there is one line in
 * its place, {"id":TO,…,"observation":"gap","content":"","extras":{"from":FROM,
 * "to":TO,"reason":…}}, for the ids FROM to TO, with reason "retention" (too old)
 * or "damage" (the file does not have them as they were written). An event that was
 * refused for want of room never had an id: reason "refused", see eventlog_append.
 */
#ifndef OD_EVENTLOG_EVENTLOG_H
#define OD_EVENTLOG_EVENTLOG_H

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"

enum eventlog_sync {
    EVENTLOG_SYNC_NONE,     /* the system's own time, half a minute */
    EVENTLOG_SYNC_INTERVAL, /* a second after an append, by a helper process */
    EVENTLOG_SYNC_ALWAYS    /* before eventlog_append returns */
};

struct eventlog_opts {
    const char *dir;        /* made if its parent is there; NULL: in memory */
    int memory_fd;          /* dir NULL: eventlog_memory_fd of an earlier worker,
                               taken whatever happens; -1: begin anew */
    uint64_t segment_bytes; /* 0: LIMIT_EVENT_SEGMENT; a new one begins beyond it;
                               at least total_bytes / 4096 */
    uint64_t total_bytes;   /* 0: LIMIT_EVENTS_TOTAL, _MEMORY; older ones go then */
    int64_t max_age_ms;     /* segments whose newest event is older go; 0: never */
    enum eventlog_sync sync;
    bool drop_when_full; /* a full disk takes old segments, not the new event */
};

struct eventlog; /* opaque */

/*
 * NULL: ERR_BUSY when another process writes to the folder, ERR_UNSUPPORTED when
 * it is another version's (nothing was touched then), else what the system said.
 * A process must not open one folder twice: the lock is the process's, so that no
 * child that it forks holds it on.
 */
struct eventlog *eventlog_open(struct loop *loop, const struct eventlog_opts *o,
                               struct err *e);
/* Synchronises (unless NONE), forgets subscribers. NULL is fine. */
void eventlog_close(struct eventlog *l);
/* The descriptor that the keeper holds for a log in memory; borrowed. -1: a folder. */
int eventlog_memory_fd(const struct eventlog *l);

/* The id that the next event gets. */
uint64_t eventlog_next(const struct eventlog *l);
/* The oldest id that is kept; eventlog_next when there is none. */
uint64_t eventlog_first(const struct eventlog *l);

/*
 * Appends object, "{…}" on one line (no byte below 0x20), without the members
 * id and timestamp (UTC, never decreasing), which are put before its own.
 * Returns its id. 0: ERR_INVALID or ERR_LIMIT (longer than LIMIT_EVENT_MAX), the
 * caller's fault; or the system refused (ERR_LIMIT: no room), and nothing of it
 * stays. What the system refused is counted, over restarts too; the next event
 * that finds room is preceded by a gap with reason "refused", count, and the
 * numbers refused_from … refused_to. A worker killed right there may say the same
 * numbers again in a later gap.
 */
uint64_t eventlog_append(struct eventlog *l, struct str object, struct err *e);

/*
 * What readers acknowledged, up to and including this id, gives way first: at
 * half of total_bytes, and to new events when the disk is full. Not remembered
 * over a restart.
 */
void eventlog_trim(struct eventlog *l, uint64_t upto);

/* Where a reader is; set next (0 is 1), zero the rest. Only next outlives a process. */
struct event_cursor {
    uint64_t next;            /* the id to be read */
    uint64_t segment, offset; /* where it is, if the segment still is there */
};

/*
 * Appends whole lines to out, from c->next on, and moves c: at most max bytes,
 * but one line at least, which may be LIMIT_EVENT_MAX and a head long. Returns
 * the number of lines; 0 at the end (and beyond it: ids that were never given
 * out); -1: out is too small for one line (ERR_LIMIT), or no descriptor was left;
 * what was added counts and c tells where.
 */
long eventlog_read(struct eventlog *l, struct event_cursor *c, struct buf *out,
                   size_t max, struct err *e);

/* Embedded in its owner; wake is called once, after the turns that appended. */
struct event_sub {
    struct list node;
    void (*wake)(struct event_sub *s);
};

/* Not for what is there already: read first. */
void eventlog_subscribe(struct eventlog *l, struct event_sub *s,
                        void (*wake)(struct event_sub *s));
/* At any time, in a callback too; idempotent for one that once subscribed. */
void eventlog_unsubscribe(struct event_sub *s);

#endif
