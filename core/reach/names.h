/* SPDX-License-Identifier: MIT */
/*
 * Names for programs: questions to port 53 are answered here (RFC 1035, 4.1), and an
 * allowed name gets addresses of 198.18.0.0/15 (RFC 2544) and fd6f:6400::/32 (RFC 4193),
 * each of which means one address of one name for as long as the server runs. Only names
 * that a rule allows are looked up, so a question cannot carry data out.
 *
 * A lookup is done by a child with getaddrinfo, which knows /etc/hosts and resolv.conf,
 * and is kept for NAMES_TTL_MS.
 */
#ifndef OD_REACH_NAMES_H
#define OD_REACH_NAMES_H

#include "base/str.h"
#include "reach/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NAMES_MAX = 4096,        /* names in all */
    NAMES_GIVEN_MAX = 65000, /* addresses handed out in all */
    NAMES_ADDRESSES = 8,     /* of one name, of each family */
    NAMES_ASKED_MAX = 16,    /* lookups at a time */
    NAMES_WAITERS = 256,     /* questions that wait for them */
    NAMES_TTL_MS = 30000,
    NAMES_ANSWER_MAX = 600,
    NAMES_QUESTION_MAX = 512
};

/* An address (16 bytes, IPv4 as ::ffff:a.b.c.d) and a port. */
struct where {
    unsigned char a[16];
    unsigned port;
};

struct reach;
struct resolver;
struct ready;

/* Who asked, for the answer. */
struct names_asker {
    uint64_t inode;  /* of the socket */
    struct where at; /* the server that was asked */
    int pid;
};

struct names_events {
    void (*answer)(void *arg, const struct names_asker *who, const void *bytes, size_t n);
    /* No rule allows this name. */
    void (*refused)(void *arg, const struct names_asker *who, struct str name);
    /* Watch fd for reading, and call names_ready then; or stop, with on false. */
    void (*watch)(void *arg, int fd, void *name, bool on);
};

struct resolver *names_open(const struct reach *rules, const struct names_events *ev,
                            void *arg);
/* on: names that no rule allows are looked up, too, and nobody is told of them. */
void names_learn(struct resolver *n, bool on);
/* A question. One that is malformed is dropped. */
void names_ask(struct resolver *n, const struct names_asker *who, const void *bytes,
               size_t size);
/* Is it a question for a host whose connections may be opened (reach_opens)? */
bool names_opens(const struct resolver *n, const void *bytes, size_t size);
/* The pipe of a lookup is readable; name: what watch was called with. */
void names_ready(struct resolver *n, void *name);
/* What an address that was handed out means. NULL: it was not; *real gets the address. */
const char *names_meaning(const struct resolver *n, const unsigned char a[16],
                          unsigned char real[16]);
/* Is a server that /etc/resolv.conf names? */
bool names_is_server(const unsigned char a[16]);
/* Does /etc/hosts give this address to a name that a rule allows at this port? */
bool names_in_hosts(const struct reach *rules, const unsigned char a[16], unsigned port);
/* Does it give the address to a name that is opened at this port? Copies the first one.
 */
bool names_opened_in_hosts(const struct reach *rules, const unsigned char a[16],
                           unsigned port, char name[REACH_NAME_MAX + 1]);

#endif
