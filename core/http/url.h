/* SPDX-License-Identifier: MIT */
/*
 * Where to connect: URLs of http, https, ws and wss (RFC 3986, RFC 6455
 * section 3), and the proxy that the environment names for one.
 */
#ifndef OD_HTTP_URL_H
#define OD_HTTP_URL_H

#include "base/err.h"
#include "base/str.h"

struct url {
    struct str scheme;    /* as it was written */
    struct str user;      /* "name:password" before the host; p NULL: none */
    struct str host;      /* without the brackets of an IPv6 address */
    struct str authority; /* host and port as written, fit for a Host field */
    struct str target;    /* path and query; "/" if the URL has none */
    uint16_t port;        /* the scheme's own if none is written */
    bool tls;             /* https, wss */
};

/* Sets u to slices of text and of constants, without the fragment. Returns -1 and sets *e
 * to INVALID. */
int url_parse(struct url *u, struct str text, struct err *e);

/* Returns whether the host names this machine: localhost, 127.0.0.0/8 or ::1. */
bool url_is_loopback(struct str host);

struct proxy {
    char host[256];
    uint16_t port;
    char auth[512]; /* of Proxy-Authorization; "": none */
};

/*
 * Finds the proxy as most programs do: https_proxy or HTTPS_PROXY for https and
 * wss, http_proxy for http and ws (not HTTP_PROXY, which a web server could set
 * from a request), else all_proxy or ALL_PROXY, unless the host is in no_proxy or
 * NO_PROXY: names (with all that is below them), addresses, networks (10.0.0.0/8),
 * each with or without a port, or "*". An empty value is none. A proxy without a
 * port has 80.
 *
 * env(name): its value or NULL, as getenv. Returns 1 if *p is the proxy, which
 * takes CONNECT; 0 if there is none; -1 and sets *e: INVALID, or UNSUPPORTED for a
 * proxy of another kind.
 */
int url_proxy(struct proxy *p, const struct url *u, char *(*env)(const char *name),
              struct err *e);

#endif
