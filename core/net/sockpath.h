/* SPDX-License-Identifier: MIT */
/*
 * Which unix socket: where the server listens and a client looks for it.
 *
 * One that is named (--socket, else OD_SOCKET; "@name" is abstract) is the
 * only one. Otherwise, in this order:
 *
 *   $XDG_RUNTIME_DIR/od/sock   when that directory is ours
 *   /tmp/od-UID/sock           in a directory of ours, 0700, never a link
 *   @od-UID                    abstract: where no directory can be made
 *
 * Both sides trust owners, not names: a directory or a listener that belongs
 * to neither the user nor root is as good as absent.
 */
#ifndef OD_NET_SOCKPATH_H
#define OD_NET_SOCKPATH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SOCKPATH_MAX 1024 /* bytes of a path, terminator included */
#define SOCKPATH_CANDIDATES 3

struct sockpath {
    char path[SOCKPATH_MAX]; /* absolute, or "@name" */
    bool private_dir;        /* its directory is made and checked by us */
};

/*
 * Fills out with the places in the order in which they are tried and returns
 * how many; given: the --socket option or NULL. -1: INVALID, the name is empty
 * or too long.
 */
int sockpath_candidates(const char *given,
                        struct sockpath out[SOCKPATH_CANDIDATES], struct err *e);

/*
 * Connects to the first live server: a non-blocking, close-on-exec descriptor
 * of the caller's. *server (may be NULL) is the process that began to listen,
 * the same one for as long as that server lives. -1: NOTFOUND: none is running;
 * BUSY: it runs and its queue of connections is full: try again; DENIED: the
 * socket that was named belongs to somebody else.
 */
int sockpath_connect(const char *given, pid_t *server, struct err *e);

/*
 * Listens at the first place that can be had, with a mode of 0600: a blocking,
 * close-on-exec descriptor of the caller's, and the place in out. A socket that
 * a dead server left is removed, under a lock, so that of two servers that
 * start at once one wins. -1: EXISTS: a live server answers, the text names
 * where; others: no place could be had, and why the last one could not.
 */
int sockpath_listen(const char *given, char *out, size_t size, struct err *e);

/* Removes what sockpath_listen made; before its descriptor is closed. */
void sockpath_remove(const char *path);

#endif
