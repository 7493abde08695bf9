/* SPDX-License-Identifier: MIT */
/* "mcp/t/SESSION" at the keeper. */
#include "front/mcp/tools/told.h"

#include "base/xalloc.h"
#include "engine/state.h"
#include "front/mcp/own.h"
#include "shell/session.h"

#include <stdio.h>
#include <stdlib.h>

enum { TOLDS_MAX = 1024 }; /* sessions; above it, those that ended are dropped */

static struct mcp *mcp_of(struct fronts *fronts) { return fronts_find(fronts, "mcp"); }

static const char prefix[] = "mcp/t/";

static const struct state_field kept[] = {
    STATE_ROW(struct told, id),
    STATE_ROW(struct told, command),
    STATE_ROW(struct told, to),
    STATE_ROW(struct told, line),
    STATE_ROW(struct told, left),
    STATE_ROW(struct told, cwd),
    {.name = NULL},
};

/* Drops sessions that ended, or any if none did. */
static void forget_some(struct mcp *m)
{
    struct str key;
    char session[ACTION_SESSION_MAX + 1];
    void *value;
    bool any = false;
    for (int all = 0; all < 2 && !any; all++) {
        for (void *it = NULL; (it = map_next(&m->tolds, it, &key, &value));) {
            if (!all && session_find(m->en, key))
                continue;
            snprintf(session, sizeof(session), "%.*s", STR_ARG(key));
            state_drop(m->en, prefix, session);
            map_del(&m->tolds, key);
            free(value);
            any = true;
        }
    }
}

struct told *told_of(struct fronts *fronts, const char *session)
{
    struct mcp *m = mcp_of(fronts);
    struct told *t = map_get(&m->tolds, str_of(session));
    if (t)
        return t;
    if (m->tolds.count >= TOLDS_MAX)
        forget_some(m);
    t = xnew(struct told);
    map_put(&m->tolds, str_of(session), t);
    return t;
}

void told_keep(struct fronts *fronts, const char *session)
{
    struct mcp *m = mcp_of(fronts);
    const struct told *t = map_get(&m->tolds, str_of(session));
    if (t)
        state_keep(m->en, prefix, session, kept, t);
}

static void load_one(void *arg, struct str session, struct json *j)
{
    struct mcp *m = arg;
    struct told *t = xnew(struct told);
    state_read(kept, t, j);
    free(map_put(&m->tolds, session, t));
}

void mcp_tolds_load(struct mcp *m) { state_each(m->en, prefix, load_one, m); }
