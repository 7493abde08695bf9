/* SPDX-License-Identifier: MIT */
/*
 * Terminal bytes → the text that a terminal would show in the end.
 *
 * Nothing is rendered while output flows: it is in the spool, and a caller that wants
 * text feeds the bytes through a struct term and frees it. Two models have one interface:
 *
 * - the line model, for what nearly every command prints: lines without a
 *   right margin; CR, BS, TAB, erase and insert in line, all cursor moves that
 *   are relative or within a line, as far up as the tty has rows (progress
 *   bars of several lines), LF; colours and all else that shows nothing are
 *   left out (OSC, DCS, APC, PM, SOS strings too, however they end). Trailing
 *   blanks of a finished line are cut. LF means "next line, first column" (the
 *   session's tty translates nothing);
 * - libvterm, at most TERM_ROWS_MAX × TERM_COLS_MAX, while the alternate screen
 *   is shown, and from the moment a program addresses the primary one (a row,
 *   a scroll region, clear) until a line feed scrolls all of it. The
 *   alternate screen leaves no text when a program returns from it; its last
 *   picture is shown if the output ends there. What scrolled off the primary
 *   screen stays text (ED 3 is ignored); erased text does not. A
 *   line that was wrapped there is one line. Inside the alternate screen LF is
 *   a pure line feed; on the primary screen it is CR+LF, as in the line model.
 *
 * On a tty with more rows than TERM_ROWS_MAX, only that many last lines can be
 * addressed; the line model goes up TERM_BACK.
 *
 * Memory is bounded: head and tail of the text with a window of 128 KB, rows
 * that a program edits (24 MB at the worst), one screen. A line longer than
 * TERM_LINE_MAX stays one line of text, but only its last part can be edited.
 * Invalid UTF-8 becomes U+FFFD, one for each maximal invalid part; a character
 * that is not complete yet is not shown.
 */
#ifndef OD_TERM_TERM_H
#define OD_TERM_TERM_H

#include "base/buf.h"

#include <stdint.h>

#define TERM_ROWS_MAX 50
#define TERM_COLS_MAX 200
#define TERM_BACK 1023       /* lines above the current one kept editable */
#define TERM_LINE_MAX 65536   /* bytes or cells of a line that can be edited */

struct term; /* opaque */

struct term_opts {
    int rows, cols;    /* of the tty; 0: 24 × 80; a screen is clamped */
    size_t head, tail; /* bytes of emitted text kept from each end */
    size_t keep_lines; /* 0, or: only the last N lines are kept (head is 0) */
    bool keep_tabs;    /* a TAB over nothing stays a TAB, not spaces */
};

struct term_text {
    /*
     * What was left out between head and tail: text bytes, whole or cut
     * lines, and the range of input offsets that covers it (counted from
     * the first byte fed). All zero when nothing was.
     */
    uint64_t cut_bytes, cut_lines, cut_from, cut_to;
    uint64_t lines;    /* lines in the whole text, the last unfinished one too */
    bool alt_screen;   /* ended inside the alternate screen */
};

struct term *term_new(const struct term_opts *o);
void term_free(struct term *t); /* NULL is fine */
/* Any split of the input gives the same result. */
void term_feed(struct term *t, struct str bytes);
/*
 * Appends the text to out as valid UTF-8: head, the marker line if something
 * was cut, tail. The head ends with a line and the tail begins with one if
 * that costs no more than half of it, else between two characters. The text
 * ends with '\n' iff the output's last line was finished. `marker` is called
 * at most once to write the marker line (without newlines; if it writes
 * nothing, there is no line); NULL: "[... N lines, M bytes left out ...]".
 * Returns -1 if out is full, and unchanged. The term may then be fed more, and
 * this may be called again. info may be NULL.
 */
int term_text(struct term *t, struct buf *out, struct term_text *info,
              void (*marker)(struct buf *out, const struct term_text *info,
                             void *arg),
              void *arg);

#endif
