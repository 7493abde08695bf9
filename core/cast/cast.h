/* SPDX-License-Identifier: MIT */
/*
 * Recordings of terminals, written and read as streams: asciicast v2 and v3
 * (https://docs.asciinema.org/manual/asciicast/v2/ and /v3/); v1 (/v1/) is read, too.
 *
 * A recording is lines of JSON: a header, then an event a line, [TIME, CODE, TEXT]. TIME
 * is in seconds, in v2 since the beginning and in v3 since the event before. Codes are o
 * for output, i for input, r for a size ("80x24"), m for a marker, and in v3 x for the
 * exit status. Neither side needs more memory than one line and one screen. v1 is one
 * object, on any number of lines, which is read as a whole: at most CAST_LINE_MAX bytes.
 */
#ifndef OD_CAST_CAST_H
#define OD_CAST_CAST_H

#include "base/buf.h"
#include "base/err.h"

struct picture;

enum {
    CAST_LINE_MAX = 4 << 20,              /* bytes of a line that is read */
    CAST_OUT_MAX = 6 * CAST_LINE_MAX + 64 /* of one event as it is written */
};

enum cast_format {
    CAST_NONE,
    CAST_V2,
    CAST_V3,
    CAST_RAW, /* the output alone */
    CAST_TXT  /* the lines that a terminal would show */
};

/*
 * What a header has. All but the numbers are JSON as it is in the file, borrowed; an
 * empty one is left out.
 */
struct cast_header {
    int cols, rows;
    int64_t timestamp; /* seconds since 1970; 0: unknown */
    struct str idle;   /* a number: the longest pause of a player, in seconds */
    struct str command, title, env, type, theme;
};

/* ---- writing ---- */

/* Embedded in its owner. */
struct cast_writer {
    enum cast_format format;
    int64_t last_us; /* of the event before */
    char held[2][4]; /* unfinished characters of output and input */
    unsigned nheld[2];
    struct picture *pic; /* CAST_TXT: owned */
    struct buf *out;     /* CAST_TXT: during a call */
    struct buf line;     /* CAST_TXT: of rows that were wrapped, owned */
    unsigned blank;      /* CAST_TXT: empty lines that were not written yet */
};

void cast_begin(struct cast_writer *w, enum cast_format format, int cols, int rows);
/* Frees what the writer owns. */
void cast_release(struct cast_writer *w);
/* Appends the header; nothing for CAST_RAW and CAST_TXT. */
void cast_put_header(struct buf *out, enum cast_format format,
                     const struct cast_header *h);
/*
 * Appends an event at us microseconds since the beginning; times never decrease. Bytes of
 * output and input may be cut anywhere: an unfinished character waits for the next event
 * of its code or for cast_end. Bytes that are not UTF-8 become U+FFFD. At most
 * CAST_LINE_MAX bytes; code is a letter.
 */
void cast_put(struct cast_writer *w, struct buf *out, int64_t us, char code,
              struct str bytes);
/* Appends what waits. */
void cast_end(struct cast_writer *w, struct buf *out, int64_t us);

/* ---- reading ---- */

struct cast_event {
    int64_t us; /* since the beginning */
    char code;
    struct str text; /* valid UTF-8, U+FFFD for U+0000, until the next call */
};

/* Embedded in its owner, who releases it. */
struct cast_reader {
    enum cast_format format; /* CAST_NONE until the header was read; of v1 CAST_V2 */
    bool v1;
    struct cast_header header;
    uint64_t line; /* number of the last line */
    int64_t us;
    bool over;       /* no more bytes come */
    struct buf in;   /* owned: bytes that were not read yet */
    size_t looked;   /* bytes of in without a newline */
    size_t used;     /* bytes of in that are the line of the last call */
    struct buf head; /* owned: the header's line; of v1 the file */
    struct str left; /* of v1: the events that were not read, in head */
    struct buf text; /* owned: of the last event */
};

void cast_reader_init(struct cast_reader *r);
void cast_reader_release(struct cast_reader *r);
/* Adds bytes of the file, at most CAST_FEED_MAX, after cast_next returned 0. */
enum { CAST_FEED_MAX = 64 << 10 };
void cast_feed(struct cast_reader *r, struct str bytes);
/*
 * Reads the next event; with the first one, or with the end, the header is there. Returns
 * 1 and sets *ev; 0 if more bytes are needed, or at the end if r->over; -1 and sets *e if
 * the file is not a recording, or is damaged there: reading must then end.
 */
int cast_next(struct cast_reader *r, struct cast_event *ev, struct err *e);
/* Reads COLSxROWS. Returns false if it is not a size. */
bool cast_size(struct str text, int *cols, int *rows);

#endif
