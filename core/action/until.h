/* SPDX-License-Identifier: MIT */
/*
 * What a run with `until` (until.c) and a wait (wait.c) share: when they end, and their
 * observation. For this room only.
 */
#ifndef OD_ACTION_UNTIL_H
#define OD_ACTION_UNTIL_H

#include "action/own.h"

enum { UNTIL_QUIET_MAX_S = 86400 };

/* Members of extras: how a command ended, and which output content leaves out. */
#define UNTIL_ENDED \
    {.name = "duration_ms", \
     .type = MEMBER_INT, \
     .optional = true, \
     .about = "How long the command ran"}, \
        {.name = "signal", \
         .type = MEMBER_INT, \
         .optional = true, \
         .about = "The signal that ended it"}, \
        {.name = "shell_ended", \
         .type = MEMBER_BOOL, \
         .optional = true, \
         .about = "The shell ended with it"}, \
        {.name = "left_out", \
         .type = MEMBER_PAIRS, \
         .optional = true, \
         .about = "Offsets of the output that content leaves out between its " \
                  "beginning and its end"}, \
    { \
        .name = "gone", .type = MEMBER_PAIRS, .optional = true, \
        .about = "Offsets of output that is no longer kept" \
    }
/* The same of an observation, for both lists. */
#define UNTIL_EXTRAS \
    UNTIL_ENDED, \
    { \
        .name = "why", .type = MEMBER_STRING, .optional = true, \
        .choices = "timeout quiet input detached cancelled", \
        .about = "Why it was observed while it goes on" \
    }, \
    { \
        .name = "refused", .type = MEMBER_STRINGS, .optional = true, \
        .about = "What the fence refused its programs on the network, as sentences" \
    }

/* ---- until.c ---- */

/* What the observations of both have next to content. */
extern const struct member until_beside[];
/* Returns 0 if until is end, input or quiet; else -1 and sets *e. */
int until_check(struct str until, struct err *e);
/* The timeout of an action in milliseconds; 0: none. */
int64_t until_timeout(const struct action *a);
/* Whether a, a run, waits for a command that waits for input itself. */
bool run_waits(const struct action *a);
/* Sets when the op of a ends: by `until`, `quiet` and the action's timeout. */
void until_limits(const struct action *a, struct str until, struct op *op);
/*
 * Ends a with the result r: how the command ended, or what it waits for, and its output
 * from r->from to r->to. extras has members that the kind adds; it is taken. Returns the
 * offset where that output ends.
 */
uint64_t until_observe(struct action *a, const struct op_result *r, struct json *extras);

/* ---- wait.c ---- */

/* End the waits for this action, which has ended, or whose cell asks a question. */
void wait_ended(struct actions *all, uint64_t id);
void wait_cell_asks(struct actions *all, uint64_t id);

#endif
