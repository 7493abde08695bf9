/* SPDX-License-Identifier: MIT */
/*
 * One request to the server, over as many connections as its result takes.
 *
 *   sending ──► waiting ──'R'──► done
 *      ▲           │ the connection ends
 *      └── lost ◄──┘ (CALL_LOST_MS in all, growing pauses) ──► failed
 *
 * The request is sent again with the same id and the next offset that is needed,
 * input is kept until the server has accepted it, and repeated output is dropped,
 * so the caller sees each byte once and one result. (Offsets may
 * jump: a session's own marks are between the bytes that it shows.) The server
 * enforces the limits of a request, and the call fails CALL_GUARD_MS after they
 * should have passed. A server that answers and dies repeatedly, without progress
 * of output or input, counts as lost. The call fails after CALL_FIRST_MS if the
 * server ends each connection and has never sent a frame. If it keeps a connection
 * and is silent for CALL_SILENT_MS, it is asked for its state, and the call fails
 * without an answer within CALL_ASKED_MS.
 */
#ifndef OD_IPC_CALL_H
#define OD_IPC_CALL_H

#include "ipc/client.h"

#define CALL_LOST_MS 60000
#define CALL_GUARD_MS 5000
#define CALL_FIRST_MS 10000
#define CALL_SILENT_MS 10000
#define CALL_ASKED_MS 20000

struct call;

/* Any may be NULL. */
struct call_events {
    /*
     * Receives output; error: a process's error output. To return -1 with errno
     * ends the call with that reason.
     */
    int (*on_output)(struct call *c, bool error, struct str bytes);
    void (*on_note)(struct call *c, const struct json *note);
    void (*on_signal)(struct call *c, int signo);
    /*
     * Bytes read from input, before they are sent. Returns how many are sent.
     * n is 0 at the end of input, which is sent unless the call leaves.
     */
    size_t (*on_input)(struct call *c, const char *p, size_t n);
    /*
     * Called when input may be read, and only while there is a connection. It reads, and
     * passes on what it wants with call_put. NULL: the call reads and sends all bytes.
     */
    void (*on_readable)(struct call *c);
};

/* Embedded in its user, which callbacks find by container_of. */
struct call {
    /* Set after call_init; all borrowed. */
    struct client *client;
    const struct json *request; /* without an id */
    const struct call_events *ev;
    int input;         /* becomes the command's standard input; -1: none */
    int signals;       /* a pipe of signal numbers, one byte each; -1: none */
    bool hasty;        /* a server elsewhere is lost after CALL_FIRST_MS of refusals */
    int64_t limit_ms;  /* what the request asks for; 0: no limit */
    int64_t idle_ms;

    /* The call's own. */
    char id[33];
    struct call_stream {
        bool known;
        uint64_t next;
    } out[2];
    struct buf kept;       /* input from kept_at on that is not yet accepted; up to
                              FRAME_INPUT_WINDOW of it is on its way */
    uint64_t kept_at, sent;
    bool input_ended, end_sent;
    bool started;          /* the command runs: the idle limit counts */
    bool left;
    int64_t began, heard;  /* clock_ms */
    int64_t leave_at;      /* 0: never */
    int64_t lost_at;       /* 0: not lost, or there was progress since */
    int64_t refused_at;    /* first of the refusals that followed one another; or 0 */
    int64_t connected_at;
    char why[300]; /* why the last try to connect again failed; "": none did */
    bool answered;         /* on this connection */
    bool answered_ever;
    bool asked;            /* for the server's state; once per connection */
    int64_t retry_at;
    int pause_ms;
    struct json *result;
};

void call_init(struct call *c, struct client *client, const struct json *request,
               const struct call_events *ev);
void call_release(struct call *c);

/*
 * Returns the result, which the caller frees; or NULL and sets *e: CANCELLED after
 * call_leave; TIMEOUT: the server was silent beyond the limit; GONE: the connection
 * or the server was lost and did not come back; or the error of on_output.
 */
struct json *call_run(struct call *c, struct err *e);
/*
 * From a callback: stops waiting in ms milliseconds unless the result comes
 * first. The command goes on.
 */
void call_leave(struct call *c, int64_t ms);
/*
 * Adds input, from on_readable or before call_run; no bytes: its end. Returns -1, and
 * adds nothing, if more than FRAME_MAX would wait.
 */
int call_put(struct call *c, struct str bytes);
/* From a callback: sends a frame of JSON within this call ('Z'). */
void call_send(struct call *c, char type, const struct json *j);
/*
 * From on_output: writes all bytes to fd, and handles signals meanwhile. Returns
 * 0; -1 with errno; ECANCELED: a signal made the call leave.
 */
int call_write(struct call *c, int fd, struct str bytes);

/*
 * For a connection that was silent for CALL_SILENT_MS: asks the server for its state on
 * another connection. Blocks for CALL_ASKED_MS at most. Returns -1 and sets *e to TIMEOUT
 * if the server does not answer at all.
 */
int call_check_server(const struct client *client, struct err *e);

/*
 * Opens a connection, sends a small request and waits ms milliseconds at most for its
 * result. Returns the result, which the caller frees, or NULL and sets *e.
 */
struct json *call_simple(const char *socket, const struct json *request,
                         int64_t ms, struct err *e);

#endif
