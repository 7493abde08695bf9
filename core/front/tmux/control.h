/* SPDX-License-Identifier: MIT */
/* Clients that stay: control mode, and one pane on a terminal. control.c, attach.c. */
#ifndef OD_FRONT_TMUX_CONTROL_H
#define OD_FRONT_TMUX_CONTROL_H

#include "front/tmux/own.h"

/* What a client that stays has; all of it is made again after a restart of the worker. */
struct control {
    bool shown;           /* the terminal has the pane */
    bool prefix;          /* C-b was typed */
    struct tm_pane *pane; /* borrowed; that is shown */
    unsigned number;      /* of the command in control mode */
    int64_t since;        /* when it began: seconds since 1970 */
    bool from_input;
    bool in_block;   /* between %begin and %end */
    struct buf held; /* owned; notifications that wait for the end of the block */
    bool no_output, wait_exit;
    int64_t pause_after; /* seconds; 0: never */
    struct json *paused; /* owned; {"%N": true} */
    /* Owned; of refresh-client -B: {NAME: {"what","format","is": {PLACE: VALUE}}}. */
    struct json *watches;
    struct timer watch;         /* runs while there are any */
    struct tmux_client *client; /* borrowed; whose this is, if there are any */
};

/* ---- control.c ---- */
void control_open(struct tmux_client *c);
void control_drop(struct tmux_client *c);
/* The frame of a command's output. */
void control_begin(struct tm_item *it);
void control_end(struct tm_item *it, bool error);
/* Writes a notification, in control mode, after the block that is being written. */
void control_note(struct tmux_client *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The command of the block waits: notifications do not wait for it. */
void control_free_held(struct tmux_client *c);
/* c->in has more. */
void control_input(struct tmux_client *c);
/* Tells control clients about a window, by the name of the notification without its %. */
void control_tell(struct tmux *t, const char *what, struct tm_window *w);
void control_session_renamed(struct tm_session *s);
void control_sessions_changed(struct tmux *t);
void control_output(struct tm_pane *p, uint64_t offset, struct str bytes);
void control_pane_gone(struct tmux_client *c, struct tm_pane *p);
void control_room(struct tmux_client *c);
void control_size(struct tmux_client *c);

/* ---- subscribe.c ---- */
/*
 * Adds the subscription "NAME:WHAT:FORMAT", or removes that of "NAME". Returns false if
 * there are too many, or the name is too long.
 */
bool control_watch(struct tmux_client *c, const char *text);

/* ---- attach.c ---- */
/* The client has this session from here on, in control mode or on its terminal. */
void control_attach(struct tmux_client *c, struct tm_session *s);
void client_detach(struct tmux_client *c);
/* Shows the pane that is the active one now, if it is another one. */
void attach_show(struct tmux_client *c);
void attach_input(struct tmux_client *c);

/* ---- cmd_session.c ---- */
enum tm_result attach_to(struct tm_item *it, struct tm_session *s, bool others,
                         bool hangup, bool read_only);
/* ---- cmd_window.c ---- */
/* The line of -P. */
void print_place(struct tm_item *it, const struct tm_place *at);

#endif
