/* SPDX-License-Identifier: MIT */
/*
 * Trails: commands that go on after their action has its observation (`until`). Each ends
 * with one event `ended`, which has the exit code and the output since the observation.
 */
#ifndef OD_ACTION_TRAIL_H
#define OD_ACTION_TRAIL_H

#include "action/action.h"

struct command_seen;

struct trail {
    struct list node;
    uint64_t cause, end; /* the action, and its observation */
    uint64_t from;       /* where the output after that begins */
    char session[ACTION_SESSION_MAX + 1];
    char command[LIMIT_ID + 1];
    char *client_id; /* owned; NULL: none */
};

/* Iterates over the trails, the oldest first; NULL begins and ends. */
const struct trail *trails_next(const struct actions *all, const struct trail *t);

/* ---- for the files of the room ---- */

/*
 * Adds a trail: the command of a goes on after the observation `end`, which has its
 * output up to the offset `from`.
 */
void trail_add(const struct action *a, uint64_t end, uint64_t from);
/* Ends the trail of this command, which has ended, if it has one. */
void trail_ended(struct actions *all, const struct command_seen *c);
/* Restores the trails of the previous worker, which the keeper has. */
void trails_load(struct actions *all);
/* Called when the sessions are restored: ends the trails whose commands have ended. */
void trails_loaded(struct actions *all);

#endif
