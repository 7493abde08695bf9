/* SPDX-License-Identifier: MIT */
/* Shared by the files of od jupyter-bridge. */
#ifndef OD_BRIDGE_H
#define OD_BRIDGE_H

#include "base/buf.h"
#include "base/json.h"
#include "ipc/call.h"
#include "kernel/cell_text.h"
#include "kernel/kernel.h"
#include "kernel/notebook.h"
#include "net/sockpath.h"

struct bridge {
    const char *code, *file, *kernel, *name, *images, *output, *cwd, *user;
    const char *server; /* WHERE (net/sockpath.h), or NULL */
    char socket_space[SOCKPATH_MAX];
    const char *choice, *verb;
    const char *question; /* instead of running the cell: KERNEL_QUESTIONS */
    int64_t at;           /* the cursor, in characters; -1: the end of the cell */
    struct json *env;
    int64_t timeout_ms;
    bool json, list, verbose, keep_going, all_text;
    bool from_stdin; /* the cell was read from there */
};

enum { BRIDGE_BOOK_MAX = 256 << 20 };

/* A cell that runs. */
struct bridge_cell {
    struct call call;
    const struct bridge *o;
    struct buf line;       /* the incomplete line that was received */
    struct cell_text text; /* for json and execute_cli */
    struct notebook *book; /* borrowed; outputs are added to it; NULL: none */
    struct json *reply;    /* owned: the answer to `question` */
    int pictures;
    char last; /* the last byte written to standard output */
    bool interrupted;
    bool unanswered; /* interrupted, because a question of the cell had no answer */
};

/* Prints e. Returns the exit status. */
int bridge_fail(const struct err *e);
/* From now on signals interrupt the call, not this process. Returns -1 and sets *e. */
int bridge_open_signals(struct err *e);
/* Returns a request for the kernel that the options name; the caller frees it. */
struct json *bridge_request(const struct bridge *o, const char *verb);
/* Sends o->verb: interrupt, restart or close. Returns -1 and sets *e on failure. */
int bridge_send_verb(const struct bridge *o, struct err *e);
/*
 * Runs a cell, or asks about it. Returns the result, which the caller frees; NULL and
 * sets *e on failure. The caller zeroes c before and calls bridge_cell_release after it.
 */
struct json *bridge_run(struct bridge_cell *c, const struct bridge *o,
                        struct client *client, struct str code, struct err *e);
void bridge_cell_release(struct bridge_cell *c);
/* Returns the exit status for a result. */
int bridge_status(const struct json *result, const struct bridge_cell *c);
/* Prints why a cell ended early; with --verbose also which kernel ran it. */
void bridge_tell_end(const struct bridge *o, const struct json *result);
int bridge_print_json(const struct json *j);
/* Runs one cell and prints its output. Returns the exit status. */
int bridge_one_cell(const struct bridge *o, struct client *client, struct str code);

/* bridge_ask.c: asks a question about code. Returns the exit status. */
int bridge_ask(const struct bridge *o, struct client *client, struct str code);
/* bridge_book.c: runs a notebook from first to last cell. Returns the exit status. */
int bridge_notebook(struct bridge *o, struct client *client, struct str text);

#endif
