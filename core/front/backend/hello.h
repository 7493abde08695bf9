/* SPDX-License-Identifier: MIT */
/*
 * The first message to a backend on a dialled link: a description of this sandbox.
 *
 *   {"hello":{"protocol":"od.events.v1","sandbox":ID,"version":"0.1.0","next":N,
 *     "image":{"os","os_id","os_version","arch","kernel","hostname","uid","user",
 *     "shell","cwd","cpus","memory"},"capabilities":[NAME, …]}}
 *
 * Facts that cannot be found in the image are left out. The sandbox's id belongs to its
 * event log: as long as event ids continue, it stays the same, also over restarts.
 */
#ifndef OD_FRONT_BACKEND_HELLO_H
#define OD_FRONT_BACKEND_HELLO_H

#include "base/json.h"
#include "engine/engine.h"

#define BACKEND_PROTOCOL "od.events.v1"
/* The key of the state at the keeper that has the id. */
#define BACKEND_SANDBOX_KEY "connect/sandbox"

enum { SANDBOX_ID_SIZE = 33 }; /* hex digits and a terminator */

/*
 * Sets id to the sandbox's id: that of an earlier call in this worker, else the one at
 * the keeper (known; empty: none), else the one in the log's folder (dir; NULL: the log
 * is in memory), else a new one. Stores it at the keeper and in the folder.
 */
void backend_sandbox_id(struct engine *en, struct str known, const char *dir,
                        char id[SANDBOX_ID_SIZE]);
/* Appends the hello. next: the id of the next event. deltas: deltas are sent, too. */
void backend_hello(const struct engine *en, const char *id, const char *version,
                   uint64_t next, bool deltas, struct buf *out);

/*
 * Appends a value of os-release(5) by name, without its quotes. text: that of the file.
 * Returns -1 if there is no such value, or out is full.
 */
int backend_os_release(struct str text, const char *name, struct buf *out);

#endif
