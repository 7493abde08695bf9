/* SPDX-License-Identifier: MIT */
/*
 * The skill `search` for a text in memory: matching lines, with numbers and lines around
 * them. A helper does it.
 */
#ifndef OD_SKILL_FIND_H
#define OD_SKILL_FIND_H

#include "io/loop.h"
#include "skill/skill.h"

/* All of it is borrowed during the call that starts the search. */
struct find_text {
    const char *name;   /* name of the text: "@17" */
    struct str head;    /* lines, from line 1 on */
    struct str tail;    /* its last lines, if some between are left out; or empty */
    uint64_t tail_line; /* the number of the tail's first line */
    uint64_t lines;     /* of the whole text */
    struct str pattern; /* a regular expression; if invalid, a plain text */
    bool ignore_case, literal;
    int64_t context, limit; /* clamped as for search */
    size_t bytes;           /* of the resulting text */
};

struct find_text_run;

/*
 * Starts the search; done is called once, never before this returns, unless it is
 * cancelled. Returns NULL and sets *e.
 */
struct find_text_run *find_text_start(struct loop *l, const struct find_text *q,
                                      skill_done_fn *done, void *arg, struct err *e);
void find_text_cancel(struct find_text_run *r);

#endif
