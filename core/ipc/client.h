/* SPDX-License-Identifier: MIT */
/*
 * A client's connection to the server, which it finds or starts, and frames in
 * both directions.
 *
 * Reads and writes do not block: a tool polls c->fd together with its other
 * descriptors. The server's worker may be replaced at any instant; then the
 * connection ends and client_reopen makes the next one, to the same server
 * only, because another server would not know a repeated request, and would run
 * it a second time.
 *
 * A server elsewhere, http[s]://…, is reached by a relay (ipc/relay.h), a process that
 * lasts as long as the connection; all that follows is the same.
 */
#ifndef OD_IPC_CLIENT_H
#define OD_IPC_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "ipc/frame.h"
#include "net/sockpath.h"

#include <stdbool.h>
#include <sys/types.h>

struct client {
    int fd; /* owned; -1: not connected */
    /* Identifies the server: other connections of the same call go to its path. */
    struct sockpath_server server; /* elsewhere: path is the address, pid 0 */
    pid_t relay;                   /* 0: there is none */
    char id[64];                   /* of a server elsewhere; "": not known yet */
    bool refused;                  /* elsewhere: nothing listens, or no such name */
    struct buf in, out;
    size_t parsed; /* bytes of in that the last frame occupied */
};

/*
 * Connects to the server at where (sockpath_connect). start: if no server runs, starts
 * one (`od serve --daemon`) and waits until it is ready; but not if where, or OD_SERVER,
 * names one, nor if the folder of a path is missing, since it may be mistyped. A server
 * is started at OD_SOCKET. Returns 0, or -1 and sets *e: NOTFOUND if no server runs and
 * none was to be started. c may be closed after either. A server elsewhere is not
 * started, and this waits for the connection: CANCELLED, a signal came first.
 */
int client_open(struct client *c, const char *where, bool start, struct err *e);
/*
 * Starts a server at the socket of this path, with these words for od serve, at most 8,
 * which NULL ends, and connects to it; c has been opened in vain. If another process does
 * the same at this moment, both get the same server. Returns as client_open.
 */
int client_start(struct client *c, const char *path, const char *const *words,
                 struct err *e);
/*
 * Connects again, with both buffers empty. Returns 0, or -1 and sets *e: BUSY: not
 * now, try again; GONE: the server has ended, with everything that it ran.
 */
int client_reopen(struct client *c, struct err *e);
/* Returns whether the server is elsewhere. */
bool client_is_remote(const struct client *c);
void client_close(struct client *c); /* idempotent */

/*
 * Gets the next whole frame, whose payload is valid until the next call on c.
 * Returns 1; 0 if more must be read; -1 if the peer does not speak this protocol.
 */
int client_frame(struct client *c, struct frame *f);
/* Reads once. Returns 1 if bytes came, 0 if none did, -1 if the connection ended. */
int client_read(struct client *c);
/* Writes as much of c->out as possible. Returns 0; -1 if the connection ended. */
int client_flush(struct client *c);

#endif
