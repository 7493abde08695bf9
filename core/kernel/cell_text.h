/* SPDX-License-Identifier: MIT */
/*
 * The output of a cell as text and pictures: joined as in OpenHands (text/plain and
 * streams without separators, escapes of colour removed), but without its losses.
 */
#ifndef OD_KERNEL_CELL_TEXT_H
#define OD_KERNEL_CELL_TEXT_H

#include "base/buf.h"
#include "base/json.h"

struct cell_text {
    struct buf text;
    struct json *images; /* owned; data URLs; NULL: none */
    size_t lost;         /* bytes that did not fit */
    bool clear;          /* clear_output(wait): before what comes next */
    bool apart; /* set by the owner: a display ends its line before what comes next */
    bool open;  /* the last was a display that has not ended its line */
    struct buf other; /* cell_other_put of the last such output, without a place */
};

void cell_text_init(struct cell_text *t, size_t max);
void cell_text_release(struct cell_text *t);
/* Adds one message of on_output (kernel.h). */
void cell_text_add(struct cell_text *t, struct str type, const struct json *content);
/* Adds text of the owner's, as a display. */
void cell_text_say(struct cell_text *t, struct str text);
/* Appends the text that add would take from a message. Returns false if it has none. */
bool cell_text_of(struct buf *out, struct str type, const struct json *content);
/* Is this type of message a display, and not a part of a stream? */
bool cell_text_displays(struct str type);

/* Data of a display that is shown neither as text nor as a picture: SVG, PDF, video. */
struct cell_other {
    char mime[80];
    char ending[12]; /* of a file for it: "svg" */
    struct buf bytes; /* owned */
};
/*
 * Finds it in a message: media; or, where the text is missing or only names the object,
 * the first of its types. pictures: PNG, JPEG and GIF, too. Returns false if the message
 * has none; then *o needs no release.
 */
bool cell_other_of(struct cell_other *o, struct str type, const struct json *content,
                   bool pictures);
void cell_other_release(struct cell_other *o);
/* Appends "[image/svg+xml, 1234 bytes: PLACE]"; place "": it is left out. */
void cell_other_put(struct buf *out, const struct cell_other *o, const char *place);

/*
 * Appends s without escapes of colour and style (ECMA-48 SGR) and of a terminal's modes
 * (SM, RM), which kernels that drive a program in one pass on, and without characters
 * that a backspace lets the next one overprint for the same: X BS X, _ BS X. Returns -1
 * if full.
 */
int cell_text_plain(struct buf *out, struct str s);

#endif
