/* SPDX-License-Identifier: MIT */
/*
 * Finds in output where a program may have asked its terminal something, so that the
 * screen, which knows the answer (picture_answer), is only made when it is needed.
 *
 * Questions are CSI … c, n, t, $p and >q, and OSC or DCS strings with a `?` or a `q`
 * (ECMA-48; xterm's "Control Sequences"). What is found may still be no question; what is
 * not found is none.
 */
#ifndef OD_TERM_QUESTION_H
#define OD_TERM_QUESTION_H

#include "base/str.h"

#include <stdbool.h>

/* Zeroed: outside of any sequence. */
struct question_scan {
    unsigned char at;
    bool marked; /* the sequence or string so far has what only questions have */
};

/* Takes the next bytes, cut anywhere. Returns whether one may have ended in them. */
bool question_seen(struct question_scan *q, struct str bytes);

#endif
