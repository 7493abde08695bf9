/* SPDX-License-Identifier: MIT */
/*
 * Jupyter messages on the wire (messaging document 5.3, "The wire protocol"): a
 * routing prefix, <IDS|MSG>, a signature, four parts of JSON, binary buffers.
 *
 * The parts are not parsed here, so a message can be passed on unchanged.
 */
#ifndef OD_KERNEL_HOST_JMSG_H
#define OD_KERNEL_HOST_JMSG_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>

enum { JMSG_PARTS = 6, JMSG_SIGNATURE = 64 };

struct jmsg {
    struct str header, parent, metadata, content;
    const struct str *buffers; /* borrowed, as the slices */
    int nbuffers;
};

/*
 * Fills in the parts to send: delimiter, signature, the four. sig is room for the
 * signature, hmac-sha256 with the text of key; without a key it is empty.
 */
void jmsg_sign(const struct jmsg *m, struct str key, char sig[JMSG_SIGNATURE + 1],
               struct str parts[JMSG_PARTS]);
/*
 * Returns slices of the parts; anything before the delimiter is skipped. Returns -1 and
 * sets *e: ERR_INVALID (no delimiter, too few parts), ERR_DENIED (the signature is not of
 * this key; compared in constant time).
 */
int jmsg_parse(const struct str *parts, int n, struct str key, struct jmsg *m,
               struct err *e);

/*
 * Makes n bytes of a kernel's JSON fit into one line, in place: control characters
 * (white space between values, or invalid) become spaces, and invalid text a replacement
 * of the same length: the escapes of U+0000 and of half a surrogate pair become that of
 * U+FFFD, bytes that are not UTF-8 a "?".
 */
void jmsg_clean(char *p, size_t n);

/*
 * Finds the name and text of a stream message's content, as they are between their
 * quotes in the JSON, so that a long one need not be parsed. Returns false if it is not
 * an object or has members that are not strings: then it must be parsed.
 */
bool jmsg_stream(struct str content, struct str *name, struct str *text);
/*
 * Returns the length of the first part of such a text that can be a message by itself: at
 * most `most` bytes (12 or more), not ending within an escape, a surrogate pair or a
 * character.
 */
size_t jmsg_cut(struct str text, size_t most);

#endif
