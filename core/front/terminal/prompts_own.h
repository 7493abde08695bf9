/* SPDX-License-Identifier: MIT */
/*
 * The commands of a watched session, painted as a prompt has them: "$ make -j8", in grey,
 * above the output of each. They come from the log, so secrets are hidden in them, and
 * are in pictures alone: neither in the spool nor in recordings.
 */
#ifndef OD_FRONT_TERMINAL_PROMPTS_OWN_H
#define OD_FRONT_TERMINAL_PROMPTS_OWN_H

#include "front/terminal/own.h"
#include "front/terminal/recording_own.h"

struct prompts {
    struct recorded_log log;   /* owned */
    struct action_watch watch; /* of commands that begin */
    bool read;                 /* to log.end, and no command has begun since then */
    uint64_t from;           /* commands before this offset are left out */
};

/* Begins with the newest events of the log; commands before `from` are left out. */
void prompts_open(struct prompts *p, struct session *s, uint64_t from);
void prompts_release(struct prompts *p);
/* Is each command known that has begun until now? If not, prompts_read is called next. */
bool prompts_ready(struct prompts *p);
/* Reads a part of the log. */
void prompts_read(struct prompts *p);
/*
 * Feeds the picture with the next command whose output begins at `upto` or before, and
 * appends the plain form to out; *at: where it begins. Returns false if there is none.
 */
bool prompts_paint(struct prompts *p, struct terminal *t, struct picture *pic,
                   uint64_t upto, uint64_t *at, struct buf *out);
/* Forgets the commands that begin before `to`: their output is lost. */
void prompts_skip(struct prompts *p, uint64_t to);

#endif
