/* SPDX-License-Identifier: MIT */
/*
 * MCP over the local socket, for `od mcp`: a session whose messages are lines. It
 * outlives its connection and the worker; the client names it, and comes back with the
 * offset of the input that was not accepted and of the output that it has.
 *
 * An output offset only rises: it may jump.
 */
#ifndef OD_FRONT_MCP_LINK_H
#define OD_FRONT_MCP_LINK_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mcp;
struct mcp_link;

struct mcp_link_events {
    /* Sends one line, with its newline. false: no room now, mcp_link_room follows. */
    bool (*send)(void *arg, uint64_t offset, struct str line);
    /* Its session ended, or another connection has it. The link is closed after it. */
    void (*over)(void *arg);
};

/*
 * Opens the session `id`, 32 hex digits, or takes it up again. q: the request, with
 * output_from and "mcp": {"tools", "structured", "here", "answer_bytes", "max_wait"}.
 * Returns NULL and sets *e if these cannot be.
 */
struct mcp_link *mcp_link_open(struct mcp *m, struct str id, uid_t uid,
                               const struct json *q, const struct mcp_link_events *ev,
                               void *arg, struct err *e);
/* Input at its offset. Returns up to where it is accepted: it is not needed again. */
uint64_t mcp_link_input(struct mcp_link *l, uint64_t offset, struct str bytes);
/* There is room again. */
void mcp_link_room(struct mcp_link *l);
/* The connection is gone; end: by the end of input, so the session is, too. */
void mcp_link_close(struct mcp_link *l, bool end);

#endif
