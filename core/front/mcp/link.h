/* SPDX-License-Identifier: MIT */
/*
 * MCP over the local socket, for `od mcp`: a session whose messages are lines. It
 * outlives its connection and the worker. The client chooses its name, and reconnects
 * with two offsets: of the first input that was not accepted, and of the end of the
 * output that it has. Output offsets only rise, and may jump.
 */
#ifndef OD_FRONT_MCP_LINK_H
#define OD_FRONT_MCP_LINK_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { MCP_MESSAGE_MAX = 4 << 20 }; /* bytes of one from a client */

struct mcp;
struct mcp_link;

struct mcp_link_events {
    /*
     * Sends one line, with its newline. Returns false if there is no room now; then
     * mcp_link_room follows.
     */
    bool (*send)(void *arg, uint64_t offset, struct str line);
    /*
     * Called when the session ended, or another connection took it. The link is closed
     * after it.
     */
    void (*over)(void *arg);
};

/*
 * Opens the session `id`, 32 hex digits, or resumes it. q: the request, with output_from
 * and "mcp": {"tools", "structured", "here", "answer_bytes", "max_wait"}. Returns NULL
 * and sets *e if these are not valid.
 */
struct mcp_link *mcp_link_open(struct mcp *m, struct str id, uid_t uid,
                               const struct json *q, const struct mcp_link_events *ev,
                               void *arg, struct err *e);
/*
 * Takes input at its offset. Returns the offset up to which it is accepted and not needed
 * again.
 */
uint64_t mcp_link_input(struct mcp_link *l, uint64_t offset, struct str bytes);
/* Called when there is room for output again. */
void mcp_link_room(struct mcp_link *l);
/*
 * Closes the link of a connection that ended. end: the client's input ended, and so does
 * the session.
 */
void mcp_link_close(struct mcp_link *l, bool end);

#endif
