/* SPDX-License-Identifier: MIT */
/*
 * One line of an event log:
 *
 *     {"id":N,"timestamp":"2026-11-21T10:00:00.000001",…}\n
 *
 * Members id and timestamp always come first and in this form, so that damage is
 * recognized without parsing JSON. In a file a line has one more member, the
 * last: "sum":"XXXXXXXX", in hexadecimal digits the CRC-32 (base/crc.h) of the
 * bytes before the comma in front of it. Readers of the log never see it. Lines of
 * earlier versions have none: such a line must be JSON and UTF-8.
 */
#ifndef OD_EVENTLOG_LINE_H
#define OD_EVENTLOG_LINE_H

#include "base/buf.h"

enum {
    EVENT_STAMP = 26,    /* bytes of a timestamp */
    EVENT_HEAD_MAX = 80, /* bytes up to the first member of the caller's */
    EVENT_LINE_MIN = 50, /* bytes of an event without such members, with its newline */
    EVENT_SUM = 17       /* bytes of the member sum, with the comma before it */
};

enum event_line_kind {
    EVENT_LINE_GOOD, /* an event */
    EVENT_LINE_BAD,  /* anything else that ends in a newline */
    EVENT_LINE_OPEN  /* no newline yet */
};

struct event_line {
    uint64_t id;      /* GOOD only */
    size_t n;         /* bytes, with the newline; OPEN: all there are */
    struct str stamp; /* GOOD only */
};

/* Looks at the line that s begins with. A control byte in it makes it BAD. */
enum event_line_kind event_line(struct str s, struct event_line *line);
/* Parses id and timestamp only. Returns whether they are valid, and sets them. */
bool event_head(struct str s, struct event_line *line);
/* Bytes before the first one below 0x20, which is where a line ends. */
size_t event_text(struct str s);

/*
 * Returns whether s, a GOOD line of a file without its newline, is as it was written. If
 * so, *n is the number of bytes before the member sum, or before the last `}`.
 */
bool event_intact(struct str s, size_t *n);
/* The same without the check of the sum, for a line that this process has written. */
bool event_written(struct str s, size_t *n);
/* Writes `,"sum":"…"}` and a newline: EVENT_SUM + 2 bytes. */
void event_put_sum(char out[EVENT_SUM + 2], uint32_t sum);

/* Writes `{"id":N,"timestamp":"…"`; out has EVENT_HEAD_MAX bytes. Returns the length. */
size_t event_put_head(char *out, uint64_t id, const char stamp[EVENT_STAMP]);
/* Writes microseconds since 1970, UTC, as a stamp; event_stamp_us reads it (-1: none). */
void event_stamp(char out[EVENT_STAMP], int64_t us);
/* Changes a stamp of the time before_us to the time us; cheap within one second. */
void event_stamp_move(char stamp[EVENT_STAMP], int64_t before_us, int64_t us);
int64_t event_stamp_us(const char stamp[EVENT_STAMP]);
/* Appends a gap for the ids from … to. Returns -1 if out is full. */
int event_add_gap(struct buf *out, const char stamp[EVENT_STAMP], uint64_t from,
                  uint64_t to, const char *reason);

#endif
