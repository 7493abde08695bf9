/* SPDX-License-Identifier: MIT */
/*
 * Reads the output of a process as lines, from any offset on. From the first bytes of a
 * long line the owner decides whether it wants it, and whether in one piece: 100 MB of a
 * picture need not be in memory to be passed on.
 *
 * The output itself is in the keeper's spool: a reader that takes nothing (wanted) holds
 * nothing in memory. When the spool has lost bytes, the reader skips the line that they
 * were in and calls gap.
 */
#ifndef OD_COMPANION_LINES_H
#define OD_COMPANION_LINES_H

#include "shell/process.h"

enum { LINE_HEAD = 8192 };

enum line_fate {
    LINE_SHORT, /* no longer than LINE_HEAD, so far */
    LINE_WHOLE, /* passed to `line` when it is complete */
    LINE_PARTS, /* passed to `part` as it comes */
    LINE_PASSED_OVER
};

/* Each call may close the reader; no other call follows then. */
struct line_calls {
    /* A line of LINE_HEAD bytes or fewer, or LINE_WHOLE; the next begins at end. */
    void (*line)(void *arg, struct str line, uint64_t end);
    /* The first LINE_HEAD bytes of a longer one: WHOLE, PARTS or PASSED_OVER. */
    enum line_fate (*head)(void *arg, struct str head);
    /*
     * More of a line in parts, without its head. ends: the line ends, complete or not.
     * NULL if head never returns LINE_PARTS.
     */
    void (*part)(void *arg, struct str bytes, bool ends);
    /* Is output wanted now? If not, line_reader_pump follows. NULL: always. */
    bool (*wanted)(void *arg);
    /* Called after each piece of output, when its lines were passed on. */
    void (*read)(void *arg);
    /* The process may take more input. NULL: it is not reported. */
    void (*room)(void *arg);
    /* Output before reader.at is lost. NULL: it is not reported. */
    void (*gap)(void *arg, const char *text);
    /* Called once: the process ended, and the reader is closed. r is borrowed. */
    void (*end)(void *arg, const struct op_result *r);
};

struct line_reader {
    const struct line_calls *calls; /* borrowed, with arg */
    void *arg;
    struct op *op; /* borrowed: its process owns it; NULL: the reader is closed */
    struct buf line;
    uint64_t at;    /* offset of the next byte */
    uint64_t begin; /* offset of the line that it is in; during line, of that line */
    enum line_fate fate;
};

/* Closes the reader first if it is open. The output of p from offset `from` follows. */
void line_reader_open(struct line_reader *r, struct process *p, uint64_t from,
                      const struct line_calls *calls, void *arg);
/* Does nothing to a closed one. at and begin keep their values. */
void line_reader_close(struct line_reader *r);
/* To be called when output is wanted again. */
void line_reader_pump(struct line_reader *r);
/* Cuts bytes into lines: the calls are the same, however the bytes are cut. */
void line_reader_feed(struct line_reader *r, struct str bytes);
/* Bytes up to `to` are lost, and the line that they are in. */
void line_reader_skip(struct line_reader *r, uint64_t to);

#endif
