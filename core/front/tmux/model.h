/* SPDX-License-Identifier: MIT */
/* Sessions, their links to windows, and windows with their panes. */
#ifndef OD_FRONT_TMUX_MODEL_H
#define OD_FRONT_TMUX_MODEL_H

#include "front/tmux/own.h"

/* ---- finding ---- */
struct tm_session *session_by_name(const struct tmux *t, struct str name);
struct tm_session *session_by_id(const struct tmux *t, unsigned id);
struct tm_window *window_by_id(const struct tmux *t, unsigned id);
struct tm_pane *pane_by_id(const struct tmux *t, unsigned id);
/* Sessions by name; i from 0 on, NULL after the last. */
struct tm_session *session_sorted(const struct tmux *t, unsigned i);
struct tm_link *link_by_index(const struct tm_session *s, int index);
struct tm_link *link_of(const struct tm_session *s, const struct tm_window *w);
/* Some session that has a link to the window; NULL: none. */
struct tm_session *session_of(const struct tm_window *w);
unsigned window_count(const struct tm_window *w);   /* panes */
unsigned session_count(const struct tm_session *s); /* links */
int pane_index(const struct tm_pane *p);
struct tm_pane *pane_at(const struct tm_window *w, int index);
/* The pane that is the next (1) or previous (-1) one in the window, around its end. */
struct tm_pane *pane_beside(const struct tm_pane *p, int by);

/* ---- sessions and links ---- */
/* A name in which ':' and '.' are '_', and control characters, backslashes and bytes that
 * are not UTF-8 are escaped; NULL: it is empty. The caller frees. */
char *session_clean_name(const char *name);
struct tm_session *session_new(struct tmux *t, const char *name, const char *cwd);
/* Ends the session, with the windows that no other session has. */
void session_end(struct tm_session *s);
/* Links a window at an index, -1: the next free one from base-index on. NULL: it is used.
 */
struct tm_link *link_new(struct tm_session *s, struct tm_window *w, int index);
/* Removes the link. Returns true if the session has ended with it. */
bool link_end(struct tm_link *l);
/* Gives it another index, which is free. */
void link_move(struct tm_link *l, int index);
void link_use(struct tm_link *l); /* makes it the current one */
/* The next (1) or previous (-1) link; alert: that has one. */
struct tm_link *link_beside(struct tm_link *l, int by, bool alert);
struct tm_link *link_last(const struct tm_session *s);
/* Moves links up by one so that the place before or after l is free. Returns its index.
 */
int link_shuffle(struct tm_session *s, struct tm_link *l, bool before);
void session_renumber(struct tm_session *s);
/* The same windows in all sessions of the group. */
void session_sync_group(struct tm_session *s);
/* Tells the other sessions of its group what changed in s. */
void session_touch(struct tm_session *s);

/* ---- windows ---- */
struct tm_window *window_new(struct tmux *t, int cols, int rows);
/* Ends the window in all sessions. */
void window_end(struct tm_window *w);
/* Adds a pane after (or before) another one, or at an end if other is NULL. */
void window_put_pane(struct tm_window *w, struct tm_pane *p, struct tm_pane *other,
                     bool before);
/* Takes a pane out of list, stack and the place of the active one, but not the layout. */
void window_drop_pane(struct tm_pane *p);
/* Makes it the active one. Returns false if it was. */
bool window_use_pane(struct tm_pane *p);
/* The ids of its panes, in their order; the caller frees. */
unsigned *window_ids(const struct tm_window *w, size_t *n);
/* Control characters, backslashes and bytes that are not UTF-8 are escaped. */
void window_set_name(struct tm_window *w, const char *name);
/* The name of its program, by the rules of automatic-rename. */
void window_auto_name(struct tm_window *w);
void window_resize(struct tm_window *w, int cols, int rows);
/* Gives the panes the places of the layout. */
void window_lay(struct tm_window *w);
/* Appends the layout as tmux writes it; visible: of a zoomed pane alone. */
void window_put_layout(const struct tm_window *w, bool visible, struct buf *out);
/* Uses such a text for the panes that there are. Returns -1 and appends to why if it does
 * not fit. The window then has the size of its layout after window_fit. */
int window_take_layout(struct tm_window *w, const char *text, struct buf *why);
void window_fit(struct tm_window *w);
bool window_zoom(struct tm_pane *p);
bool window_unzoom(struct tm_window *w);
/* The size of a new window of s. */
void window_default_size(const struct tmux *t, const struct tm_session *s, int *cols,
                         int *rows);

/* ---- panes ---- */
/* Ends a pane, with its window if it is the last one. */
void pane_kill(struct tm_pane *p);
/* Its program has ended. */
void model_pane_dead(struct tm_pane *p);
void model_rung(struct tm_pane *p);
void model_output(struct tm_pane *p, uint64_t offset, struct str bytes);
/* Ends the server if it is ours and has nothing left. */
void model_check_end(struct tmux *t);

/* ---- hooks ---- */
void hook_run(struct tmux *t, const char *name, struct tm_session *s, struct tm_window *w,
              struct tm_pane *p);
/* after-COMMAND, in the request of the command that is done. */
void hook_after(struct tm_item *it);

#endif
