/* SPDX-License-Identifier: MIT */
/* Requests of the command line whose result is all that it shows. */
#ifndef OD_SUBMIT_H
#define OD_SUBMIT_H

#include "base/err.h"
#include "base/json.h"
#include "ipc/client.h"

/*
 * Makes the request `what` and waits for its result, which the caller frees; NULL: sets
 * *e. as: how the applet was called, verb, args (borrowed): members of it; NULL: none.
 */
struct json *submit_request(struct client *client, const char *what, const char *as,
                            const char *verb, const struct json *args, struct err *e);
/*
 * Submits the action `verb` with args (borrowed) and waits for its end. as: how the
 * applet was called, for messages. Returns the extras of its observation, which the
 * caller frees; or NULL and sets *e, to the action's error too.
 */
struct json *submit(struct client *client, const char *as, const char *verb,
                    const struct json *args, struct err *e);

#endif
