/* SPDX-License-Identifier: MIT */
/* Requests whose answer comes in a later turn, other than calls of tools. */
#include "front/mcp/own.h"

#include "base/xalloc.h"

#include <stdlib.h>

struct mcp_pending *mcp_pending_new(struct mcp_ask *a, struct str uri, void *own,
                                    void (*stop)(struct mcp_pending *p))
{
    if (a->m->npendings >= MCP_PENDING_MAX) {
        mcp_error(a, RPC_INTERNAL,
                  "%d such requests are running already; try again later",
                  MCP_PENDING_MAX);
        return NULL;
    }
    struct mcp_pending *p = xnew(struct mcp_pending);
    *p = (struct mcp_pending){.m = a->m,
                              .session = a->session,
                              .out = a->out,
                              .id = json_copy(a->in->id),
                              .revision = a->revision,
                              .uri = xstrndup(uri.n ? uri.p : "", uri.n),
                              .own = own,
                              .stop = stop};
    list_add_tail(&a->m->pendings, &p->node);
    a->m->npendings++;
    return p;
}

/* Frees the request without an answer. */
static void mcp_pending_free(struct mcp_pending *p)
{
    ASSERT(p->m->npendings > 0);
    list_del(&p->node);
    p->m->npendings--;
    json_free(p->id);
    free(p->uri);
    free(p);
}

void mcp_pending_result(struct mcp_pending *p, struct json *result)
{
    struct rpc in = {.id = p->id};
    struct mcp_ask a = {.m = p->m, .out = p->out, .revision = p->revision, .in = &in};
    mcp_result(&a, result);
    mcp_pending_free(p);
}

void mcp_pending_fail(struct mcp_pending *p, const struct err *e)
{
    struct rpc in = {.id = p->id};
    struct mcp_ask a = {.m = p->m, .out = p->out, .revision = p->revision, .in = &in};
    mcp_resource_fail(&a, str_of(p->uri), e);
    mcp_pending_free(p);
}

void mcp_pendings_stop(struct mcp *m, const struct mcp_stream *t)
{
    struct list *it, *tmp;
    list_each (it, tmp, &m->pendings) {
        struct mcp_pending *p = list_entry(it, struct mcp_pending, node);
        if (p->out != t)
            continue;
        p->stop(p);
        mcp_pending_free(p);
    }
}

bool mcp_pending_cancel(struct mcp *m, const struct mcp_session *s, const struct json *id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &m->pendings) {
        struct mcp_pending *p = list_entry(it, struct mcp_pending, node);
        struct mcp_stream *out = p->out;
        if (p->session != s || !rpc_same_id(p->id, id))
            continue;
        p->stop(p);
        mcp_pending_free(p);
        mcp_stream_withdraw(out);
        return true;
    }
    return false;
}
