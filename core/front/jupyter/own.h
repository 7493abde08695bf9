/* SPDX-License-Identifier: MIT */
/*
 * The front-end `jupyter`: the HTTP API of Jupyter's server (jupyter_server 2,
 * jupyter_server/services/api/api.yaml) for kernels, without Jupyter. README.md has what
 * is served. It answers at --listen jupyter@ADDRESS only.
 *
 *   front.c     life, routes, credentials, refusals, the state
 *   specs.c     /api/kernelspecs and the files of kernelspecs
 *   kernels.c   /api/kernels
 *   sessions.c  /api/sessions: paths of notebooks, each with its kernel
 *   channels.c  the WebSocket of a kernel's messages
 *   frame.c     the two forms of its frames
 *   contents.c  /api/contents, /files
 *   contents_find.c      of it: what files are, and what a change takes, in a helper
 *   terminals.c /api/terminals and their WebSockets
 *   config.c    /api/config, the WebSocket of /api/events
 *   login.c     the form for the token, cookies
 *   app.c       /lab: JupyterLab's files, its settings and layouts
 *   program.c   the command lines of Jupyter's programs, by argv[0]
 */
#ifndef OD_FRONT_JUPYTER_OWN_H
#define OD_FRONT_JUPYTER_OWN_H

#include "action/action.h"
#include "action/cell.h"
#include "engine/state.h"
#include "front/front.h"
#include "front/program.h"
#include "companion/companion.h"
#include "http/ws.h"
#include "io/job.h"
#include "kernel/kernel.h"
#include "kernel/listen.h"
#include "setup/sandbox.h"

#include <limits.h>

enum {
    NB_ID = 64,
    NB_UUID = 36,
    NB_BODY = 1 << 20,
    NB_SAVE_MAX = 64 << 20 /* of a file that is saved, or read, in one request */
};

struct jupyter {
    struct engine *en; /* borrowed */
    struct http_front front;
    char base[256];       /* --jupyter-base-url without its last slash */
    struct list sessions; /* struct nb_session, owned */
    struct list peers;    /* struct nb_peer of channels.c, owned */
    struct list places;   /* struct nb_place, owned, the oldest first */
    struct list runs;     /* struct nb_run of channels.c, owned */
    struct list waiters;  /* struct nb_waiter of config.c, owned: they listen to events */
    struct list works;    /* struct nb_work of contents.c, owned: changes, in turn */
    struct json *config; /* owned: sections of /api/config */
    char *root;          /* owned: --jupyter-root; NULL: the directory of new sessions */
    char *app;           /* owned: --jupyter-app; NULL: there is none */
    struct access *access; /* borrowed */
    unsigned npeers, nplaces;
    struct task save;
    int64_t started_ms;
};

/* A notebook and its kernel. */
struct nb_session {
    struct list node;
    char id[NB_UUID + 1], kernel[COMPANION_NAME + 1];
    struct json *about; /* owned: path, name, type */
};

/* How far the client with this session_id has read the messages of a kernel. */
struct nb_place {
    struct list node;
    char kernel[COMPANION_NAME + 1], process[64], session[NB_ID + 1];
    uint64_t at;
};

/* ---- front.c ---- */

/* Answers {"message", "reason"}. */
void nb_fail(struct req *r, int status, const char *text);
void nb_failf(struct req *r, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Answers with a value, which it takes. */
void nb_json(struct req *r, int status, struct json *take);
/* Returns the body as an object, empty if there is none; NULL after answering r. */
struct json *nb_body(struct req *r);
void nb_uuid(char out[NB_UUID + 1]);
/* Adds Location: the base and this path. */
void nb_location(struct req *r, const char *path, const char *id);
/* Stores the state at the end of the turn. */
void nb_save_later(struct jupyter *f);

/* ---- specs.c ---- */

void nb_get_specs(struct req *r);
void nb_get_spec(struct req *r);
void nb_get_spec_file(struct req *r);
/*
 * Finds the kernelspec of this name or language, "" for the default, and appends its
 * name. Returns -1 and sets *e if there is none.
 */
int nb_spec_name(const struct jupyter *f, struct str name, struct buf *out,
                 struct err *e);

/* ---- kernels.c ---- */

/* Returns {id, name, last_activity, execution_state, connections}. */
struct json *nb_kernel_json(const struct kernel *k);
/* Returns the kernel that r names; NULL after answering 404. */
struct kernel *nb_kernel_of(struct req *r);
/*
 * Opens an action of this kind on a kernel, for action_go. Takes the arguments, to which
 * it adds the kernel. Returns NULL and sets *e if they are refused.
 */
struct action *nb_open_act(struct jupyter *f, const char *kernel,
                           const struct action_kind *kind, struct json *take_args,
                           struct err *e);
/* Does an action of this kind on a kernel. Returns -1 and sets *e. */
int nb_act(struct jupyter *f, const char *kernel, const struct action_kind *kind,
           struct err *e);
/*
 * Starts a kernel by an action, and answers r when it is ready: with the kernel, or, if s
 * is not NULL, with that session, which is then added. Takes s. q has name or not; path:
 * of the notebook or folder, below the root. It has answered r if that fails.
 */
void nb_start(struct req *r, const struct json *q, struct str path, struct nb_session *s);
void nb_get_kernels(struct req *r);
void nb_post_kernels(struct req *r);
void nb_get_kernel(struct req *r);
void nb_delete_kernel(struct req *r);
void nb_interrupt(struct req *r);
void nb_restart(struct req *r);

/* ---- sessions.c ---- */

struct json *nb_session_json(const struct jupyter *f, const struct nb_session *s);
void nb_session_free(struct nb_session *s);
void nb_get_sessions(struct req *r);
void nb_post_sessions(struct req *r);
void nb_get_session(struct req *r);
void nb_patch_session(struct req *r);
void nb_delete_session(struct req *r);
/* Forgets the sessions of this kernel. */
void nb_sessions_forget(struct jupyter *f, const char *kernel);

/* ---- channels.c ---- */

void nb_get_channels(struct req *r);
/* Notes how far each client has read. */
void nb_mark_places(struct jupyter *f);
void nb_peers_close(struct jupyter *f);
/* Of a stream until it is a WebSocket's. */
void nb_on_nothing(struct stream *s);
void nb_on_nobody(struct stream *s, int errnum);

/* ---- contents.c ---- */

void nb_contents(struct req *r);
/* Appends a path, percent-encoded. */
void nb_put_path(struct buf *out, struct str path);
void nb_files(struct req *r);
/* Answers with a file below root, by an action of this source; NULL: none. */
void nb_send_file(struct req *r, const char *root, struct str path, const char *source);
/* The folder in which paths begin. Borrowed. */
const char *nb_root(const struct jupyter *f);
/* The user of files and terminals, with the root as directory. Returns -1 and sets *e. */
int nb_place(const struct jupyter *f, struct sandbox_place *out, struct err *e);

/* ---- contents_find.c ---- */

enum nb_verb {
    NB_GET,
    NB_PUT,
    NB_POST,
    NB_PATCH,
    NB_DELETE,
    NB_CHECKS,  /* lists checkpoints */
    NB_CHECK,   /* makes one */
    NB_CHECKED, /* describes the one that was made */
    NB_RESTORE,
    NB_UNCHECK,
    NB_PAGE,    /* of app.c: the page */
    NB_SETTINGS /* of app.c: one plugin's, or all */
};

/* A request about contents. */
struct nb_ask {
    enum nb_verb verb;
    char root[4096], path[PATH_MAX]; /* path: of the request, below the root */
    char type[16], format[16];       /* "": not given */
    char id[64];                     /* of a checkpoint */
    bool content, hash;
    const char *base;        /* borrowed; of the page: what precedes paths */
    const struct json *kept; /* borrowed; of settings: those that were changed */
    int status;              /* of the answer; 0: the head's */
    struct str body;         /* borrowed */
};

/*
 * A helper. Its output is a line with a JSON object, the head, and bytes after it:
 *   {"status","message","reason"}  the request is refused
 *   {"status","path","mtime"}      the bytes are the answer
 *   {"status","receive","do","then" or "check"}
 *                                  what is done: the bytes become a file, by these
 *                                  arguments; then these actions; and the answer is the
 *                                  model of this path, or its checkpoint
 */
int nb_find(void *ask, const struct job_child *c, struct err *e);
/*
 * Writes a path of a client, below the root, without slashes at its ends, "." and "..".
 * *hidden: whether a part begins with a dot. Returns -1 if it is outside of the root, too
 * long, or has a zero byte.
 */
int nb_path(struct str path, char out[PATH_MAX], bool *hidden);
/* Answers r by a helper that is asked this, which it copies (contents.c). */
void nb_ask_helper(struct req *r, const struct nb_ask *ask);

/* ---- terminals.c ---- */

void nb_get_terminals(struct req *r);
void nb_post_terminals(struct req *r);
void nb_get_terminal(struct req *r);
void nb_delete_terminal(struct req *r);
void nb_get_terminal_ws(struct req *r);

/* ---- config.c ---- */

void nb_get_config(struct req *r);
void nb_patch_config(struct req *r);
void nb_put_config(struct req *r);
/* Adds r's members to a section, where null removes one; all: replaces the section.
 * Answers r. */
void nb_change_config(struct req *r, const char *name, bool all);
void nb_get_events(struct req *r);
/* Sends the event of a client to all listeners, if its schema is one of nb_tell's. */
void nb_post_event(struct req *r);
/*
 * Tells who listens to events, as jupyter_server/services/events does. schema:
 * "contents_service" or "kernel_actions"; data: its members, taken. A listener that has
 * not read 128 KiB loses it.
 */
void nb_tell(struct jupyter *f, const char *schema, struct json *data);
/* The same for what was done to a kernel. */
void nb_tell_kernel(struct jupyter *f, const char *action, const char *kernel);
/*
 * Makes r the stream s of a WebSocket without a subprotocol, whose output has out_max
 * bytes at most. Returns -1 after answering.
 */
int nb_upgrade(struct req *r, struct stream *s, size_t out_max);

/* ---- login.c ---- */

extern const struct door nb_door; /* front.c */
void nb_get_login(struct req *r);
void nb_post_login(struct req *r);
void nb_get_logout(struct req *r);
/* Redirects to a path below the base, with this query or none. */
void nb_redirect(struct req *r, const char *path, struct str query);
/* front.refuse: a person is sent to the form. */
void nb_refuse(void *f, struct req *r, enum refusal why, int status, const char *text);

/* ---- app.c ---- */

/* Writes what the app is asked for, NB_PAGE or NB_SETTINGS, in the helper. Returns -1 if
 * it is not there. */
int nb_app_find(const struct nb_ask *a, struct buf *out);
void nb_get_root(struct req *r);
void nb_get_lab(struct req *r);
void nb_change_lab(struct req *r);

/* ---- program.c ---- */

extern const struct program nb_programs[];

/* ---- frame.c ---- */

/* The parts of a message, slices of its JSON. */
struct nb_message {
    struct str channel, header, parent, metadata, content; /* p NULL: it has none */
    struct str buffers;                                    /* an array of base64 */
};

/* Finds the parts in a line of a kernel. */
void nb_line(struct nb_message *m, struct str line);
/*
 * Appends the frame for m; *text: whether it is a text frame. v1: for the subprotocol
 * v1.kernel.websocket.jupyter.org. Returns -1 if out is full.
 */
int nb_frame(struct buf *out, const struct nb_message *m, bool v1, bool *text);
/*
 * Reads a client's frame; space has what m needs that is not in the frame. Returns -1 if
 * the frame is malformed.
 */
int nb_unframe(struct nb_message *m, struct str frame, bool text, bool v1,
               struct buf *space);
/* Appends m as a line for the kernel's host. Returns -1 if out is full. */
int nb_put_line(struct buf *out, const struct nb_message *m);

#endif
