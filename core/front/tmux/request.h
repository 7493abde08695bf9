/* SPDX-License-Identifier: MIT */
/* Requests and their commands: client.c. */
#ifndef OD_FRONT_TMUX_REQUEST_H
#define OD_FRONT_TMUX_REQUEST_H

#include "front/tmux/own.h"

/* ---- for commands ---- */

/* A line of output, without its newline. */
__attribute__((format(printf, 2, 3))) void tm_print(struct tm_item *it, const char *fmt,
                                                    ...);
void tm_print_bytes(struct tm_item *it, struct str bytes);
/* The text of an error; returns TM_ERROR. */
__attribute__((format(printf, 2, 3))) enum tm_result tm_fail(struct tm_item *it,
                                                             const char *fmt, ...);
/* What a command that returned TM_WAIT has come to. */
void tm_go_on(struct tm_item *it, enum tm_result result);
/* The name of this command: the same after a restart of the worker. */
void tm_call_id(const struct tm_item *it, char out[LIMIT_ID + 1]);
/*
 * Parses text as commands and does them after it (or, it NULL, by themselves, at this
 * place and without output). Returns -1 and appends the reason to why.
 */
int tm_run_text(struct tmux *t, struct tm_item *it, struct str text, const char *file,
                const struct tm_place *at, struct buf *why);
/* The same for words that are one command line. */
int tm_run_words(struct tmux *t, struct tm_item *it, int argc, char *const *argv,
                 const struct tm_place *at, struct buf *why);
/* The state that says that this command is done, for pane_type. */
void tm_done_state(struct tm_item *it, struct buf *key, struct buf *value);
/* Sends rows of a screen as they are taken; the command has returned TM_WAIT, unless this
 * returns true: they are sent. take becomes the request's. */
bool tm_capture(struct tm_item *it, struct capture *take);
/* Reads the client's standard input to its end: `in` of the client, then tm_go_on is up
 * to `ready`. */
void tm_want_input(struct tm_item *it, void (*ready)(struct tm_item *it));

/* A line of a client in control mode. */
int tm_take_line(struct tmux_client *c, struct str line, struct buf *why);
/* The commands of a hook, after the command. */
int tm_run_hook(struct tm_item *it, struct str text, struct buf *why);
/* The server's configuration, before the commands of the client that has started it. */
int tm_config_text(struct tmux_client *from, struct str text, const char *file,
                   struct buf *why);
/* The same command as a request of the server's own, which waits. */
struct tm_item *tm_copy(struct tm_item *it);
/* Later commands of the same line are at this place. */
void request_current(struct tm_item *it, const struct tm_place *at);
/* Sends the result if there is nothing left to do. */
void request_settle(struct tmux_client *c);
/* Ends a client that stays; text, which may be NULL, is its last line. */
void request_leave(struct tmux_client *c, const char *text, bool error);
/* The rows that it reads are gone. */
void request_cut_capture(struct tmux_client *c);

/* ---- for the model ---- */

void request_pane_room(struct tm_pane *p);
void request_pane_gone(struct tm_pane *p);
void request_session_gone(struct tm_session *s);
/* Wakes what waits for channels, because the server ends. */
void request_wake_all(struct tmux *t);
/* Does any request go on? */
bool request_any(const struct tmux *t);
/* Ends all requests: the server ends. */
void request_end_all(struct tmux *t);
/* Ends the server. */
void front_tmux_end(struct tmux *t);

/* ---- cmds.c ---- */
/* NULL: appends why not. */
const struct tm_command *command_find(const char *name, struct buf *why);
const struct tm_command *command_at(size_t i); /* NULL after the last */
/* What lang/args.h needs of it. */
struct tmux_spec command_spec(const struct tm_command *c);

#endif
