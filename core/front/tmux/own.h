/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share.
 *
 *   front.c     the front-end: its life, and the server's end with its last session
 *   client.c    a request: its commands one after the other, its output
 *   state.c     all of it as one state at the keeper
 *   model.c     sessions, windows, links
 *   pane.c      panes: their programs, screens, input and pipes
 *   opts.c      options of the server, of sessions, windows and panes
 *   target.c    -t and -s
 *   vars.c      what formats know of these
 *   cmds.c      the table of commands; cmd_*.c do them
 *
 *   client ── commands ──▶ model ── changed ──▶ one state at the keeper, with the number
 * of commands that the request has done: so none is done twice
 *
 * A session has links to windows; a window has panes and may be linked by several
 * sessions. Everything is owned by struct tmux, and freed in the turn in which it ends.
 */
#ifndef OD_FRONT_TMUX_OWN_H
#define OD_FRONT_TMUX_OWN_H

#include "engine/engine.h"
#include "front/tmux/args.h"
#include "front/tmux/env.h"
#include "front/tmux/lang/layout.h"
#include "front/tmux/opts.h"
#include "front/tmux/screen.h"
#include "front/tmux/tmux.h"
#include "io/loop.h"
#include "shell/op.h"

enum {
    TM_SIDE_MAX = 10000,   /* columns and rows of a window */
    TM_NAME_MAX = 16384,   /* bytes of a name or title */
    TM_OUT_MAX = 64 << 20, /* bytes that are queued for a client */
    FRAME_WORD = 8 << 20,  /* bytes of one word of a command line */
    TM_DEPTH = 20,         /* commands that are begun by commands */
    TM_KEYS_MAX = 64 << 20 /* bytes of input that wait for a pane */
};

struct fronts;
struct tm_session;
struct tm_window;
struct tm_pane;
struct tm_link;

/* Where a command acts: any may be NULL. */
struct tm_place {
    struct tm_session *s;
    struct tm_link *l;
    struct tm_window *w;
    struct tm_pane *p;
    int index; /* of a window that need not be there; -1: none */
};

struct tm_buffer {
    struct list node; /* in tmux.buffers, newest first */
    char *name;       /* owned */
    char *data;       /* owned */
    size_t n;
    bool automatic; /* named by us: only these are counted by buffer-limit */
    int64_t made;   /* seconds since 1970 */
    uint64_t order;
    bool stored; /* the keeper has it */
    unsigned pieces;
};

struct tm_channel {
    struct list node;
    char *name; /* owned */
    bool woken, locked;
};

struct tmux {
    struct engine *en;
    struct fronts *all;
    bool own;        /* started by a client of ours: ends with its last session */
    bool configured; /* the files of the first client were read */
    bool ending, dirty, resuming;
    char socket[256];                     /* as panes have it in TMUX */
    char dir[512];                        /* of the files of panes; "": there is none */
    struct list sessions, windows, panes; /* owned; in the order of their making */
    struct list clients, buffers, channels;
    unsigned next_session, next_window, next_pane, next_buffer;
    uint64_t next_order; /* of buffers */
    unsigned last_point; /* the greatest active_point of a pane */
    int64_t started;     /* seconds since 1970 */
    struct tmux_options server, global,
        global_w; /* of the server, of sessions, of windows */
    struct env env;
    struct tm_pane *marked; /* borrowed */
    struct json *globals;   /* owned; options of all, as they are stored; NULL: changed */
    struct json *done;      /* owned; requests of late and what they have done */
    struct task after;      /* sends what is due after a turn */
    struct task feed;       /* panes go on to read */
    size_t fed;             /* bytes of output that all panes have read in this turn */
    unsigned fed_last;      /* the id of the pane that was fed last */
    struct timer end;
};

struct tm_session {
    struct list node;
    struct tmux *t;
    unsigned id;
    char *name, *cwd;                     /* owned */
    char *group;                          /* owned; NULL: none */
    int64_t made, active_us, attached_at; /* wall clock: seconds; microseconds; seconds */
    struct list links;                    /* owned; by index */
    struct tm_link *link;                 /* the current one */
    struct list stack;                    /* links that were current, the latest first */
    struct tmux_options opts;
    struct env env;
    unsigned clients;
    bool ended;
};

struct tm_link {
    struct list node, stacked;
    struct tm_session *s;
    struct tm_window *w;
    int index;
    bool bell, activity, silence;
};

struct tm_window {
    struct list node;
    struct tmux *t;
    unsigned id, links;
    char *name;                /* owned */
    struct list panes;         /* in tm_pane.sibling, in their order */
    struct tm_pane *pane;      /* the active one */
    struct list stack;         /* panes that were active, the latest first */
    struct tmux_layout layout; /* also while one pane is zoomed */
    struct tm_pane *zoomed;    /* borrowed; NULL: none */
    char *old_layout;          /* owned; for select-layout -o; NULL: none */
    int last_layout;           /* the preset that was used last; -1: none */
    int cols, rows;
    bool naming;
    int64_t active_us;
    struct tmux_options opts;
    bool ended;
};

struct tm_pane {
    struct list node, sibling, stacked;
    struct tmux *t;
    struct tm_window *w;
    unsigned id, active_point;
    char *cwd, *shell; /* owned */
    char *command;     /* owned; as it was given, in one line */
    struct json *argv;         /* owned; the words of the program */
    int cols, rows, x, y;
    unsigned runs; /* programs that it has had */
    bool dead, input_off, freed;
    bool hungry;  /* there is more output than it could read in this turn */
    size_t fed;   /* bytes that it has read in this turn */
    bool chosen;  /* became the active pane of a window that had one */
    int status, signo; /* of the dead program */
    int64_t dead_at;   /* seconds since 1970 */
    uint64_t limit;    /* rows of history */
    struct tmux_options opts;
    struct pane_screen screen;
    struct op *feed; /* borrowed from the process; NULL: none */
    uint64_t answered, rung; /* questions and bells of the program that were handled */
    /* pipe-pane */
    unsigned pipes; /* that it has had */
    bool piped;
    uint64_t pipe_from; /* the byte of the spool that was the pipe's first */
    struct op *pipe_out, *pipe_in;
    uint64_t pipe_taken; /* of its output, typed into the pane */
    int pipe_flags;
};

/* ---- client.c: requests ---- */

enum tm_result { TM_DONE, TM_WAIT, TM_ERROR };

struct tm_item;
struct tm_command;

struct tmux_client {
    struct list node;
    struct tmux *t;
    const struct tmux_calls *calls;
    void *arg;
    char id[LIMIT_ID + 1], name[80];
    uid_t uid;
    pid_t pid;
    char *cwd, *tty, *term; /* owned */
    struct env env;
    int rows, cols, control;
    int64_t made, active; /* seconds since 1970; active: its terminal's last input */
    struct list items; /* owned; the commands that are to be done */
    bool running, over, left, read_only;
    uint64_t step; /* commands done by this request */
    uint64_t skip; /* of those, by earlier workers */
    int exit;
    bool drain; /* its output is to be sent before the result */
    struct {
        struct buf buf; /* owned; from `at` on, not taken yet */
        uint64_t at;
    } out[2];
    struct capture *capture; /* owned; rows go on into its output; NULL: none */
    char *last;              /* owned; said after the end */
    bool last_error;
    struct tm_session *session; /* attached */
    struct buf in;              /* owned; input that was not used yet */
    uint64_t in_at;
    bool in_ended, in_wanted;
    bool leaving, opening;
    void (*in_ready)(struct tm_item *it);
    struct task go;
    struct tm_item *waiting; /* the command that waits */
    struct control *ctl;     /* owned; of a client that stays; NULL: none */
};

/* A command in a request. */
struct tm_item {
    struct list node;
    struct tmux_client *c;
    const struct tm_command *cmd;
    int argc;
    char **argv; /* owned */
    struct tmux_spec spec;
    struct tmux_args args;
    unsigned group; /* commands of one line: after an error the rest is left out */
    int depth, serial;
    bool began, waits_for, in_hook;
    void (*on_room)(struct tm_item *it);     /* target.p has room for input, or is gone */
    struct tm_place target, source, current; /* -t, -s, and where the request is */
    void *state; /* what a waiting command has; freed by its `drop` */
    void (*drop)(struct tm_item *it);
    struct timer timer;
};

struct tm_command {
    const char *name, *alias, *spec;
    int least, most; /* words after the flags; -1: any number */
    const char *usage;
    unsigned flags;
    enum tm_result (*run)(struct tm_item *it);
    char target,
        source; /* what -t and -s name: 's'ession, 'w'indow, 'p'ane; 0: nothing */
};
enum tm_command_flags {
    CMD_STARTS = 1,      /* starts a server */
    CMD_INDEX = 2,       /* -t is the place of a window, which need not be there */
    CMD_MAYBE = 4,       /* -t may name nothing */
    CMD_SOURCE_MARK = 8, /* -s is the marked pane if it is not given */
    CMD_PREFER_UNATTACHED = 16,
    CMD_PARTLY = 32 /* of what -t names, what is there: a session without the window */
};

#endif
