/* SPDX-License-Identifier: MIT */
/*
 * The event log: JSON objects, one per line, numbered 1, 2, 3 …
 *
 * A log is a folder of segments, each named by the id of its first event
 * (00000000000000000001.jsonl), so grep and tail work on it. Appending is one
 * write and nothing else; what was written is read back from the file, so a
 * reader that lags far costs no memory. The writer may be killed at any
 * instant: a torn end is cut off when the log is opened again and ids go on.
 * A power cut loses events that were not synchronised yet, and their ids are
 * used again; with EVENTLOG_SYNC_ALWAYS no event is lost.
 *
 * A reader gets every id once and in order. Lost events with the ids FROM to TO
 * are replaced by one line, {"id":TO,…,"observation":"gap",
 * "content":"","extras":{"from":FROM,"to":TO,"reason":…}}, with reason "retention"
 * (too old) or "damage" (the file does not have them as they were written). An event
 * refused for lack of room never had an id: reason "refused", see eventlog_append.
 */
#ifndef OD_EVENTLOG_EVENTLOG_H
#define OD_EVENTLOG_EVENTLOG_H

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"

enum eventlog_sync {
    EVENTLOG_SYNC_NONE,     /* when the kernel does it, about half a minute later */
    EVENTLOG_SYNC_INTERVAL, /* a second after an append, by a helper process */
    EVENTLOG_SYNC_ALWAYS    /* before eventlog_append returns */
};

struct eventlog_opts {
    const char *dir;        /* made if its parent exists; NULL: in memory */
    int memory_fd;          /* dir NULL: eventlog_memory_fd of an earlier worker,
                               taken, also on failure; -1: begin again */
    uint64_t segment_bytes; /* 0: LIMIT_EVENT_SEGMENT; a new one begins beyond it;
                               at least total_bytes / 4096 */
    uint64_t total_bytes;   /* 0: LIMIT_EVENTS_TOTAL, _MEMORY; older ones go then */
    int64_t max_age_ms;     /* segments whose newest event is older go; 0: never */
    enum eventlog_sync sync;
    uint64_t reserve; /* bytes of disk that the log has in advance, for when it is full */
    bool drop_when_full; /* on a full disk drop old segments, not the new event */
};

struct eventlog; /* opaque */

/*
 * Returns NULL and sets *e: ERR_BUSY if another process writes to the folder,
 * ERR_UNSUPPORTED if the folder is of another version (and is unchanged), else the
 * system's error. A process must not open one folder twice: the lock belongs to the
 * process, so that a forked child does not keep it.
 */
struct eventlog *eventlog_open(struct loop *loop, const struct eventlog_opts *o,
                               struct err *e);
/* Synchronises (unless NONE), drops all subscribers, frees l. NULL is fine. */
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
 * Returns its id. Returns 0 and sets *e: ERR_INVALID or ERR_LIMIT (longer than
 * LIMIT_EVENT_MAX), the caller's fault; or the system refused it (ERR_LIMIT: no
 * room); nothing of it stays. Refused events are counted, over restarts too; the next
 * event that finds room is preceded by a gap with reason "refused", count, and the
 * numbers refused_from … refused_to. If the worker is killed at that moment, a
 * later gap may report the same numbers again.
 */
uint64_t eventlog_append(struct eventlog *l, struct str object, struct err *e);
/*
 * On a full disk the log goes on in its reserve. Returns how many bytes of that are left,
 * UINT64_MAX if the disk is not full. The reserve is made again by later appends, when
 * there is room; one that it has no room for is refused.
 */
uint64_t eventlog_left(const struct eventlog *l);
/*
 * The bytes that an event should have at most now: LIMIT_EVENT_MAX, on a full disk a
 * hundredth of what is left, so that 200 actions fit. A longer one may be refused.
 */
size_t eventlog_most(const struct eventlog *l);
/*
 * Appends n objects with one write and one timestamp, all of them or none. Returns the
 * id of the first; those of the others follow it. Returns 0 if nothing was appended, and
 * then no event counts as refused: the caller appends them one by one, which makes room
 * where that is allowed, and reports what is wrong with each. It also returns 0 if they
 * are more than 64 KiB, or if a gap must be written first.
 */
uint64_t eventlog_append_all(struct eventlog *l, const struct str *objects, unsigned n);

/*
 * Readers have acknowledged all events up to and including this id: these are
 * dropped first, already at half of total_bytes, and for new events when the disk
 * is full. A restart forgets it.
 */
void eventlog_trim(struct eventlog *l, uint64_t upto);

/* Where a reader is; set next (0 is 1), zero the rest. Only next outlives a process. */
struct event_cursor {
    uint64_t next;            /* the id to be read */
    uint64_t segment, offset; /* where it is, if the segment still exists */
};

/*
 * Appends whole lines to out, from c->next on, and moves c: at most max bytes,
 * but one line at least, which may be LIMIT_EVENT_MAX and a head long. Returns
 * the number of lines; 0 at the end, or if c->next is beyond it; -1 and sets *e if
 * out is too small for one line (ERR_LIMIT), or there was no free descriptor;
 * lines added before that are valid, and c is after them.
 */
long eventlog_read(struct eventlog *l, struct event_cursor *c, struct buf *out,
                   size_t max, struct err *e);

/* Embedded in its owner; wake is called once for each turn that appended, after it. */
struct event_sub {
    struct list node;
    void (*wake)(struct event_sub *s);
};

/* Has wake called for events appended from now on; read those that exist first. */
void eventlog_subscribe(struct eventlog *l, struct event_sub *s,
                        void (*wake)(struct event_sub *s));
/* Allowed at any time, in a callback too, and again for one that has subscribed. */
void eventlog_unsubscribe(struct event_sub *s);

#endif
