/* SPDX-License-Identifier: MIT */
/* "mcp/t/SESSION" at the keeper: "COMMAND TO LINE LEFT ID\nDIRECTORY". */
#include "front/mcp/tools/told.h"

#include "base/xalloc.h"
#include "front/mcp/own.h"
#include "shell/session.h"

#include <stdio.h>
#include <stdlib.h>

enum { TOLDS_MAX = 1024 }; /* sessions; above it, those that ended are dropped */

static struct mcp *mcp_of(struct fronts *fronts) { return fronts_find(fronts, "mcp"); }

static void store(struct mcp *m, struct str session, struct str state)
{
    struct buf key = BUF_INIT(128);
    buf_addz(&key, "mcp/t/");
    buf_adds(&key, session);
    hold_put(m->en->hold, buf_str(&key), state);
    buf_release(&key);
}

/* Drops sessions that ended, or any if none did. */
static void forget_some(struct mcp *m)
{
    struct str key;
    void *value;
    bool any = false;
    for (int all = 0; all < 2 && !any; all++) {
        for (void *it = NULL; (it = map_next(&m->tolds, it, &key, &value));) {
            if (!all && session_find(m->en, key))
                continue;
            store(m, key, STR(""));
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
    struct buf b = BUF_INIT(2048);
    if (t)
        buf_addf(&b, "%llu %llu %llu %d %s\n%s", (unsigned long long)t->command,
                 (unsigned long long)t->to, (unsigned long long)t->line, t->left, t->id,
                 t->cwd);
    store(m, str_of(session), buf_str(&b));
    buf_release(&b);
}

void mcp_told_load(struct mcp *m, struct str session, struct str state)
{
    struct told *t = xnew(struct told);
    struct str head = str_cut(&state, '\n');
    uint64_t left = 0, *const numbers[] = {&t->command, &t->to, &t->line, &left};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        str_to_u64(str_cut(&head, ' '), numbers[i]);
    t->left = left != 0;
    snprintf(t->id, sizeof(t->id), "%.*s", STR_ARG(head));
    snprintf(t->cwd, sizeof(t->cwd), "%.*s", STR_ARG(state));
    free(map_put(&m->tolds, session, t));
}
