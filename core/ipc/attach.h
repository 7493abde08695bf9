/* SPDX-License-Identifier: MIT */
/*
 * The local terminal as a window on a session: keys are sent as they are
 * typed, and the session's output is shown as it is.
 *
 * The terminal is raw meanwhile, and is restored on every return. One key is not
 * sent: it detaches, and the session goes on.
 */
#ifndef OD_IPC_ATTACH_H
#define OD_IPC_ATTACH_H

#include "ipc/client.h"

#define ATTACH_KEY 0x1d /* C-], as telnet has it: no shell and few editors use it */

enum attach_end {
    ATTACH_FAILED,   /* see the err */
    ATTACH_DETACHED, /* by the key */
    ATTACH_ENDED,    /* the session ended: *exit_code is its shell's */
    ATTACH_SIGNAL    /* *exit_code is 128 + the signal */
};

/*
 * request: an "attach" without rows and cols; signals: as struct call's, with
 * SIGWINCH among them; key: -1 for none. Standard input and output are the
 * terminal.
 */
enum attach_end attach_run(struct client *client, struct json *request,
                           int signals, int key, int *exit_code, struct err *e);

#endif
