/* SPDX-License-Identifier: MIT */
/* What the actions on files and the routes to them share. */
#ifndef OD_ACTION_FILES_H
#define OD_ACTION_FILES_H

#include "action/action.h"
#include "file/fileact.h"

struct files_ask {
    const char *verb;
    const struct json *args;
    const struct sandbox_place *place;
    const char *token;
    bool again, input, output;
    int kept; /* as in struct fileact_spec */
};

/* fileact_start with the user and directory of q->place. -1: sets *e. */
int files_start(struct actions *all, const struct files_ask *q,
                const struct fileact_events *calls, void *arg, struct fileact **out,
                struct err *e);

#endif
