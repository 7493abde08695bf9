/* SPDX-License-Identifier: MIT */
/* New windows and panes: cmd_window.c and cmd_pane.c. */
#ifndef OD_FRONT_TMUX_SPAWN_H
#define OD_FRONT_TMUX_SPAWN_H

#include "front/tmux/own.h"

/* What a command gives for a new program; words: after its flags. */
struct spawn_request {
    struct tm_item *it;
    struct tm_session *s;
    const char *name, *cwd; /* NULL: not given */
    struct env env;         /* owned */
    int words;
    char *const *word;
    bool respawn; /* without words and cwd, those of before */
};
/* Reads -c and -e. */
void spawn_read(struct spawn_request *q, struct tm_item *it, struct tm_session *s);
void spawn_release(struct spawn_request *q);
/*
 * A new window of s with one pane, linked at index (-1: the next free one). kill: a
 * window that is there is ended first. Returns NULL and appends the reason to why.
 */
struct tm_link *spawn_window(struct spawn_request *q, int index, bool kill, bool select,
                             struct buf *why);
/* A pane, in no list yet, whose history has the limit of the session. */
struct tm_pane *spawn_make_pane(struct tm_window *w, const struct tm_session *s, int cols,
                                int rows);
/* Starts the program of a pane that is in its window. Returns -1 and appends to why. */
int spawn_pane(struct spawn_request *q, struct tm_pane *p, struct buf *why);
/* The directory for a program of this request, without -c. */
const char *spawn_cwd(const struct tmux_client *c, const struct tm_session *s);

#endif
