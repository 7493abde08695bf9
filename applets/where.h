/* SPDX-License-Identifier: MIT */
/* The options --server, --socket and --ca, for every applet that connects to a server. */
#ifndef OD_WHERE_H
#define OD_WHERE_H

#include "base/err.h"
#include "net/sockpath.h"

#include <stdbool.h>

/*
 * Takes the value of "--server", "--socket" or "--ca"; *server and space belong together.
 * --ca is OD_CA for this process and those that it starts. Returns -1 and sets *e if the
 * address of a server elsewhere was given along with another server.
 */
int where_take(const char **server, char space[SOCKPATH_MAX], const char *option,
               const char *value, struct err *e);
/*
 * Returns whether server (NULL: the environment) names one elsewhere. Then paths,
 * directories and numbers of operations of this machine mean nothing to it.
 */
bool where_is_remote(const char *server);

#endif
