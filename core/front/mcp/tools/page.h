/* SPDX-License-Identifier: MIT */
/*
 * What the tools browse and browser_act share: answers from observations of the action
 * page.
 */
#ifndef OD_FRONT_MCP_TOOLS_PAGE_H
#define OD_FRONT_MCP_TOOLS_PAGE_H

#include "front/mcp/tools/state.h"
#include "front/mcp/tools/tool.h"

enum {
    PAGE_TIME_S = 30,      /* of a call that does not wait */
    PAGE_STATE_ROOM = 1000 /* of an answer, for notes and its state line */
};

/*
 * Runs the action page with these arguments (taken), in the browser of the session main.
 */
void page_do(struct tool_call *c, struct json *args, tool_observed *fn);
/* Stops the action, for tool.stop. */
void page_stop(struct tool_call *c, enum tool_stop why);
/* Appends the state line of an answer; may complete what was read of the page. */
typedef void page_state_fn(struct buf *state, const struct tool_call *c,
                           struct page_line *line);
/*
 * Ends the call: the observation's text, what it has in notes, and the state line; or,
 * without an event, e.
 */
void page_end(struct tool_call *c, const struct json *event, const struct err *e,
              page_state_fn *put_state);

#endif
