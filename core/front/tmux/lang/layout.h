/* SPDX-License-Identifier: MIT */
/*
 * The layout of a window: a tree of cells, whose leaves are panes. Sizes and positions
 * are those that tmux 3.3a computes, borders of one cell between panes included, and the
 * layout string is tmux's, with its checksum.
 */
#ifndef OD_FRONT_TMUX_LANG_LAYOUT_H
#define OD_FRONT_TMUX_LANG_LAYOUT_H

#include "base/buf.h"
#include "base/str.h"

enum { LAYOUT_PANE_MIN = 1, LAYOUT_WINDOW_MAX = 10000, LAYOUT_PANES_MAX = 4096 };

enum tmux_layout_kind { LAYOUT_PANE, LAYOUT_LEFTRIGHT, LAYOUT_TOPBOTTOM };

/* A cell. Owned by its parent; the fields are for reading. */
struct tmux_cell {
    enum tmux_layout_kind kind;
    struct tmux_cell *parent;       /* NULL: the root */
    struct tmux_cell *next, *prev;  /* in the parent */
    struct tmux_cell *first, *last; /* children */
    unsigned sx, sy, xoff, yoff;
    unsigned pane; /* of a leaf: the caller's number, which %N shows */
};

/* A row of a pane with its title (pane-border-status): it needs one line more. */
enum tmux_layout_border { LAYOUT_BORDER_OFF, LAYOUT_BORDER_TOP, LAYOUT_BORDER_BOTTOM };

/* Embedded in a window; owns its cells. */
struct tmux_layout {
    struct tmux_cell *root; /* NULL: no panes */
    enum tmux_layout_border border;
};

enum tmux_layout_preset {
    LAYOUT_EVEN_HORIZONTAL,
    LAYOUT_EVEN_VERTICAL,
    LAYOUT_MAIN_HORIZONTAL,
    LAYOUT_MAIN_HORIZONTAL_MIRRORED, /* tmux 3.5 */
    LAYOUT_MAIN_VERTICAL,
    LAYOUT_MAIN_VERTICAL_MIRRORED, /* tmux 3.5 */
    LAYOUT_TILED,
    LAYOUT_PRESETS
};

/* Values of options that main-* use, as text: cells, or "N%". Zeroed: tmux's defaults. */
struct tmux_layout_options {
    struct str main_pane_width, main_pane_height;   /* 80, 24 */
    struct str other_pane_width, other_pane_height; /* 0 */
};

/* Makes a window of one pane. */
void tmux_layout_init(struct tmux_layout *l, unsigned sx, unsigned sy, unsigned pane);
void tmux_layout_release(struct tmux_layout *l);
/* The leaf of a pane, or NULL. */
struct tmux_cell *tmux_layout_find(const struct tmux_layout *l, unsigned pane);
/* The first leaf and the next one, in the order of the tree; NULL after the last. */
struct tmux_cell *tmux_layout_first(const struct tmux_layout *l);
struct tmux_cell *tmux_layout_next(const struct tmux_cell *c);
size_t tmux_layout_count(const struct tmux_layout *l);

/*
 * The pane of a leaf: the cell without the line of its title. At least 1 × 1, although a
 * cell may have no size where there is no room for it, as in tmux.
 */
struct tmux_layout_area {
    unsigned x, y, sx, sy;
};
struct tmux_layout_area tmux_layout_area(const struct tmux_layout *l,
                                         const struct tmux_cell *leaf);

struct tmux_layout_split {
    bool horizontal; /* -h: side by side */
    bool before;     /* -b */
    bool full;       /* -f: beside the whole window */
    int size;        /* -l: of the new pane; -1: half */
};

/*
 * Splits the cell of `pane` for `new_pane`. Returns its cell, or NULL: "no space for new
 * pane".
 */
struct tmux_cell *tmux_layout_split(struct tmux_layout *l, unsigned pane,
                                    unsigned new_pane, struct tmux_layout_split how);
/* Removes a pane; its neighbour gets the space. The last one leaves an empty layout. */
void tmux_layout_remove(struct tmux_layout *l, unsigned pane);
/* Exchanges two panes of one window, or of two. */
void tmux_layout_swap(struct tmux_cell *a, struct tmux_cell *b);
/* The window gets another size. */
void tmux_layout_resize(struct tmux_layout *l, unsigned sx, unsigned sy);
/*
 * resize-pane: of a cell, by `change` at its right (horizontal) or lower edge, as -R, -L
 * (negative), -D, -U; opposite as tmux's argument (true for these four).
 */
void tmux_layout_resize_pane(struct tmux_layout *l, unsigned pane, bool horizontal,
                             int change, bool opposite);
/* resize-pane -x, -y: to a size. */
void tmux_layout_resize_pane_to(struct tmux_layout *l, unsigned pane, bool horizontal,
                                unsigned size);
/* select-layout -E: the neighbours of a pane, and itself, get equal sizes. */
void tmux_layout_spread(struct tmux_layout *l, unsigned pane);

/*
 * Arranges the panes in the order of `panes`, n of them, which is the window's. The
 * window may become larger than sx × sy, as in tmux, when there is no room.
 */
void tmux_layout_preset(struct tmux_layout *l, enum tmux_layout_preset preset,
                        const unsigned *panes, size_t n,
                        const struct tmux_layout_options *o);
/*
 * A preset by its name or an unambiguous beginning of it; -1: none. Names of tmux 3.5 are
 * found by their whole name only.
 */
int tmux_layout_preset_find(struct str name);
const char *tmux_layout_preset_name(enum tmux_layout_preset preset);

/* Appends the layout string: "b25d,80x24,0,0,0". */
void tmux_layout_print(const struct tmux_layout *l, struct buf *out);
/*
 * Arranges the panes as a layout string says, its leaves in the order of `panes`; a leaf
 * too many is cut off, as tmux does. Returns 0; -1 with tmux's reason in *cause: "invalid
 * layout", "have N panes but need M", "size mismatch after applying layout"; the layout
 * is then unchanged.
 */
int tmux_layout_apply(struct tmux_layout *l, struct str text, const unsigned *panes,
                      size_t n, struct buf *cause);

#endif
