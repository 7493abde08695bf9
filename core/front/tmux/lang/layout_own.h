/* SPDX-License-Identifier: MIT */
/* What the files of layouts share; tmux_layout is in layout.h. */
#ifndef OD_FRONT_TMUX_LANG_LAYOUT_OWN_H
#define OD_FRONT_TMUX_LANG_LAYOUT_OWN_H

#include "front/tmux/lang/layout.h"

/* A cell without a place in its parent. */
struct tmux_cell *cell_new(struct tmux_cell *parent);
/* A cell at the end of its parent's. */
struct tmux_cell *cell_put(struct tmux_cell *parent, enum tmux_layout_kind kind,
                           unsigned sx, unsigned sy);
/* Frees a cell and all below it. Takes NULL. */
void cell_free(struct tmux_cell *c);
size_t cell_leaves(const struct tmux_cell *c);

/* The size along a direction. */
static inline unsigned *cell_size(struct tmux_cell *c, enum tmux_layout_kind along)
{
    return along == LAYOUT_LEFTRIGHT ? &c->sx : &c->sy;
}

/* How much smaller a cell can become along a direction. */
unsigned layout_spare(const struct tmux_layout *l, const struct tmux_cell *c,
                      enum tmux_layout_kind along);
/*
 * Makes a cell larger or smaller (by layout_spare at most) along a direction, and its
 * children with it, one cell each in turn.
 */
void layout_adjust(const struct tmux_layout *l, struct tmux_cell *c,
                   enum tmux_layout_kind along, int change);
/* Equal sizes for the children of a cell. Returns true if one changed. */
bool layout_even(const struct tmux_layout *l, struct tmux_cell *parent);
/* Places of all cells, from their sizes. */
void layout_place(struct tmux_layout *l);
/* Frees a leaf or a node; its neighbour gets the space. *root may become NULL. */
void layout_destroy(struct tmux_layout *l, struct tmux_cell *c);

#endif
