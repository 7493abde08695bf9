/* SPDX-License-Identifier: MIT */
/*
 * The outputs of a cell in every type that the kernel sends, within a limit: an array of
 * objects with cell_rich_members. An output of the kernel is one or several objects,
 * which have its number; text of a stream is one object until another output comes.
 */
#ifndef OD_KERNEL_CELL_RICH_H
#define OD_KERNEL_CELL_RICH_H

#include "base/buf.h"
#include "base/json.h"
#include "base/member.h"

enum {
    CELL_RICH_MAX = 640 << 10,    /* bytes of all of it as JSON */
    CELL_RICH_STREAM = 128 << 10, /* bytes of one text of a stream, its beginning */
    CELL_RICH_OUTPUTS = 500
};

struct cell_rich {
    struct json *list; /* owned */
    struct json *last; /* borrowed from list: a stream that goes on; NULL: none */
    struct buf stream; /* its text */
    size_t used;       /* bytes of list as JSON, at most */
    size_t lost;       /* bytes that last lacks */
    int outputs, dropped;
    bool clear; /* before the next output */
};

void cell_rich_init(struct cell_rich *r);
void cell_rich_release(struct cell_rich *r);
/* Adds one message of on_output (kernel.h). */
void cell_rich_add(struct cell_rich *r, struct str type, const struct json *content);
/* Returns the array, which the caller owns. dropped: the number of outputs not in it. */
struct json *cell_rich_take(struct cell_rich *r, int *dropped);

/* The members of each object, for schemas. */
extern const struct member cell_rich_members[];

#endif
