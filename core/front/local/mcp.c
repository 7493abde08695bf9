/* SPDX-License-Identifier: MIT */
/*
 * The verb mcp: messages of MCP as lines, in both directions. The end of the client's
 * input ends the session and the request; a lost connection ends neither
 * (front/mcp/link.h).
 */
#include "front/mcp/link.h"
#include "front/local/own.h"

#include "base/limits.h"
#include "base/log.h"
#include "ipc/frame.h"

static bool send_line(void *arg, uint64_t offset, struct str line)
{
    struct conn *c = arg;
    if (c->stream.out.n >= LOCAL_QUEUED_MAX) {
        stream_want_room(&c->stream);
        return false;
    }
    if (frame_add_bytes(&c->stream.out, 'O', offset, line) < 0)
        log_warn("a message of MCP is larger than a connection's buffer, and was lost");
    task_defer(c->en->loop, &c->flush);
    return true;
}

static void on_over(void *arg)
{
    struct conn *c = arg;
    c->mcp = NULL;
    local_send_result(c, local_ok());
}

static const struct mcp_link_events link_events = {.send = send_line, .over = on_over};

int local_mcp(struct conn *c, const struct json *q, struct err *e)
{
    struct mcp *m = fronts_find(c->all, "mcp");
    c->mcp = mcp_link_open(m, json_str(q, "id", ""), c->uid, q, &link_events, c, e);
    return c->mcp ? 0 : -1;
}

void local_mcp_input(struct conn *c, struct str payload)
{
    uint64_t offset;
    struct str bytes;
    if (frame_bytes(payload, &offset, &bytes) < 0)
        return;
    if (bytes.n == 0) {
        local_mcp_drop(c, true);
        local_send_result(c, local_ok());
        return;
    }
    uint64_t accepted = mcp_link_input(c->mcp, offset, bytes);
    if (!c->mcp)
        return; /* its session ended */
    frame_add_u64(&c->stream.out, 'W', accepted);
    task_defer(c->en->loop, &c->flush);
}

void local_mcp_room(struct conn *c) { mcp_link_room(c->mcp); }

void local_mcp_drop(struct conn *c, bool end)
{
    struct mcp_link *l = c->mcp;
    c->mcp = NULL;
    mcp_link_close(l, end);
}
