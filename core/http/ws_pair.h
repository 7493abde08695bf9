/* SPDX-License-Identifier: MIT */
/*
 * Connects a WebSocket and a stream: bytes of binary messages are written to the stream,
 * and bytes that the stream reads go out in binary messages. The ends of messages have no
 * meaning. Each side is read only while the other one has room.
 *
 * Used by a server that passes a WebSocket to code for plain sockets, and by the process
 * next to a client that sees the WebSocket as a plain socket.
 */
#ifndef OD_HTTP_WS_PAIR_H
#define OD_HTTP_WS_PAIR_H

#include "http/ws.h"

enum {
    WS_PAIR_MESSAGE = 128 << 10, /* bytes of one message; the least in_max of near */
    WS_PAIR_OUT = 1 << 20        /* the least out_max of near */
};

/* Embedded in its owner, whose memory lasts to the end of the turn of on_over. */
struct ws_pair {
    struct ws ws;
    struct stream near;
    bool far_over, near_over;
    void (*on_over)(struct ws_pair *p, int code, struct str reason);
};

/*
 * Takes both: far, whose opening handshake is over, and near. on_over is called once,
 * when both are closed, with the code and reason of the WebSocket (ws.h). When near ends,
 * the WebSocket is closed after what was read. When the WebSocket ends: as a client, near
 * gets everything that came before, and its end; as a server, near is closed at once.
 */
void ws_pair_start(struct ws_pair *p, struct stream *far, enum ws_role role,
                   struct stream *near,
                   void (*on_over)(struct ws_pair *p, int code, struct str reason));
/* Cuts both; on_over does not come. Idempotent. */
void ws_pair_release(struct ws_pair *p);

#endif
