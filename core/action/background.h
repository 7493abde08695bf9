/* SPDX-License-Identifier: MIT */
/*
 * Background commands: they go on after their action has its observation (`until`). Each
 * ends with one event `ended`, which has the exit code and the output since the
 * observation.
 */
#ifndef OD_ACTION_BACKGROUND_H
#define OD_ACTION_BACKGROUND_H

#include "action/action.h"

struct command_seen;

struct background {
    struct list node;
    uint64_t cause, end; /* the action, and its observation */
    uint64_t from;       /* where the output after that begins */
    char session[ACTION_SESSION_MAX + 1];
    char command[LIMIT_ID + 1];
    char *client_id; /* owned; NULL: none */
};

/* Iterates over the background commands, the oldest first; NULL begins and ends. */
const struct background *backgrounds_next(const struct actions *all,
                                          const struct background *t);

/* ---- for the files of the room ---- */

/*
 * Adds a background command: that of a goes on after the observation `end`, which has its
 * output up to the offset `from`.
 */
void background_add(const struct action *a, uint64_t end, uint64_t from);
/* Ends this command, which has ended, if it is in the background. */
void background_ended(struct actions *all, const struct command_seen *c);
/* Restores the background commands of the previous worker, which the keeper has. */
void backgrounds_load(struct actions *all);
/* Called when the sessions are restored: ends those that have ended. */
void backgrounds_loaded(struct actions *all);

#endif
