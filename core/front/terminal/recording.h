/* SPDX-License-Identifier: MIT */
/*
 * A session as a recording (cast/cast.h), made after the fact: its kept output with the
 * times of shell/times.h, sizes of the terminal, and a marker for each command that the
 * log of actions has; for a process, such as a pane, one for each text that was typed.
 * Output from before there were times gets those of its command. Secrets are hidden;
 * output that is gone is a marker with its range.
 *
 * The log is read twice: first for where the session's output begins in it, then next to
 * the output. Each turn of the loop has a bounded part, and a slow peer stops it.
 */
#ifndef OD_FRONT_TERMINAL_RECORDING_H
#define OD_FRONT_TERMINAL_RECORDING_H

#include "engine/engine.h"

struct recording;

struct recording_calls {
    /* Takes bytes; returns how many. If not all, recording_pump is called later. */
    size_t (*take)(void *arg, struct str bytes);
    /* The last call. e: why the recording is not whole; NULL: it is. */
    void (*done)(void *arg, const struct err *e);
};

struct recording_ask {
    struct str session; /* or a process with a terminal */
    uint64_t from;      /* the action it begins with; 0: all that is kept */
    int version;        /* of asciicast: 2 or 3; 0 is 2 */
};

/*
 * Begins; the calls come in later turns. Returns NULL and sets *e if the session or the
 * version is unknown.
 */
struct recording *recording_open(struct engine *en, const struct recording_ask *q,
                                 const struct recording_calls *calls, void *arg,
                                 struct err *e);
/* The peer takes bytes again. */
void recording_pump(struct recording *x);
/* The peer has left: no call follows. Not after done. */
void recording_close(struct recording *x);

/* GET /sessions/{session}/cast; the argument is struct terminal. */
struct req;
void recording_get(struct req *r);

#endif
