/* SPDX-License-Identifier: MIT */
/*
 * The configuration of od serve: its options, else the environment, else defaults. Those
 * of front-ends and parts are in their own tables (base/option.h), which serve_options.c
 * puts together; here is what the server itself needs of them.
 */
#ifndef OD_APPLETS_SERVE_H
#define OD_APPLETS_SERVE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "net/sockpath.h"

/* Bytes of the words and the environment of COMMAND: the maximum of execve. */
enum { SERVE_COMMAND_MAX = 8 << 20 };

struct options; /* base/option.h */

/* Strings are borrowed from argv and the environment. */
struct serve_options {
    struct options *given;          /* owned; all that was given, until it is stored */
    const char *name;               /* of the server */
    const char *socket, *state_dir; /* NULL: the first usable places */
    char port_space[8], socket_space[SOCKPATH_MAX];
    const char *working_dir; /* NULL: the current one */
    bool makes_dir;          /* makes it if missing: PORT or --username was given */
    int log_level;
    bool log_json;

    const char *listen[LIMIT_LISTENERS_MAX]; /* as written */
    int nlisten;

    bool daemon;
    int ready; /* descriptor for lines, -1: none */

    char **command; /* the words after "--", run next to the server; NULL: none */
    bool stay;      /* its end is not the server's */

    bool asks;        /* serve nothing: one of the next is set */
    bool upgrade;     /* ask a running server */
    const char *file; /* to upgrade to; NULL: our own */
    bool status;      /* the same, only to report its state, or the state of all */
    bool json;
    const char *server; /* which one (net/sockpath.h); NULL: by the environment */
    bool routes;        /* serve nothing: list what is served over HTTP */

    bool keys;            /* ask a running server about its keys */
    const char *key_verb; /* "list", "add" or "remove" */
    const char *key_name; /* NULL: the server chooses one */
    bool key_view;        /* a key of this right */
    const char *key_at;   /* the listener; NULL: all */
};

/*
 * Reads argv (argv[0] is the name) and the environment, and checks each value. Returns 0,
 * or -1 and sets *e, which names the option or variable and its value; out->ready is
 * valid all the same if it was given before.
 */
int serve_options_parse(struct serve_options *out, int argc, char **argv, struct err *e);

/* The tables, for od help serve: all options, or those that people need first. */
void serve_options_help(struct buf *out, bool all);

/* `od serve --upgrade`: returns the exit status. */
int serve_upgrade(const struct serve_options *o);
/* `od serve --status`: the same. */
int serve_status(const struct serve_options *o);
/* `od serve --keys`, --key-add and --key-remove: the same. */
int serve_keys(const struct serve_options *o);
/* `od serve --routes`: the same. */
int serve_routes(void);

struct serve_state {
    char dir[192]; /* "": none could be written */
    int lock;      /* the record, locked for as long as it is open; -1: none */
};

/*
 * Takes the folder NAME below `given`, or below one of the usual places (net/places.h),
 * and removes what the previous server left there, except its events. own: the socket
 * where this server listens; a server with the same one that still ends is waited for.
 * If the folder is new, a numbered folder of an earlier version is renamed to it: that of
 * a server of the same name, else one whose name is not known. Returns 0, with dir "" if
 * none of the usual places can be written. Returns -1 and sets *e: EXISTS, a server of
 * that name lives, the text has its process; others: the given place cannot be used.
 */
int serve_state_take(struct serve_state *s, const char *name, const char *own,
                     const char *given, struct err *e);

/* Writes the record of a server that listens (net/sockpath.h). */
void serve_state_record(const struct serve_state *s, const char *name,
                        const char *socket);

#endif
