/* SPDX-License-Identifier: MIT */
/* A long text in pages, for readers that pay for each character. */
#ifndef OD_BROWSER_DRIVER_PAGE_H
#define OD_BROWSER_DRIVER_PAGE_H

#include "base/buf.h"

/*
 * Reduces a text to one of its pages (from 1) and, if there are several, a last line
 * with its number. A page has at most `size` bytes; it ends after a line unless that
 * would leave less than half of it, and never within a character. size 0: the text is
 * one page. Returns the number of pages; a page after the last is empty except for that
 * line.
 */
int browser_page_cut(struct buf *text, size_t size, int page);
/* Sets *out to that page alone, within text; empty after the last one. */
int browser_page_of(struct str text, size_t size, int page, struct str *out);
/* Returns the page that contains the byte at an offset. */
int browser_page_at(struct str text, size_t size, size_t at);

#endif
