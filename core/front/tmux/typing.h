/* SPDX-License-Identifier: MIT */
/* Typing into a pane: once, and as the pane has room. cmd_keys.c. */
#ifndef OD_FRONT_TMUX_TYPING_H
#define OD_FRONT_TMUX_TYPING_H

#include "front/tmux/own.h"

/* Types bytes, which are taken, into the target of the command, whose result this is. */
enum tm_result typing_begin(struct tm_item *it, struct buf *take);
#endif
