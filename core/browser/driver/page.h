/* SPDX-License-Identifier: MIT */
/* A long text in pages: for readers that pay for each character. */
#ifndef OD_BROWSER_DRIVER_PAGE_H
#define OD_BROWSER_DRIVER_PAGE_H

#include "base/buf.h"

/*
 * Leaves of a text one of its pages, the first is 1, and a last line that says which it
 * is, where there are several. A page has at most `size` bytes, and ends with a line
 * unless that would leave less than half of it, and never within a character. 0: all of
 * it is one page. How many there are; a page after the last is empty except for that
 * line.
 */
int browser_page_cut(struct buf *text, size_t size, int page);
/* The same page alone, as *out within text; empty after the last one. */
int browser_page_of(struct str text, size_t size, int page, struct str *out);
/* The page that has the byte at an offset. */
int browser_page_at(struct str text, size_t size, size_t at);

#endif
