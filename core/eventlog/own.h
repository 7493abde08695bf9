/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share.
 *
 *   line.c  the grammar of a line
 *   file.c  the folder, or the memory: segments, opening, dropping
 *   read.c  cursors, and reading past damage
 *   sync.c  the way to the disk
 *   reserve.c  room for when the disk is full
 *   eventlog.c       appending, retention, subscribers
 */
#ifndef OD_EVENTLOG_OWN_H
#define OD_EVENTLOG_OWN_H

#include "eventlog/eventlog.h"
#include "eventlog/line.h"
#include "io/job.h"

#include <sys/types.h>

enum {
    SEGMENTS_OPEN = 8, /* descriptors kept for readers of older segments */
    SEGMENT_NAME_MAX = 32,
    SYNC_MS = 1000,
    DIRTY_MAX = JOB_FDS_MAX - 2, /* segments not synchronised; the folder counts too */
    PLACES = 32,                 /* a caller asks for the event that it just caused */
    COUNTS_AT = 64               /* in memory: where in the file the counts are */
};

struct segment {
    uint64_t first;  /* the id of its first event, and its name */
    uint64_t base;   /* where it begins in its file; 0 except in memory */
    uint64_t bytes;  /* of whole lines */
    int64_t last_us; /* wall clock at its newest event */
    uint64_t used;   /* eventlog.clock when a reader last used it: the oldest is closed */
    int fd;          /* owned; -1: not open; in memory: the log's */
    bool dirty;      /* written since it was last synchronised */
};

/* Where one of the newest events is. */
struct event_place {
    uint64_t id; /* 0: none */
    uint64_t segment, offset;
};

struct eventlog {
    struct loop *loop;   /* borrowed */
    char *name;          /* owned; the folder, for messages */
    int dir;             /* owned; -1: in memory */
    int file;            /* owned; lock and counts; in memory: everything */
    uint64_t stride;     /* in memory: bytes from one segment to the next */
    struct segment *seg; /* owned; oldest first, at least one */
    size_t segs, cap;
    uint64_t segment_bytes, total_bytes;
    int64_t max_age_us;
    enum eventlog_sync sync;
    bool drop_when_full;

    uint64_t next;           /* the id of the next event */
    struct event_place places[PLACES]; /* of the newest events, by id % PLACES */
    uint64_t own;            /* events from here on were written since it was opened */
    uint64_t bytes;          /* of all segments */
    uint64_t acked;          /* see eventlog_trim */
    uint64_t refused, told;  /* events, and those reported by a gap; on disk too */
    uint64_t roll_at;        /* bytes at which the newest segment is full */
    int64_t roll_us;         /* time at which it is full */
    int64_t last_us;         /* of the newest event; never goes back */
    char stamp[EVENT_STAMP]; /* last_us as text */
    uint64_t clock;          /* counts uses of segments by readers */
    uint64_t reserve; /* bytes to be reserved; 0: none are */
    uint64_t room;    /* the newest segment's file has space up to here; 0: not known */
    int zeros;        /* owned; the file of zeros; 0: there is none */
    uint64_t zeros_bytes;
    bool tight;       /* the disk is full: the reserve is being used up */
    int64_t look_at;  /* when the disk is looked at again */
    bool ragged;             /* bytes after the newest segment could not be cut off */
    bool dir_dirty;          /* a segment's name may not be on disk yet */
    int version;             /* VERSION, which may not be on disk yet; 0: it is */
    bool sync_failed;        /* was logged */
    bool sync_again;         /* something was written after sync_job began */

    struct list subs, waking;
    struct task wake;
    struct timer sync_timer, age_timer;
    struct job *sync_job; /* NULL: none is running */
};

static inline struct segment *newest(const struct eventlog *l)
{
    return &l->seg[l->segs - 1];
}

int64_t wall_us(void);

/* ---- file.c ---- */

/* Opens or makes folder or memory, and finds the segments. Takes o->memory_fd. */
int file_open(struct eventlog *l, const struct eventlog_opts *o, struct err *e);
/* Closes whatever is open. */
void file_close(struct eventlog *l);
/* Reads at most n bytes of its lines at offset at. Returns how many; -1 with errno. */
ssize_t segment_read(struct eventlog *l, struct segment *s, uint64_t at, char *p,
                     size_t n);
/* Begins a segment with the next id. On error sets *e, and the newest one stays. */
int segment_begin(struct eventlog *l, struct err *e);
/* Cuts off the bytes after the newest segment's lines. */
void segment_cut(struct eventlog *l);
/* Forgets the oldest segment, of two at least. */
void segment_drop(struct eventlog *l);
/* Stores how many events were refused, and how many of them were reported. */
void counts_save(const struct eventlog *l);
const char *segment_name(const struct eventlog *l, const struct segment *s,
                         char out[SEGMENT_NAME_MAX]);

/* ---- reserve.c ---- */

/* Bytes to be reserved in this folder: at most so many, and a part of its disk. */
uint64_t reserve_size(int dir, uint64_t most);
/* Does the error mean that the disk, or a quota, is full? */
bool reserve_full(int errnum);
/*
 * To be called before n bytes are appended to the newest segment: reserves more if it is
 * time. Returns -1 with errno if there is certainly no room for them, not even reserved.
 */
int reserve_for(struct eventlog *l, size_t n);
/* Reserves room in a new segment. Returns -1 with errno if the disk is full. */
int reserve_begin(struct eventlog *l, int fd);
/* After a refused write: gives up a piece of the file of zeros. False: there is none. */
bool reserve_cut(struct eventlog *l);
/* The bytes that are still reserved. */
uint64_t reserve_left(const struct eventlog *l);
void reserve_close(struct eventlog *l);

/* ---- sync.c ---- */

/* To be called after an append: synchronises as the options say. */
void sync_written(struct eventlog *l);
/* Synchronises what is new, and blocks until that is done. */
void sync_now(struct eventlog *l);
/* Writes a log that was just made to the disk within a second, even without an event. */
void sync_born(struct eventlog *l);
/* Stops helper and timer, and synchronises unless NONE. */
void sync_close(struct eventlog *l);

/* ---- read.c ---- */

/*
 * A walk through a segment line by line, past damage. A line is accepted if its id is
 * the next one, or, after damage, one that the skipped bytes have room for.
 */
struct log_walk {
    uint64_t offset;         /* where to begin, at a line; result: see segment_walk */
    uint64_t due;            /* the id expected there; result: see segment_walk */
    char stamp[EVENT_STAMP]; /* of the last good line passed; [0] is 0: none */
};

/*
 * Goes on to the first line with an id of `target` or above. Returns 1 if it is at
 * offset, with the id due; 0 if there is none: offset is after the last good line
 * and due the id after it; -1 with errno.
 */
int segment_walk(struct eventlog *l, struct segment *s, struct log_walk *w,
                 uint64_t target);

#endif
