/* SPDX-License-Identifier: MIT */
/* What the actions on files and the HTTP routes for files share. */
#ifndef OD_ACTION_FILES_H
#define OD_ACTION_FILES_H

#include "action/outside.h"
#include "file/fileact.h"

struct files_ask {
    const char *verb;
    const struct json *args;
    const struct sandbox_place *place;
    const char *token;
    const char *root; /* as in struct fileact_spec */
    bool resumed, input, output;
    int kept; /* as in struct fileact_spec */
};

/* fileact_start with the user and directory of q->place. Returns -1 and sets *e. */
int files_start(struct actions *all, const struct files_ask *q,
                const struct fileact_events *calls, void *arg, struct fileact **out,
                struct err *e);

/*
 * The action `send`, `receive` or `remove` in the log (outside.h) that a front-end does
 * itself with files_start, because the bytes go over its connection or its paths have a
 * root. Embedded in its owner; zeroed if there is none.
 */
struct files_log {
    struct actions *all;
    char key[ACTION_KEY + 1];
};
/*
 * Opens the action before the work begins. verb: as for files_start, or receive_all or
 * send_lines. A verb that only looks, and a `send` with "head", are not logged. source:
 * as in struct action; NULL: the action is not logged. session: its name; empty: "main".
 * stop(owner) makes the owner call files_log_end.
 */
void files_log_begin(struct files_log *l, struct actions *all, const char *source,
                     struct str session, const char *verb, const struct json *args,
                     outside_stop *stop, void *owner);
/*
 * Ends the action with result, a JSON object or empty, or with the error e. Does nothing
 * if it has ended, or was not opened.
 */
void files_log_end(struct files_log *l, struct str result, const struct err *e);

#endif
