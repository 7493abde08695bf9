/* SPDX-License-Identifier: MIT */
#include "engine/gate.h"

bool gate_lets(struct engine *en, struct gate_wait *w, const struct gate_ask *q)
{
    if (gate_waits(w))
        return false;
    if (!w->passed)
        w->passed = !en->gate || en->stopping || en->gate->lets(en->gate, w, q);
    return w->passed;
}

bool gate_waits(const struct gate_wait *w)
{
    return w->node.next && !list_empty(&w->node);
}

void gate_leave(struct gate_wait *w)
{
    if (w->node.next)
        list_del(&w->node);
}
