/* SPDX-License-Identifier: MIT */
/*
 * A part is a capability of the engine that outlives a worker: sessions, processes,
 * kernels, browsers, plugins … Each defines `const struct part part_NAME` and has the
 * line PART(NAME) in engine/parts.def. The engine calls the parts in the order of these
 * lines; a function that a part does not need is NULL.
 *
 *   first worker   configure, load, resumed, serve
 *   next worker    configure, take, load, resume for each kept state, resumed, serve
 *   the end        cancel
 */
#ifndef OD_ENGINE_PART_H
#define OD_ENGINE_PART_H

#include "base/buf.h"
#include "base/json.h"
#include "base/option.h"

#include <sys/types.h>

struct engine;

struct part {
    /*
     * States at the keeper whose key begins with this belong to the part, as "session/";
     * NULL: it keeps none. `claims` is a second such prefix whose states it looks up in
     * engine.states by itself; NULL: none.
     */
    const char *key, *claims;
    /* Appends what a worker must know to take up these states, as "session 12.480". */
    void (*format)(struct buf *out);
    /* Its options of od serve, checked and stored before there is a worker. */
    const struct option_table *options;
    /* Reads its own options of those that od serve stored; once, before anything else. */
    void (*configure)(struct engine *en, const struct json *options);
    /*
     * Takes a descriptor that the keeper holds under this name. Returns false if it
     * belongs to another one.
     */
    bool (*take)(struct engine *en, struct str name, int fd);
    /* All states are in engine.states; no part has resumed. */
    void (*load)(struct engine *en);
    /* Takes up one state; name is its key without the prefix. Borrowed. */
    void (*resume)(struct engine *en, struct str name, struct str state);
    /* All parts have resumed; programs that are not claimed now are dropped. */
    void (*resumed)(struct engine *en);
    /* engine.states is gone; requests follow. */
    void (*serve)(struct engine *en);
    /* Does it keep an idle server from ending (--idle-exit)? */
    bool (*busy)(const struct engine *en);
    /* The server ends: answers all who wait with CANCELLED. */
    void (*cancel)(struct engine *en);
    /* Appends its metrics (base/metrics.h). */
    void (*metrics)(const struct engine *en, struct buf *out);
    /* Appends variables for programs of this user: NAME=VALUE, each ending in NUL. */
    void (*variables)(const struct engine *en, uid_t uid, gid_t gid, struct buf *out);
};

/* All parts, in order; NULL ends the list. */
extern const struct part *const engine_parts[];

#endif
