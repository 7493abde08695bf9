/* SPDX-License-Identifier: MIT */
/* What the files sockpath*.c share. */
#ifndef OD_NET_SOCKPATH_OWN_H
#define OD_NET_SOCKPATH_OWN_H

#include "net/sockpath.h"

/* sockpath_name.c */
/* Is it the name of a server, and neither a path nor abstract? */
bool sockpath_is_name(const char *where);
bool sockpath_is_abstract(const char *path);
/* The places of a name, how many. One that is too long for an address is left out. */
int sockpath_named(const char *name, struct sockpath out[SOCKPATH_CANDIDATES]);
/* The last resort of a name: another one in each mount namespace. */
void sockpath_abstract(struct sockpath *out, const char *name);
/* The directory of an absolute path that has a name after its last slash. */
void sockpath_dir(const char *path, char dir[SOCKPATH_MAX]);

/* sockpath.c */
/*
 * A connected descriptor. Returns -1 with errno: EACCES if it is another user's or
 * another container's, and then *e may have the reason.
 */
int sockpath_at(const struct sockpath *s, pid_t *pid, struct err *e);
/* The first of n that answers, as sockpath_connect; *e is about found->path. */
int sockpath_first(const struct sockpath *c, int n, struct sockpath_server *found,
                   struct err *e);

#endif
