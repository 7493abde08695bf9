/* SPDX-License-Identifier: MIT */
/* Requests of `od checkpoint send`, by HTTP to a server elsewhere. */
#ifndef OD_APPLETS_CHECKPOINT_SEND_H
#define OD_APPLETS_CHECKPOINT_SEND_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#include <stdbool.h>

struct checkpoint_sender {
    const char *server; /* as in remote_open */
    int signals;        /* of sig_pipe; 0: not opened */
    bool answered;      /* it has, so it is tried again when it is lost */
};

/*
 * One request by POST, sent again when the connection is lost, as all of them may be
 * repeated. Returns the answer, which the caller owns; NULL and sets *e: it was refused,
 * or a signal came (CANCELLED).
 */
struct json *checkpoint_ask(void *sender, const char *path, struct str body,
                            struct err *e);

#endif
