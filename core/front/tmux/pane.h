/* SPDX-License-Identifier: MIT */
/* Panes: their programs, screens and input. */
#ifndef OD_FRONT_TMUX_PANE_H
#define OD_FRONT_TMUX_PANE_H

#include "front/tmux/own.h"

/* Makes a pane of this size, without a program; it is in no layout yet. */
struct tm_pane *pane_new(struct tm_window *w, unsigned id, int cols, int rows);
/* Ends its program and forgets everything of it. It must be in no window's list. */
void pane_free(struct tm_pane *p);

/*
 * Starts its program: p->argv by p->shell in p->cwd, with the variables of s and then of
 * extra. call: names the command that starts it; a program that it started already is
 * taken. Returns -1 and sets *e.
 */
int pane_spawn(struct tm_pane *p, const struct tm_session *s, const struct env *extra,
               const char *call, struct err *e);
/* Follows the program again: after a restart of the worker. */
void pane_resume(struct tm_pane *p);
/* NULL: it has none, or no longer. */
struct process *pane_process(const struct tm_pane *p);
/* Ends its program, whose output is forgotten. */
void pane_stop(struct tm_pane *p);
void pane_resize(struct tm_pane *p, int cols, int rows);

/*
 * Types bytes, once: key and value are a state at the keeper that is stored with them.
 * Returns false if there is no room for them now: tm_pane_room of client.c follows.
 */
bool pane_type(struct tm_pane *p, struct str bytes, struct str key, struct str value);

/* Pipes its output to a shell command and that command's output into it, by flags of
 * enum pane_pipe. */
enum pane_pipe { PIPE_OUT = 1, PIPE_IN = 2 };
int pane_pipe(struct tm_pane *p, const char *command, int flags, const struct env *env,
              const char *call, struct err *e);
void pane_pipe_end(struct tm_pane *p);
/* Follows the pipe again, after a restart of the worker. */
void pane_pipe_resume(struct tm_pane *p);
/* Appends NAME=VALUE, each ending in NUL, for programs of a pane. s and extra may be
 * NULL. */
void pane_variables(const struct tm_pane *p, const struct tm_session *s,
                    const struct env *extra, struct buf *out);

/* The program in the foreground of its terminal, and its directory; out "" if unknown. */
void pane_foreground(const struct tm_pane *p, char *name, size_t size, char *cwd,
                     size_t cwd_size);
/* The task `feed` of struct tmux: a turn has begun, in which panes read a bounded number
 * of bytes, each of those that have more in its turn. */
void pane_feed_all(struct task *task);
/* Returns whether its window is still named after its words: tmux looks at the program in
 * the foreground when the pane writes, and when it becomes the active one. */
bool pane_is_silent(const struct tm_pane *p);
/* Appends the last part of a program's path. */
void pane_short_name(const char *text, struct buf *out);
/* Appends its words as they would be written; of its window's first name, one word. */
void pane_put_command(const struct tm_pane *p, struct buf *out);
void pane_default_name(const struct tm_pane *p, struct buf *out);
/* Valid until it changes. */
const char *pane_title(const struct tm_pane *p);
/* Changes nothing if there is a control character, or a byte that is not UTF-8. */
void pane_set_title(struct tm_pane *p, const char *title);
/* Was its program started by the command of this id? */
bool pane_started_by(const struct tm_pane *p, const char *call);
/* Does its program read a line without showing it, as a password? */
bool pane_hides_input(const struct tm_pane *p);
/* The path of its terminal. */
void pane_tty(const struct tm_pane *p, char *out, size_t size);

#endif
