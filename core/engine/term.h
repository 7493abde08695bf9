/* SPDX-License-Identifier: MIT */
/*
 * Terminal bytes → the text that a terminal would show in the end.
 *
 * Nothing is rendered while output flows: it lies in the spool, and somebody
 * who wants text feeds the bytes through one of these and throws it away. Two
 * models behind one interface:
 *
 * - the line model, for what nearly every command prints: a line of cells with
 *   a cursor; CR, BS, TAB, erase in line, cursor left, right and column, and
 *   up to TERM_BACK lines up (progress bars of several lines), LF, SGR and
 *   other sequences swallowed (OSC, DCS, APC, PM, SOS strings too, however
 *   they end); a finished line is emitted with trailing blanks cut. LF means
 *   "next line, first column" (the session's tty translates nothing);
 * - libvterm, at most TERM_ROWS_MAX × TERM_COLS_MAX, made when the program
 *   switches to the alternate screen, clears the whole screen, or addresses
 *   the cursor absolutely or above what the line model holds, and freed when
 *   it leaves: an alternate screen leaves nothing of itself when it is left
 *   (what a terminal would show), and its last screen when the text ends
 *   inside of it. Lines that scroll off a primary screen are emitted. Inside
 *   the alternate screen LF is a pure line feed; on the primary screen it is
 *   CR+LF, as in the line model.
 *
 * Memory is bounded: head and tail of the emitted text, one line, one screen.
 * A line longer than TERM_LINE_MAX is emitted in pieces without a break.
 * Invalid UTF-8 becomes U+FFFD, one for each maximal invalid part.
 */
#ifndef OD_ENGINE_TERM_H
#define OD_ENGINE_TERM_H

#include "base/buf.h"

#include <stdint.h>

#define TERM_ROWS_MAX 50
#define TERM_COLS_MAX 200
#define TERM_BACK 1023       /* lines above the current one kept editable */
#define TERM_LINE_MAX 65536   /* cells of a line held as cells */

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
void term_free(struct term *t);
/* Any split of the input gives the same result. */
void term_feed(struct term *t, struct str bytes);
/*
 * Appends the text to out as valid UTF-8: head, the marker line if something
 * was cut, tail. The text ends with '\n' iff the output's last line was
 * finished. `marker` is called at most once to write the marker line (without
 * newlines); NULL: "[... N lines, M bytes left out ...]". -1: out is full.
 * The term can be fed on, and asked again.
 */
int term_text(struct term *t, struct buf *out, struct term_text *info,
              void (*marker)(struct buf *out, const struct term_text *info,
                             void *arg),
              void *arg);

#endif
