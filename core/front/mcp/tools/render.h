/* SPDX-License-Identifier: MIT */
/*
 * Renders output with a model of a terminal (term/term.h), a piece in each turn of the
 * loop.
 */
#ifndef OD_FRONT_MCP_TOOLS_RENDER_H
#define OD_FRONT_MCP_TOOLS_RENDER_H

#include "shell/session.h"
#include "term/term.h"

struct render {
    struct term *term; /* owned */
    uint64_t at, to;   /* of the spool */
    uint64_t bytes, gone;
    bool literal; /* the output itself has a U+FFFD */
};

/*
 * Begins to render the bytes from `from` to `to`. head, tail: bytes of text that are kept
 * of its beginning and its end. The caller frees r->term.
 */
void render_init(struct render *r, uint64_t from, uint64_t to, size_t head, size_t tail);
void render_feed(struct render *r, struct str bytes);
/* Renders one piece of the session's spool. Returns true when all of it was rendered. */
bool render_step(struct render *r, struct engine *en, const char *session);
/* Whether the resulting text has a character for bytes that are not UTF-8. */
bool render_bent(const struct render *r, struct str text);
/* Finds a session's output. Returns false if there is no session, or it has no output. */
bool render_view(struct engine *en, const char *session, struct session_view *v);

#endif
