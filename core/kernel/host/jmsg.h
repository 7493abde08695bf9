/* SPDX-License-Identifier: MIT */
/*
 * Jupyter messages on the wire (messaging document 5.3, "The wire protocol"): a
 * routing prefix, <IDS|MSG>, a signature, four parts of JSON, binary buffers.
 *
 * The parts stay the bytes that they are: nothing is parsed here, so a message can
 * be passed on as it came.
 */
#ifndef OD_KERNEL_HOST_JMSG_H
#define OD_KERNEL_HOST_JMSG_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>

enum { JMSG_PARTS = 6, JMSG_SIGNATURE = 64 };

struct jmsg {
    struct str header, parent, metadata, content;
};

/*
 * The parts to be sent: delimiter, signature, the four. sig is room for the
 * signature, hmac-sha256 with the text of key; without a key it is empty.
 */
void jmsg_sign(const struct jmsg *m, struct str key, char sig[JMSG_SIGNATURE + 1],
               struct str parts[JMSG_PARTS]);
/*
 * Slices of the parts, whatever comes before the delimiter; buffers are left out.
 * -1: ERR_INVALID (no delimiter, too few parts), ERR_DENIED (the signature is not
 * of this key; compared in constant time).
 */
int jmsg_parse(const struct str *parts, int n, struct str key, struct jmsg *m,
               struct err *e);

/*
 * Makes n bytes of a kernel's JSON fit for one line of ours, in place: control
 * characters (white space between values, or not allowed) become spaces, and what
 * no Unicode text may hold becomes a sign of the same length: \u0000 and half of a
 * surrogate pair as an escape the escape of U+FFFD, bytes that are no UTF-8 a "?".
 */
void jmsg_clean(char *p, size_t n);

/*
 * The name and text of a stream message's content, as they are between their quotes in
 * the JSON, so that a long one need not be parsed. false: it is no object, or has
 * members that are no strings: it is to be parsed.
 */
bool jmsg_stream(struct str content, struct str *name, struct str *text);
/*
 * How much of such a text may stand by itself: at most `most` bytes (12 or more), not
 * ending in an escape, between two of a surrogate pair, or in a character.
 */
size_t jmsg_cut(struct str text, size_t most);

#endif
