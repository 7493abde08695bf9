/* SPDX-License-Identifier: MIT */
/*
 * Connections that are opened so that secrets can be put in: what the supervisor and its
 * proxy (secret/proxy.h) say to each other on a unix socket that keeps messages apart.
 */
#ifndef OD_REACH_OPENED_H
#define OD_REACH_OPENED_H

#include "reach/words.h"

#include <stdint.h>

/* To the proxy, with the descriptor of a connection that was accepted. */
struct reach_opened {
    int32_t pid; /* of the program */
    uint32_t port;
    char name[REACH_NAME_MAX + 1]; /* what it connected to, in lower case */
};

enum { OPENED_WHY_MAX = 400 };

/* From the proxy: a connection that was refused. */
struct reach_opened_refused {
    struct reach_opened what;
    char why[OPENED_WHY_MAX];
};

#endif
