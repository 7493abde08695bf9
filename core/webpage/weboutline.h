/* SPDX-License-Identifier: MIT */
/*
 * The page of a reader without a browser as an outline (outline.h). The ref of what has
 * the bid N is e(base + N): a base for each page keeps refs from being given twice.
 */
#ifndef OD_WEBPAGE_WEBOUTLINE_H
#define OD_WEBPAGE_WEBOUTLINE_H

#include "webpage/outline.h"
#include "webpage/webtext.h"

void weboutline_make(const struct webtext *w, unsigned base, struct outline *o);
/* The page's Markdown with refs in place of bids. -1: out is full. */
int weboutline_text(const struct webtext *w, unsigned base, struct buf *out);

#endif
