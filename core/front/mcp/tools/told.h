/* SPDX-License-Identifier: MIT */
/*
 * What models were told of the newest command that a tool ran in each session, so that an
 * answer shows output once. It is at the keeper: the next worker has it, too. These
 * functions are front/mcp's, as those of tool.h.
 */
#ifndef OD_FRONT_MCP_TOOLS_TOLD_H
#define OD_FRONT_MCP_TOOLS_TOLD_H

#include "base/limits.h"
#include "front/front.h"

struct told {
    char id[LIMIT_ID + 1]; /* of the command, as its session knows it; "": none */
    uint64_t command;      /* its action */
    uint64_t to;           /* its output was shown up to this offset */
    uint64_t line;         /* the number of the line that comes next */
    bool left;             /* an answer about it did not reach its client */
    char cwd[1024];        /* the directory that was told last; "": none */
};

struct mcp;

/* That of a session, made if there is none; borrowed until the session is forgotten. */
struct told *told_of(struct fronts *fronts, const char *session);
/* Stores it after a change. */
void told_keep(struct fronts *fronts, const char *session);
/* Takes up what told_keep stored. */
void mcp_told_load(struct mcp *m, struct str session, struct str state);

#endif
