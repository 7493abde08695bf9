/* SPDX-License-Identifier: MIT */
/*
 * Targets, tmux(1) "COMMANDS": the text after -t becomes a session, a window and a pane.
 * The rules are here (exact names, unique beginnings, patterns, offsets, tokens,
 * identifiers); the objects are the caller's, seen through a view.
 */
#ifndef OD_FRONT_TMUX_LANG_TARGET_H
#define OD_FRONT_TMUX_LANG_TARGET_H

#include "base/buf.h"
#include "base/str.h"

enum target_type { TARGET_SESSION, TARGET_WINDOW, TARGET_PANE };

enum target_flags {
    TARGET_QUIET = 1,        /* no error text */
    TARGET_WINDOW_INDEX = 2, /* a window index that need not exist: .index */
    TARGET_EXACT_SESSION = 4,
    TARGET_EXACT_WINDOW = 8,
    TARGET_PREFER_UNATTACHED = 16,
    TARGET_DEFAULT_MARKED = 32 /* without a target: the marked pane, if there is one */
};

/* How a window is seen from a session: a winlink. Names are borrowed. */
struct target_link {
    void *link;   /* the caller's: a place in a session's list */
    void *window; /* the caller's: may be linked into several sessions */
    int index;
    unsigned id; /* @N */
    struct str name;
};

struct target_session {
    void *session;
    unsigned id; /* $N */
    struct str name;
    unsigned attached; /* number of clients */
    int64_t activity;  /* greater is later */
    int64_t created;
};

struct target_pane {
    void *pane;
    unsigned id;           /* %N */
    int index;             /* from pane-base-index */
    unsigned x, y, sx, sy; /* in the window */
    bool visible;          /* false: hidden by a zoomed pane */
    unsigned recent;       /* greater: it was active later */
};

/*
 * The objects, as callbacks over the caller's own. `i` counts from 0 in tmux's order:
 * sessions by name, links by index, panes by their place in the window. Each returns
 * false after the last.
 */
struct target_view {
    void *ctx;
    bool (*session)(void *ctx, size_t i, struct target_session *out);
    bool (*link)(void *ctx, void *session, size_t i, struct target_link *out);
    bool (*pane)(void *ctx, void *window, size_t i, struct target_pane *out);
    /* The current link of a session; the one before it (NULL: none), i = 0, 1, … */
    void *(*current_link)(void *ctx, void *session);
    void *(*last_link)(void *ctx, void *session, size_t i);
    void *(*active_pane)(void *ctx, void *window);
    void *(*last_pane)(void *ctx, void *window); /* NULL: none */
    /* The size of a window, for {top-left} and so on. */
    void (*size)(void *ctx, void *window, unsigned *sx, unsigned *sy);
    /* A client's session by the client's name ("/dev/pts/3"); NULL: none. */
    void *(*client)(void *ctx, struct str name);
};

struct target_state {
    void *session, *link, *window, *pane; /* all set, or all NULL */
    int index; /* with TARGET_WINDOW_INDEX: the index asked for; -1: none */
};

/*
 * Finds a target. `current` is where the command runs: that of $TMUX_PANE's session,
 * its attached session, or the best session; it may be all NULL if there are no sessions.
 * marked and mouse may be NULL. target.p NULL: none given. Returns 0 and sets *out; -1
 * with what was found before the part that is missing in *out, and tmux's text in why:
 * "can't find session: X", "can't find window: X", "can't find pane: X", "no current
 * target", "no marked target", "no mouse target".
 */
int target_find(struct target_state *out, struct str target, enum target_type type,
                unsigned flags, const struct target_state *current,
                const struct target_state *marked, const struct target_state *mouse,
                const struct target_view *v, struct buf *why);

/* The best session where there is no current one: the most recently used. */
bool target_best_session(struct target_state *out, const struct target_view *v,
                         unsigned flags);

#endif
