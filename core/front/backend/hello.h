/* SPDX-License-Identifier: MIT */
/*
 * Who we are, for a backend: the first message on a link that was dialled.
 *
 *   {"hello":{"protocol":"od.events.v1","sandbox":ID,"version":"0.1.0","next":N,
 *     "image":{"os","os_id","os_version","arch","kernel","hostname","uid","user",
 *     "shell","cwd","cpus","memory"},"capabilities":[NAME, …]}}
 *
 * What cannot be found in the image is left out. The sandbox's id goes with its event
 * log: as long as ids of events count on, it is the same, over restarts too.
 */
#ifndef OD_FRONT_BACKEND_HELLO_H
#define OD_FRONT_BACKEND_HELLO_H

#include "base/json.h"
#include "engine/engine.h"

#define BACKEND_PROTOCOL "od.events.v1"
/* The state at the keeper that has the id. */
#define BACKEND_SANDBOX_KEY "connect/sandbox"

enum { SANDBOX_ID_SIZE = 33 }; /* hex digits and a terminator */

/*
 * The id: what an earlier call in this worker gave, else of the keeper's states (known:
 * empty if there was none), else of the log's folder (dir: NULL when the log is in
 * memory), else a new one; then it is in both.
 */
void backend_sandbox_id(struct engine *en, struct str known, const char *dir,
                        char id[SANDBOX_ID_SIZE]);
/* next: the id of the next event; deltas: they are sent, too. */
void backend_hello(const struct engine *en, const char *id, const char *version,
                   uint64_t next, bool deltas, struct buf *out);

/*
 * A value of os-release(5) by name, without its quotes. text: the file's. -1: there is
 * none, or out is full.
 */
int backend_os_release(struct str text, const char *name, struct buf *out);

#endif
