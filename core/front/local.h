/* SPDX-License-Identifier: MIT */
/*
 * The unix socket of `od exec` and the other applets: proto/frame.h to engine
 * and back. A connection holds what belongs to its one request and nothing
 * else; peers are the server's own uid or root (SO_PEERCRED).
 */
#ifndef OD_FRONT_LOCAL_H
#define OD_FRONT_LOCAL_H

#include "engine/engine.h"

struct http;
struct local;

/*
 * Serves connections of fd, a listening socket, which it takes. http: borrowed, for
 * those who ask how the server is; NULL: there is none.
 */
struct local *local_open(struct engine *en, struct http *http, int fd);
/* No more connections; those there go on. */
void local_close(struct local *l);

#endif
