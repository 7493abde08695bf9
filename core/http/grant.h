/* SPDX-License-Identifier: MIT */
/*
 * What the allow function of a server (http/httpd.h) notes about a request: the right of
 * its sender, and what that right came from. For core/access alone: build/check-style.sh
 * refuses this header elsewhere.
 */
#ifndef OD_HTTP_GRANT_H
#define OD_HTTP_GRANT_H

#include "http/httpd.h"

enum { REQ_KEY_MAX = 32 };

/* Zero: nobody. */
struct req_by {
    char key[REQ_KEY_MAX + 1]; /* the name of the key that it comes from; "": none */
    uint64_t login;            /* the number of the login; 0: none */
    uint64_t visit;            /* of a request that may become a WebSocket; 0: not yet */
};

/* Gives r a right, and notes where it comes from; by NULL: from nothing. */
void req_grant(struct req *r, enum right right, const struct req_by *by);
struct req_by *req_by(struct req *r);
/* The descriptor of r's connection. */
int req_fd(const struct req *r);
/*
 * Closes the connections whose request in progress is of those that match: its `gone` is
 * called, as if the peer had left.
 */
void httpd_drop(struct httpd *d, bool (*match)(struct req *r, void *arg), void *arg);

#endif
