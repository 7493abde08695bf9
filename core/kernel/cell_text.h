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
};

void cell_text_init(struct cell_text *t, size_t max);
void cell_text_release(struct cell_text *t);
/* Adds one message of on_output (kernel.h). */
void cell_text_add(struct cell_text *t, struct str type, const struct json *content);
/* Appends the text that add would take from a message. Returns false if it has none. */
bool cell_text_of(struct buf *out, struct str type, const struct json *content);
/*
 * Appends s without escapes of colour and style (ECMA-48 SGR), and without characters
 * that a backspace lets the next one overprint for the same: X BS X, _ BS X. Returns -1
 * if full.
 */
int cell_text_plain(struct buf *out, struct str s);

#endif
