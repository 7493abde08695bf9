/* SPDX-License-Identifier: MIT */
/*
 * Replies of a Redis server ("Redis serialization protocol specification", RESP2), found
 * by hiredis' reader, which only reply.c sees. The peer chooses their sizes. Parts beyond
 * a limit are skipped, so that a long message costs neither memory nor the link: a string
 * becomes REPLY_DROPPED, a list is cut. The reader fails, for good, only at bytes that no
 * server sends.
 */
#ifndef OD_FRONT_BUS_REPLY_H
#define OD_FRONT_BUS_REPLY_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    REPLY_ITEM_MAX = 2 << 20,   /* bytes of one string that is kept */
    REPLY_TEXT_MAX = 4 << 20,   /* of all strings of one reply that are kept */
    REPLY_NODES_MAX = 16384,    /* of one reply that are kept */
    REPLY_BULK_MAX = 512 << 20, /* above: not a reply; the server's proto-max-bulk-len */
    REPLY_LIST_MAX = 1 << 20,   /* the same for the members of a list */
    REPLY_DEPTH_MAX = 8         /* the same for lists in lists */
};

enum reply_kind {
    REPLY_STATUS, /* text */
    REPLY_ERROR,  /* text */
    REPLY_STRING, /* text */
    REPLY_INT,    /* number */
    REPLY_NIL,
    REPLY_LIST,   /* first, n */
    REPLY_DROPPED /* a string, not kept for lack of room */
};

struct reply {
    enum reply_kind kind;
    struct str text; /* any bytes, not terminated */
    int64_t number;
    size_t n;                         /* members of a LIST that are kept */
    bool cut;                         /* others were dropped for lack of room */
    const struct reply *first, *next; /* members; the next member of the list above */
};

struct replies;

struct replies *replies_new(void);
/* NULL is fine. */
void replies_free(struct replies *r);
/* Takes all bytes from the peer. Returns -1 and sets *e as replies_next does. */
int replies_feed(struct replies *r, struct str bytes, struct err *e);
/*
 * Returns 1 and sets *out to the next complete reply, which is valid until the next call;
 * 0 if more bytes are needed; -1 and sets *e if the bytes are not a reply (INVALID) or
 * exceed a limit (LIMIT). Nothing can be read after that.
 */
int replies_next(struct replies *r, const struct reply **out, struct err *e);

/* Returns member i of a LIST; NULL if there is none, or r is NULL or not a LIST. */
const struct reply *reply_at(const struct reply *r, size_t i);
/*
 * Returns the value of that name in a flat list of names and values; NULL if there is
 * none.
 */
const struct reply *reply_member(const struct reply *r, struct str name);
/* Returns the text of a STATUS, ERROR or STRING; empty for other kinds and for NULL. */
struct str reply_text(const struct reply *r);
/*
 * Reads the number before the dash of a stream's id, "N-M". Returns -1 if r is not an id.
 */
int reply_stream_id(const struct reply *r, uint64_t *n);

#endif
