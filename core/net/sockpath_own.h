/* SPDX-License-Identifier: MIT */
/* What the files sockpath*.c share. */
#ifndef OD_NET_SOCKPATH_OWN_H
#define OD_NET_SOCKPATH_OWN_H

#include "net/sockpath.h"

/* sockpath_name.c */
/* Returns whether it is the name of a server, and neither a path nor abstract. */
bool sockpath_is_name(const char *where);
bool sockpath_is_abstract(const char *path);
/*
 * Fills in the places of a name and returns their number. A path too long for an address
 * is left out.
 */
int sockpath_named(const char *name, struct sockpath out[SOCKPATH_CANDIDATES]);
/* The last place of a name, an abstract one that differs in each mount namespace. */
void sockpath_abstract(struct sockpath *out, const char *name);
/* The directory of an absolute path whose last part is a name. */
void sockpath_dir(const char *path, char dir[SOCKPATH_MAX]);

/* sockpath.c */
/*
 * Returns a connected descriptor; -1 with errno: EACCES if it belongs to another user or
 * container, and then *e may have the reason.
 */
int sockpath_at(const struct sockpath *s, pid_t *pid, struct err *e);
/*
 * Connects to the first of n that answers, as sockpath_connect; *e is about found->path.
 */
int sockpath_first(const struct sockpath *c, int n, struct sockpath_server *found,
                   struct err *e);

#endif
