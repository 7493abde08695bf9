/* SPDX-License-Identifier: MIT */
/*
 * The page of a reader without a browser as an outline (outline.h). The ref of the item
 * with bid N is e(base + N): each page has its own base, so that no ref is given twice.
 */
#ifndef OD_WEBPAGE_WEBOUTLINE_H
#define OD_WEBPAGE_WEBOUTLINE_H

#include "webpage/outline.h"
#include "webpage/webtext.h"

void weboutline_make(const struct webtext *w, unsigned base, struct outline *o);
/* Appends the page's Markdown with refs in place of bids. Returns -1 if out is full. */
int weboutline_text(const struct webtext *w, unsigned base, struct buf *out);

#endif
