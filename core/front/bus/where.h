/* SPDX-License-Identifier: MIT */
/*
 * The URL of --bus:
 *
 *   redis://[USER[:PASSWORD]@]HOST[:6379][/DB][?prefix=od]     rediss://: with TLS
 *   redis://HOST,HOST,…                the seeds of a cluster, tried in turn
 *   redis+sentinel://HOST[:26379],HOST,…/NAME[/DB]      rediss+sentinel://: with TLS
 */
#ifndef OD_FRONT_BUS_WHERE_H
#define OD_FRONT_BUS_WHERE_H

#include "base/buf.h"
#include "base/err.h"

enum {
    BUS_URL_MAX = 2048,
    BUS_HOSTS_MAX = 16,
    BUS_NAME_MAX = 64, /* of a prefix, and of a sentinel's master */
    BUS_DB_MAX = 1023
};

struct bus_host {
    char name[256]; /* a name or an address, without brackets */
    uint16_t port;
};

struct bus_where {
    struct bus_host hosts[BUS_HOSTS_MAX];
    unsigned n;
    bool tls, sentinel;
    unsigned db;
    char user[256], password[512]; /* "": none */
    char prefix[BUS_NAME_MAX + 1], master[BUS_NAME_MAX + 1];
};

/*
 * Parses a URL. Returns -1 and sets *e, which has neither the user's name nor the
 * password.
 */
int bus_where(struct bus_where *w, struct str url, struct err *e);
/* Parses a host: HOST, HOST:PORT, [::1]:PORT. Returns -1 if it is malformed. */
int bus_host(struct bus_host *h, struct str text, uint16_t port);
/* Whether the host is this machine, to which bytes may go without TLS. */
bool bus_host_is_near(const struct bus_host *h);
/* Appends host:port. */
void bus_host_print(const struct bus_host *h, struct buf *out);

#endif
