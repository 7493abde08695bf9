/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share.
 *
 *   front.c   the front-end: its route, the handshake, what people do as events
 *   link.c    one WebSocket
 */
#ifndef OD_FRONT_SCREEN_OWN_H
#define OD_FRONT_SCREEN_OWN_H

#include "browser/screen.h"
#include "front/front.h"
#include "access/access.h"
#include "http/ws.h"

#define SCREEN_PROTOCOL "od.screen.v1" /* Sec-WebSocket-Protocol */

enum {
    SESSION_MAX = 40,        /* bytes of a session's name */
    MESSAGE_MAX = 256 << 10, /* of a peer's message: a paste, of which each byte may be
                              * \u00xx */
    SCREEN_LINKS = SCREEN_VIEWERS_MAX /* of those who have shown a key, or need none */
};

struct screen_front {
    struct http_front http;
    struct fronts *fronts; /* borrowed */
    struct engine *en;     /* the same */
    struct access *access; /* the same */
    struct list links;     /* struct screen_wire */
    struct screen_log log;
    unsigned nlinks; /* without those that wait for their first message's key */
    uint64_t frames, frame_bytes, inputs;
};

/* ---- link.c ---- */

/* Opens a link on the stream take, after the handshake. */
void screen_wire_open(struct screen_front *f, struct stream *take, struct str session,
                      const struct guest *guest);
/* Closes all links, as the worker ends. */
void screen_wires_close(struct screen_front *f);

#endif
