/* SPDX-License-Identifier: MIT */
/*
 * The gate: what may change files asks here before it begins, whichever way it came. A
 * part that has to do something first, such as a checkpoint of the files, sets
 * engine.gate; without one, all may begin.
 *
 * Those who ask: a command of a session, when its turn has come (shell/session_run.c); a
 * cell of a kernel (kernel/kernel.c); actions on files and processes (action/actions.c);
 * processes and skills of od exec (front/local); the tool `process` (front/mcp).
 */
#ifndef OD_ENGINE_GATE_H
#define OD_ENGINE_GATE_H

#include "base/list.h"
#include "base/str.h"
#include "engine/engine.h"

enum gate_kind {
    GATE_COMMAND, /* a text for a shell, or the words of a program */
    GATE_CELL,    /* code for a kernel */
    GATE_FILES    /* it changes files, for sure */
};

/* What is about to begin. Borrowed. */
struct gate_ask {
    enum gate_kind kind;
    const char *id;     /* of the request, or of its action; "": none */
    struct str text;    /* of a command */
    struct str session; /* whose user and directory count; "": those of a new one */
};

/* Embedded in its owner, zeroed. */
struct gate_wait {
    struct list node;
    void (*go)(struct gate_wait *w); /* it may begin now: asks again, and passes */
    uint64_t after;                  /* for the part: what it waits for */
    bool passed;
};

struct gate {
    /* As gate_lets, for what has not passed. If it returns false, w is in a list. */
    bool (*lets)(struct gate *g, struct gate_wait *w, const struct gate_ask *q);
};

/* May it begin now? If not, w->go is called once, later, unless gate_leave comes first.
 */
bool gate_lets(struct engine *en, struct gate_wait *w, const struct gate_ask *q);
/* Does it wait at the gate? */
bool gate_waits(const struct gate_wait *w);
/* It does not wait any more. Idempotent. */
void gate_leave(struct gate_wait *w);

#endif
