/* SPDX-License-Identifier: MIT */
/*
 * A client's connection to the server: found, or made by starting a server,
 * and frames in both directions.
 *
 * Reads and writes do not block: a tool polls c->fd together with its other
 * descriptors. The server's worker may be replaced at any instant; then the
 * connection ends and client_reopen makes the next one, to the same server
 * only: another server would not know a repeated request, and would run it a
 * second time.
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
    struct buf in, out;
    size_t parsed; /* bytes of in that the last frame occupied */
};

/*
 * Connects to the server at where (sockpath_connect). start: if no server runs, starts
 * one (`od serve --daemon`) and waits until it is ready; but not if where, or OD_SERVER,
 * asks for one by name, nor if the folder of a path is missing: it may be mistyped.
 * OD_SOCKET is where a server is started. Returns 0, or -1 and sets *e: NOTFOUND if no
 * server runs and none was to be started. c may be closed after either. Elsewhere
 * none is started, and the connection is waited for: CANCELLED, a signal came first.
 */
int client_open(struct client *c, const char *where, bool start, struct err *e);
/*
 * Connects again, with both buffers empty. Returns 0, or -1 and sets *e: BUSY: not
 * now, try again; GONE: the server has ended, with everything that it ran.
 */
int client_reopen(struct client *c, struct err *e);
/* The server is one elsewhere. */
bool client_is_remote(const struct client *c);
void client_close(struct client *c); /* idempotent */

/*
 * The next whole frame: 1; 0: read more; -1: the peer does not speak this
 * protocol. Its payload is valid until the next call on c.
 */
int client_frame(struct client *c, struct frame *f);
/* Reads once. 1: something came; 0: nothing yet; -1: the connection is over. */
int client_read(struct client *c);
/* Writes what c->out holds as far as it goes. -1: the connection is over. */
int client_flush(struct client *c);

#endif
