/* SPDX-License-Identifier: MIT */
/*
 * What tmux has: sessions, windows and panes, for callers that speak its command line
 * (README.md). A request is the words of one command line. It is answered in this server,
 * at its local socket, whose peers are checked there (front/local).
 *
 * A request has an id. The same one sent again, after a restart of the worker, goes on
 * where it was: no command of it is done twice.
 */
#ifndef OD_FRONT_TMUX_TMUX_H
#define OD_FRONT_TMUX_TMUX_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What -V prints: the version whose texts and formats these are. */
#define TMUX_VERSION "3.3a"

struct tmux;
struct tmux_client; /* a request */

struct tmux_calls {
    /* Takes output; error: standard error. Returns how many bytes were taken; if not all,
     * tmux_room is called when there is room again. */
    size_t (*output)(void *arg, bool error, uint64_t offset, struct str bytes);
    /* Tells the client: "stdin", its standard input is wanted; "raw", the same, and its
     * terminal becomes raw. */
    void (*note)(void *arg, const char *kind);
    /* Input was taken up to this offset. */
    void (*accepted)(void *arg, uint64_t offset);
    /* The result, which is taken; the last call, after which the request is gone. */
    void (*done)(void *arg, struct json *take);
};

/* Begins a request; calls may come before it returns. Returns NULL, and sets *e if it
 * failed; without an error it has ended. */
struct tmux_client *tmux_ask(struct tmux *t, const struct json *q, uid_t uid, pid_t pid,
                             const struct tmux_calls *calls, void *arg, struct err *e);
void tmux_room(struct tmux_client *c);
/* bytes.n 0: the end of its input. */
void tmux_input(struct tmux_client *c, uint64_t offset, struct str bytes);
void tmux_size(struct tmux_client *c, int rows, int cols);
/* The connection has ended. */
void tmux_leave(struct tmux_client *c);

/* Whether this command line starts a server where none runs. */
bool tmux_starts_server(int argc, char *const *argv);

#endif
