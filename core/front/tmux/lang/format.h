/* SPDX-License-Identifier: MIT */
/*
 * tmux's formats, tmux(1) "FORMATS": `#{name}`, `#{?a,b,c}`, modifiers, `#S`, `#[style]`,
 * `#(command)`. Values come from the caller; the language is here.
 *
 * Bounded: FORMAT_DEPTH_MAX levels of nesting and of E: and T:, the maximum of out, and
 * FORMAT_STEPS_MAX steps of one expansion: a `#`, 16 bytes of a value, or a byte that is
 * compared or that a pattern is tried on. Beyond a limit the rest is empty, as in tmux.
 */
#ifndef OD_FRONT_TMUX_LANG_FORMAT_H
#define OD_FRONT_TMUX_LANG_FORMAT_H

#include "base/buf.h"
#include "base/str.h"

enum {
    FORMAT_DEPTH_MAX = 100,
    FORMAT_STEPS_MAX = 1 << 18,
    FORMAT_OUT_MAX = 16 << 20 /* for callers: a maximum of out */
};

struct tmux_format;

/* A loop of S:, W:, P: or L: (of clients). */
enum tmux_loop { LOOP_SESSIONS, LOOP_WINDOWS, LOOP_PANES, LOOP_CLIENTS };

struct tmux_format_ops {
    /*
     * Appends the value of a variable or of an option (an option's raw value: the
     * expansion does not expand it again unless E: or T: asks). Returns false if there is
     * none of that name. A time is appended as seconds since 1970.
     */
    bool (*var)(void *ctx, struct str name, struct buf *out);
    /*
     * The objects of a loop, in tmux's order. Called with i = 0, 1, …; returns the
     * context of the i-th, or NULL after the last, and sets *active if it is the current
     * one of ctx. Valid until the next call with the same kind, so that loops of
     * different kinds may be nested. sort is the letters after the kind: "" or "i", "n",
     * "t", "r".
     */
    void *(*each)(void *ctx, enum tmux_loop kind, struct str sort, size_t i,
                  bool *active);
    /* #(command): appends its last output; NULL or false: nothing. */
    bool (*shell)(void *ctx, struct str command, struct buf *out);
    /* N: is there a window (session) of that name? */
    bool (*name)(void *ctx, bool session, struct str name);
    /* C: line of the pane's visible content that matches, from 1; 0: none. */
    unsigned (*search)(void *ctx, struct str pattern, bool regex, bool fold);
};

struct tmux_format_how {
    const struct tmux_format_ops *ops;
    void *ctx;
    int64_t now;   /* seconds since 1970, for t: and strftime */
    bool strftime; /* %H and so on: status line, display-message */
    bool no_jobs;  /* `#(…)` is empty */
};

/* Appends the expansion of text. */
void tmux_format(struct buf *out, struct str text, const struct tmux_format_how *how);
/* Whether an expanded text is true: not empty, and not "0". */
bool tmux_format_true(struct str s);
/* Expands text, and whether the result is true. */
bool tmux_format_is(struct str text, const struct tmux_format_how *how);

/* Columns of a text on a terminal, styles `#[…]` left out (tmux's w:). */
size_t tmux_format_width(struct str s);
/* fnmatch(3) without flags, or with FNM_CASEFOLD: tmux's m: and target patterns. */
bool tmux_fnmatch(struct str pattern, struct str s, bool fold);

#endif
