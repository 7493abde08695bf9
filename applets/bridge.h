/* SPDX-License-Identifier: MIT */
/* What the files of od jupyter-bridge share. */
#ifndef OD_BRIDGE_H
#define OD_BRIDGE_H

#include "base/buf.h"
#include "base/json.h"
#include "ipc/call.h"
#include "kernel/cell_text.h"
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

/* A cell in flight. */
struct bridge_cell {
    struct call call;
    const struct bridge *o;
    struct buf line;       /* of what comes, until its newline */
    struct cell_text text; /* for json and execute_cli */
    struct notebook *book; /* its outputs are wanted there; borrowed; NULL: nowhere */
    struct json *reply;    /* of a question; owned */
    int pictures;
    char last; /* byte of standard output */
    bool interrupted;
    bool unanswered; /* a question was, and the cell interrupted for that */
};

/* Says e; the exit status. */
int bridge_fail(const struct err *e);
/* Signals become words of the calls. */
int bridge_open_signals(struct err *e);
/* A request for the kernel that was asked for, to be freed. */
struct json *bridge_request(const struct bridge *o, const char *verb);
/* interrupt, restart, close: o->verb. -1: e. */
int bridge_send_verb(const struct bridge *o, struct err *e);
/*
 * Runs a cell, or asks about it. The result, to be freed; NULL: e. c is zeroed
 * before, and released by bridge_cell_release.
 */
struct json *bridge_run(struct bridge_cell *c, const struct bridge *o,
                        struct client *client, struct str code, struct err *e);
void bridge_cell_release(struct bridge_cell *c);
/* The exit status of a result. */
int bridge_status(const struct json *result, const struct bridge_cell *c);
/* Says why a cell ended early; verbose: in which kernel it ran. */
void bridge_tell_end(const struct bridge *o, const struct json *result);
int bridge_print_json(const struct json *j);
/* One cell with all that is printed of it; the exit status. */
int bridge_one_cell(const struct bridge *o, struct client *client, struct str code);

/* bridge_ask.c: a question about code; the exit status. */
int bridge_ask(const struct bridge *o, struct client *client, struct str code);
/* bridge_book.c: a notebook from its first cell to its last; the exit status. */
int bridge_notebook(struct bridge *o, struct client *client, struct str text);

#endif
