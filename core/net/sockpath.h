/* SPDX-License-Identifier: MIT */
/*
 * The unix socket of a server: where it listens, and where clients look for it.
 *
 * A user may have several servers, each with a NAME (letters, digits, "-", "_", "."; no
 * dot first). WHERE, what --server and OD_SERVER take, is such a name, the path of a
 * socket, which has a slash, or @NAME, an abstract socket. Without it a client takes the
 * server `default` if it lives, else the user's only live one. If XDG_RUNTIME_DIR is set,
 * a client first looks for these two there.
 *
 * Both try the directories of net/places.h. In each of them, `sock` is the socket of
 * `default`, and NAME/sock that of another server. Only if no such directory is usable,
 * the name is abstract: @od-UID-N or @od-UID-N/NAME, where N is the mount namespace
 * (net/peer.h).
 *
 * Both sides trust owners, not names: a directory or listener of anyone but the user and
 * root is ignored.
 */
#ifndef OD_NET_SOCKPATH_H
#define OD_NET_SOCKPATH_H

#include "base/err.h"
#include "net/places.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SOCKPATH_MAX 1024 /* bytes of a path, terminator included */
#define SOCKPATH_CANDIDATES (PLACES_MAX + 1)
#define SOCKPATH_DEFAULT "default" /* the server without a WHERE */

enum {
    SOCKPATH_NAME_MAX = 64, /* bytes; with /tmp/od-UID it fits an address's 107 */
    SOCKPATH_SERVERS_MAX = 64
};

struct sockpath {
    char path[SOCKPATH_MAX]; /* absolute, or "@name" */
    size_t place; /* length of the private directory at its beginning; 0: none */
};

/* A live server. */
struct sockpath_server {
    char name[SOCKPATH_NAME_MAX + 1]; /* "": unknown, as its path was given */
    char path[SOCKPATH_MAX];
    pid_t pid; /* of the process that began to listen; it lives as long as the server */
};

/* Returns -1 and sets *e: INVALID, name cannot be the name of a server. */
int sockpath_check_name(const char *name, struct err *e);

/*
 * Converts the value of --socket or OD_SOCKET to one of --server: a word without a slash
 * is a path in the former. Returns word itself, or a copy in space.
 */
const char *sockpath_of_path(const char *word, char space[SOCKPATH_MAX]);

/*
 * Returns WHERE from the environment: OD_SERVER, else OD_SOCKET; NULL if neither is set.
 */
const char *sockpath_of_environment(char space[SOCKPATH_MAX]);

/*
 * Fills out with the places of WHERE in the order of trial and returns their number;
 * where NULL: from the environment, else `default`. Returns -1 and sets *e: INVALID, it
 * is empty, too long, or no name; UNSUPPORTED, it is an address of the network.
 */
int sockpath_candidates(const char *where, struct sockpath out[SOCKPATH_CANDIDATES],
                        struct err *e);

/*
 * Connects to the server at WHERE; NULL: from the environment, else `default`, else the
 * user's only one, as above. Returns a non-blocking, close-on-exec descriptor, which the
 * caller owns; *found, if not NULL, is the server. Returns -1 and sets *e: NOTFOUND, it
 * does not run; BUSY, it runs and its queue of connections is full: try again, and
 * found->path is set; INVALID, there are several and none is `default`, the text lists
 * them; DENIED, the named socket belongs to another user or container.
 */
int sockpath_connect(const char *where, struct sockpath_server *found, struct err *e);

/* Fills out with the user's live servers, `default` first; returns their number. */
int sockpath_servers(struct sockpath_server out[SOCKPATH_SERVERS_MAX]);

/*
 * The file in a server's state folder, which the server keeps locked: {"pid": its
 * keeper's, "name", "socket": strings}. Clients find a server by it if its socket is
 * elsewhere.
 */
#define SOCKPATH_RECORD "server"

/*
 * Listens at the first usable place of WHERE, with mode 0600. Returns a blocking,
 * close-on-exec descriptor, which the caller owns, and the place in out. The socket of a
 * dead server is removed under a lock, so that one of two servers that start at once
 * wins. Returns -1 and sets *e: EXISTS, a live server answers at the place that the text
 * names; others: no place is usable, with the reason of the last one.
 */
int sockpath_listen(const char *where, char *out, size_t size, struct err *e);

/* Removes the files of sockpath_listen, before its descriptor is closed. */
void sockpath_remove(const char *path);
/* Removes the name of a server that accepts no more, unless another one has taken it. */
void sockpath_remove_left(const char *path);

#endif
