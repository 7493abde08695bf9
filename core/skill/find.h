/* SPDX-License-Identifier: MIT */
/*
 * What the skill `search` does with files, done with a text that is in memory: lines that
 * match, with numbers and lines around them. A helper does it.
 */
#ifndef OD_SKILL_FIND_H
#define OD_SKILL_FIND_H

#include "io/loop.h"
#include "skill/skill.h"

/* All of it is borrowed by the call that starts it. */
struct find_text {
    const char *name;   /* what the text is called: "@17" */
    struct str head;    /* lines, from line 1 on */
    struct str tail;    /* more of them, after some that are left out; or empty */
    uint64_t tail_line; /* the number of the tail's first line */
    uint64_t lines;     /* of the whole text */
    struct str pattern; /* an expression; one that is none is taken as plain text */
    bool ignore_case, literal;
    int64_t context, limit; /* clamped as those of search */
    size_t bytes;           /* of the text that comes out */
};

struct find_text_run;

/*
 * Starts it; done is called once, unless it is cancelled, and never before this returns.
 * NULL with e: nothing runs.
 */
struct find_text_run *find_text_start(struct loop *l, const struct find_text *q,
                                      skill_done_fn *done, void *arg, struct err *e);
void find_text_cancel(struct find_text_run *r);

#endif
