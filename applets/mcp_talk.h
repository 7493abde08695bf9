/* SPDX-License-Identifier: MIT */
/*
 * What a client of `od mcp` and its servers, one after the other, have said: which
 * requests have no answer yet, and what the next server must know.
 *
 *   request ──► asked ──answer──► held, if its effect lasts: initialize,
 *                 │               logging/setLevel, resources/subscribe
 *                 └──the server is lost──► answered with an error, and never sent again
 *
 * The next server gets the requests of held again, with their names there as ids, and
 * their answers do not reach the client. It also gets each subscriptions/listen, whose
 * answer is its end, and which stays in asked until the client cancels it.
 *
 * What is asked is bounded by the server's limits of running requests, and by the window
 * of ipc/call.h.
 */
#ifndef OD_APPLETS_MCP_TALK_H
#define OD_APPLETS_MCP_TALK_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>

struct mcp_talk {
    struct json *asked; /* owned: an array of requests, without arguments of tools */
    struct json *held;  /* owned: requests by their method, or the uri of a resource */
    struct buf out;     /* lines to pass on, which the caller takes */
    bool fresh;         /* the server is a new one: the next answer of a tool says so */
};

void mcp_talk_init(struct mcp_talk *t);
void mcp_talk_release(struct mcp_talk *t);
/*
 * Notes a client's message, which may be NULL, after mcp_talk_again. Drops the arguments
 * of its tools.
 */
void mcp_talk_asked(struct mcp_talk *t, struct json *message);
/* Takes a line of a server. */
void mcp_talk_answered(struct mcp_talk *t, struct str line);
/* Answers what was asked with *e, and forgets it; not subscriptions/listen. */
void mcp_talk_lost(struct mcp_talk *t, const struct err *e);
/* Gives the lines that the next server gets first; all others are for the client. */
void mcp_talk_again(struct mcp_talk *t);

#endif
