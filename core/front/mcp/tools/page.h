/* SPDX-License-Identifier: MIT */
/* What the tools browse and browser_act share: observations of the action page, told. */
#ifndef OD_FRONT_MCP_TOOLS_PAGE_H
#define OD_FRONT_MCP_TOOLS_PAGE_H

#include "front/mcp/tools/tool.h"

enum {
    PAGE_TIME_S = 30,      /* of a call that does not wait */
    PAGE_STATE_ROOM = 1000 /* of an answer, for notes and its state line */
};

/* The action page with these arguments (taken), in the browser of the session main. */
void page_do(struct tool_call *c, struct json *args, tool_observed *fn);
/* Stops the action, for tool.stop. */
void page_stop(struct tool_call *c, enum tool_stop why);
/* Appends the state line of an answer; extras is the observation's. */
typedef void page_state_fn(struct buf *state, const struct tool_call *c,
                           const struct json *extras);
/*
 * Ends the call: the observation's text, what it has in notes, and the state line; or,
 * without an event, e.
 */
void page_end(struct tool_call *c, const struct json *event, const struct err *e,
              page_state_fn *put_state);

/* Appends "200", "404 Not Found"; nothing without a status. */
void page_put_status(struct buf *state, const struct json *extras);
/* Appends "; console: 1 error \"…\"", if there was any. */
void page_put_console(struct buf *state, const struct json *extras);
/* Appends "12 elements with refs". */
void page_put_refs(struct buf *state, int64_t n);
/* Appends a URL, cut. */
void page_put_url(struct buf *state, const struct json *extras);
/* Appends a text of the page in quotes, at most 80 bytes of it. */
void page_put_quoted(struct buf *state, struct str s);
/* The same without quotes, of a line of an outline, which has its own. */
void page_put_plain(struct buf *state, struct str s);
/* Appends what is to be done about an open dialog; false: none is open. */
bool page_put_dialog(struct buf *state, const struct json *extras);

#endif
