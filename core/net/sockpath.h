/* SPDX-License-Identifier: MIT */
/*
 * Which unix socket: where a server listens and a client looks for it.
 *
 * A user may have several servers, each with a NAME (letters, digits, "-", "_", "."; no
 * dot first). WHERE, what --server and OD_SERVER take, is such a name, the path of a
 * socket, which has a slash, or @NAME, an abstract socket. Without it a client takes the
 * server `default` if it lives, else the user's only live one.
 *
 * The directories that are tried are those of net/places.h. In each of them `sock` is the
 * socket of `default` and NAME/sock that of another server. Only if no such directory is
 * usable, the name is abstract: @od-UID-N or @od-UID-N/NAME, where N is the mount
 * namespace (net/peer.h).
 *
 * Both sides trust owners, not names: a directory or a listener that belongs
 * to neither the user nor root is ignored.
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
#define SOCKPATH_DEFAULT "default" /* the server that is meant without a WHERE */

enum {
    SOCKPATH_NAME_MAX = 64, /* bytes; with /tmp/od-UID it fits an address's 107 */
    SOCKPATH_SERVERS_MAX = 64
};

struct sockpath {
    char path[SOCKPATH_MAX]; /* absolute, or "@name" */
    size_t place; /* bytes of the private directory that it begins with; 0: none */
};

/* A server that answers. */
struct sockpath_server {
    char name[SOCKPATH_NAME_MAX + 1]; /* "": not known, its path was given */
    char path[SOCKPATH_MAX];
    pid_t pid; /* of the process that began to listen; it lives as long as the server */
};

/* Returns -1 and sets *e: INVALID, name cannot be the name of a server. */
int sockpath_check_name(const char *name, struct err *e);

/*
 * Makes the value of --socket or OD_SOCKET one for --server: a word without a slash is a
 * path there. Returns word itself, or a copy in space.
 */
const char *sockpath_of_path(const char *word, char space[SOCKPATH_MAX]);

/* WHERE by the environment: OD_SERVER, else OD_SOCKET; NULL: by neither. */
const char *sockpath_of_environment(char space[SOCKPATH_MAX]);

/*
 * Fills out with the places of WHERE in the order in which they are tried and returns
 * how many; NULL: by the environment, else of `default`. Returns -1 and sets *e: INVALID,
 * it is empty, too long, or no name; UNSUPPORTED, it is an address of the network.
 */
int sockpath_candidates(const char *where, struct sockpath out[SOCKPATH_CANDIDATES],
                        struct err *e);

/*
 * Connects to the server at WHERE, NULL: by the environment, else `default`, else the
 * user's only one. Returns a non-blocking, close-on-exec descriptor of the caller's;
 * *found (may be NULL) is the server. Returns -1 and sets *e: NOTFOUND, it does not run;
 * BUSY, it runs and its queue of connections is full: try again, found->path is set;
 * INVALID, there are several and none is `default`, the text lists them; DENIED, the
 * socket that was named belongs to another user, or is another container's.
 */
int sockpath_connect(const char *where, struct sockpath_server *found, struct err *e);

/* Fills out with the user's live servers, `default` first; returns how many. */
int sockpath_servers(struct sockpath_server out[SOCKPATH_SERVERS_MAX]);

/*
 * The file in a server's folder of state, which it keeps locked: {"pid": its keeper's,
 * "name", "socket": strings}. By it a server is found whose socket is elsewhere.
 */
#define SOCKPATH_RECORD "server"

/*
 * Listens at the first usable place of WHERE, with a mode of 0600. Returns a blocking,
 * close-on-exec descriptor of the caller's, and the place in out. A socket that
 * a dead server left is removed, under a lock, so that of two servers that
 * start at once one wins. -1: EXISTS: a live server answers, the text names
 * where; others: no place is usable, and why the last one could not.
 */
int sockpath_listen(const char *where, char *out, size_t size, struct err *e);

/* Removes what sockpath_listen made; before its descriptor is closed. */
void sockpath_remove(const char *path);

#endif
