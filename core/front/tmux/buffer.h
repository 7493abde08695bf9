/* SPDX-License-Identifier: MIT */
/* Paste buffers: cmd_buffer.c. */
#ifndef OD_FRONT_TMUX_BUFFER_H
#define OD_FRONT_TMUX_BUFFER_H

#include "front/tmux/own.h"
#include "front/tmux/spawn.h"

/* name NULL: the newest of those that we named. */
struct tm_buffer *buffer_find(struct tmux *t, const char *name);
void buffer_drop(struct tmux *t, struct tm_buffer *b);
/* Puts data into a new buffer, or in the place of the one with this name. Returns -1 and
 * appends the reason to why. */
int buffer_put(struct tmux *t, const char *name, struct str data, struct buf *why);

#endif
