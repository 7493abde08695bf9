/* SPDX-License-Identifier: MIT */
/*
 * Directories that servers and clients of one user agree on: for a server's state, and
 * for its socket. Both are lists in the order of trial; files in a directory are trusted
 * only if the directory belongs to the user.
 */
#ifndef OD_NET_PLACES_H
#define OD_NET_PLACES_H

#include "base/err.h"

#include <stdbool.h>

enum { PLACE_MAX = 256, PLACES_MAX = 14 };

struct places {
    int n;
    char at[PLACES_MAX][PLACE_MAX]; /* absolute, without a slash at the end */
};

/*
 * Fills *out with the directories for state. given: --state-dir or OD_STATE_DIR, which
 * is then the only one; NULL: the usual ones. A given directory is used itself, unless
 * it exists and others own it or may write in it, such as /tmp or a volume of Kubernetes
 * (an emptyDir belongs to root and the group fsGroup). Then od does not change its mode,
 * and keeps its state in a subdirectory, od-UID. Root makes none in a directory of
 * another user, who could replace files there. Returns -1 and sets *e if the name is too
 * long.
 */
int places_state(struct places *out, const char *given, struct err *e);

/*
 * Fills *out with the directories for sockets:
 *
 *   $XDG_RUNTIME_DIR/od        when XDG_RUNTIME_DIR belongs to the user
 *   /tmp/od-UID
 *   STATE/.run                 in OD_STATE_DIR, else in the usual ones for state that
 *                              are not temporary directories
 *   $HOME/.od
 *   /run/od-UID, /dev/shm/od-UID, /var/tmp/od-UID
 */
void places_sockets(struct places *out);

/*
 * Returns 0 if dir is a directory of the effective user, and not a link to one; else -1
 * with errno: EACCES, it belongs to another user; ENOTDIR.
 */
int places_check(const char *dir);

/* Returns whether dir is such a directory, or the user could make it. Makes nothing. */
bool places_possible(const char *dir);

/*
 * Makes dir with mode 0700; missing parents only for STATE/.run. Returns 0 if it exists
 * now; -1 with errno.
 */
int places_make(const char *dir);

#endif
