/* SPDX-License-Identifier: MIT */
/* What the files of this room share: connections, and how they are answered. */
#ifndef OD_FRONT_LOCAL_OWN_H
#define OD_FRONT_LOCAL_OWN_H

#include "action/ask.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/gate.h"
#include "eventlog/eventlog.h"
#include "front/front.h"
#include "front/local/act.h"
#include "io/stream.h"
#include "setup/plugins.h"
#include "shell/op.h"
#include "shell/session.h"
#include "term/term.h"

enum {
    LOCAL_QUEUED_MAX = 256 << 10, /* bytes queued for a client before output waits */
    LOCAL_ID_SIZE = 33,           /* of a server's id, with its NUL */
    LOCAL_TYPED_MAX = 16          /* attached terminals that may reconnect */
};

/* How much input an attached terminal has had, by the id of its request. */
struct local_typed {
    char id[LIMIT_ID + 1];
    uint64_t to;
};

/* The front-end. */
struct local {
    struct io io;
    struct fronts *all; /* borrowed */
    int fd;             /* owned; the listening socket, -1: none */
    unsigned conns;
    char id[LOCAL_ID_SIZE]; /* of the server: the same while its keeper lives */
    struct local_typed typed[LOCAL_TYPED_MAX]; /* the latest first */
    struct http_front table;                   /* its routes */
};

struct cell_call;
struct skill_ask;
struct browse_ask;
struct kill_ask;
struct mcp_link;
struct recording;
struct tmux_client;

struct conn {
    struct local *front;
    struct fronts *all;
    struct engine *en;
    struct stream stream;
    struct op *op;             /* borrowed; the request in flight */
    struct cell_call *cell;    /* owned; the same for a cell */
    struct skill_ask *skill;   /* owned; the same for a skill */
    struct action_ask submit;  /* the same for an action */
    struct browse_ask *browse; /* owned; the same for a browser */
    struct mcp_link *mcp;      /* borrowed; the same for MCP */
    struct tmux_client *tmux;  /* borrowed; the same for tmux */
    struct recording *cast;    /* borrowed; the same for a recording */
    struct session *attached;
    uint64_t typed;            /* bytes typed while attached */
    char typist[LIMIT_ID + 1]; /* the id of that request; "": none */
    struct kill_ask *killing;  /* owned; the request in flight */
    uid_t uid;                 /* the peer */
    pid_t pid;
    char act[ACTION_KEY + 1]; /* the key of the request's action; "": none */
    uint64_t observed; /* of OUTSIDE_OVER: the event with the observation; 0: none */
    bool upgrading;
    bool visiting; /* its client visits a page by itself: local_visit */
    bool busy;     /* a request is in flight */
    char *as;      /* owned; the command in hints to the client; NULL: as op_command */
    bool closed;
    struct task flush;  /* sends the output of a turn in one write */
    struct timer late;  /* sends a note that no result followed */
    struct task resume; /* reads frames that had to wait */
    struct json *notes; /* owned; for the result */
    struct json *gaps;  /* owned */
    struct json *held;  /* owned; a request that waits for the plugins, or at the gate */
    struct plugins_wait setup;
    struct gate_wait gate;
    struct timer held_long;     /* the time limit of `held` */
    int64_t held_at, waited_ms; /* since when; how much of the limit has passed */
    struct event_cursor cursor; /* of a request for events */
    struct event_sub sub;
    bool reading, follow;
    size_t left_before; /* bytes that the client had not taken at the last check */
    struct term_opts text; /* of the terminals that make text of the op's output */
};

/* Returns 0 if an answer was or will be sent; -1 and sets *e, which the caller sends. */
typedef int local_verb(struct conn *c, const struct json *q, struct err *e);

/* local.c */
void local_send_json(struct conn *c, char type, const struct json *j);
/* A note, together with the result if that comes soon: one write, one wake-up. */
void local_send_later(struct conn *c, const struct json *j);
void local_send_result(struct conn *c, struct json *take);
void local_send_error(struct conn *c, const struct err *e);
/* exit: the exit status for the caller, as in a shell; 0: none. */
void local_send_failure(struct conn *c, const struct err *e, int exit);
void local_send_note(struct conn *c, const char *kind, const char *text);
/* Sends text from *sent on, as far as there is room. Returns false if some is left. */
bool local_send_text(struct conn *c, struct str text, size_t *sent);
struct json *local_ok(void);
/* How a command line for the client's applet begins; dflt is "od APPLET". */
const char *local_command(const struct conn *c, const char *dflt);

/*
 * Serves a connected, non-blocking socket, which it takes. uid, pid: the client, for the
 * log. Returns -1 if the socket cannot be watched; the caller then still owns fd.
 */
int local_serve(struct local *l, int fd, uid_t uid, pid_t pid);
/* Whether the limit of connections is reached. */
bool local_is_full(const struct local *l);

/* remote.c */
/* Fills in the table that local_http returns. */
void local_http_open(struct local *l);
const struct http_front *local_http(const void *f, unsigned i);
/* The id that the previous worker left, if there was one; and a new one if there was
 * none. */
void local_id_load(struct engine *en, char id[LOCAL_ID_SIZE]);
void local_id_start(struct engine *en, char id[LOCAL_ID_SIZE]);

/* session.c */
local_verb local_run, local_wait, local_new, local_logs, local_attach;
local_verb local_input, local_signal, local_kill, local_resize;
/* The connection has ended. The kill that it requested goes on. */
void local_kill_drop(struct conn *c);
/* Types keys from the offset on. Returns false if there is no room now. */
bool local_type(struct conn *c, uint64_t offset, struct str bytes);
/* The connection was attached to a session, and no longer is. */
void local_attach_over(struct conn *c, const struct op_result *r);

/* events.c */
local_verb local_events;
void local_events_room(struct conn *c);
local_verb local_cast; /* a session as a recording: frames O, whose offsets are 0 */
void local_cast_drop(struct conn *c);

/* cell.c */
local_verb local_cell, local_kernels, local_kernel;
void local_cell_answer(struct conn *c, const struct json *j);
void local_cell_room(struct conn *c);
void local_cell_drop(struct conn *c);

/* browse.c */
local_verb local_browse, local_browsers, local_browser, local_visit;
void local_browse_room(struct conn *c);
/* {"cancel": true} cancels the call; the answer comes at its end. */
void local_browse_say(struct conn *c, const struct json *j);
void local_browse_drop(struct conn *c);
void local_visit_drop(struct conn *c);

/* mcp.c */
local_verb local_mcp;
/* Takes the payload of a frame of input; may end the request. */
void local_mcp_input(struct conn *c, struct str payload);
void local_mcp_room(struct conn *c);
/* end: the client's input has ended. */
void local_mcp_drop(struct conn *c, bool end);

/* session.c: the words of the process that q asks for, as if for a shell. */
void local_put_words(struct buf *out, const struct json *q);

/* checkpoint.c */
local_verb local_submit;

/* tmux.c */
local_verb local_tmux;
void local_tmux_input(struct conn *c, struct str payload);
void local_tmux_size(struct conn *c, const struct json *j);
void local_tmux_room(struct conn *c);
void local_tmux_drop(struct conn *c);

/* skill.c */
local_verb local_skill;
void local_skill_room(struct conn *c);
void local_skill_drop(struct conn *c);

#endif
