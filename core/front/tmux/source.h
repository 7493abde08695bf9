/* SPDX-License-Identifier: MIT */
/* Files of commands: cmd_shell.c. */
#ifndef OD_FRONT_TMUX_SOURCE_H
#define OD_FRONT_TMUX_SOURCE_H

#include "front/tmux/own.h"

/* Does the commands of a file after it; it NULL: those of the server's configuration,
 * seen from the client that has started it. quiet: the file need not be there. Returns -1
 * and appends the reason to why. */
int source_file(struct tmux *t, struct tm_item *it, struct tmux_client *from,
                const char *path, bool quiet, struct buf *why);

#endif
