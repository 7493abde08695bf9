/* SPDX-License-Identifier: MIT */
/* All that there is, as a state at the keeper: state.c. */
#ifndef OD_FRONT_TMUX_STATE_H
#define OD_FRONT_TMUX_STATE_H

#include "front/tmux/own.h"

/* Something changed: it is stored after the command, or at the end of the turn. */
void state_changed(struct tmux *t);
/* Stores what changed now. */
void state_store(struct tmux *t);
/* Takes up what the previous worker stored. */
void state_load(struct tmux *t);
/* A buffer came, changed or went. */
void state_put_buffer(struct tmux *t, struct tm_buffer *b, bool gone);

/* ---- which commands are done ---- */

/* Of the request with this id: how many; its output in out and err, its status. */
uint64_t done_find(struct tmux *t, const char *id, struct buf *out, struct buf *err,
                   int *exit);
/* The next command of the request is done. */
void done_note(struct tmux_client *c, uint64_t steps);
/* A part of the next command is done: keys for pane number `which`, up to byte `at`. */
void typed_state(struct tm_item *it, uint64_t which, uint64_t at, struct buf *key,
                 struct buf *value);
/* Where an earlier worker came to with it; 0, 0: nowhere. */
void typed_before(struct tm_item *it, uint64_t *which, uint64_t *at);
/* The client's input was typed up to this offset. */
void input_state(struct tmux_client *c, uint64_t at, struct buf *key, struct buf *value);
/* The same, as an earlier worker stored it. */
uint64_t input_before(struct tmux *t, const char *id);
/* The state with all of these, to be stored with an input. */
void done_state(struct tmux *t, struct buf *key, struct buf *value);
#endif
