/* SPDX-License-Identifier: MIT */
/*
 * How much of the newest command in each session was shown to models, so that answers
 * show output only once. It is stored at the keeper for the next worker. front/mcp
 * implements these functions and those of tool.h.
 */
#ifndef OD_FRONT_MCP_TOOLS_TOLD_H
#define OD_FRONT_MCP_TOOLS_TOLD_H

#include "base/limits.h"
#include "front/front.h"

struct told {
    char id[LIMIT_ID + 1]; /* the command's id in its session; "": none */
    uint64_t command;      /* its action */
    uint64_t to;           /* its output was shown up to this offset */
    uint64_t line;         /* the number of the line that comes next */
    bool left;             /* an answer about it did not reach the client */
    char cwd[1024];        /* the directory that was last reported; "": none */
};

struct mcp;

/*
 * Returns the record of a session, made if needed; borrowed until the session is dropped.
 */
struct told *told_of(struct fronts *fronts, const char *session);
/* Stores it after a change. */
void told_keep(struct fronts *fronts, const char *session);
/* Restores what told_keep stored. */
void mcp_tolds_load(struct mcp *m);

#endif
