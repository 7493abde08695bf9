/* SPDX-License-Identifier: MIT */
/*
 * The words of rules for the network, as people write them (core/fence/rules.h):
 *
 *   api.example.org     a DNS name
 *   *.mirror.example    every name below that name
 *   10.0.0.0/8          an IPv4 address or network
 *   [2001:db8::]/32     an IPv6 one
 *   *                   everything
 *
 * each with an optional :PORT or :PORT-PORT. Names are compared in lower case and without
 * a dot at the end. ::ffff:10.0.0.1 is the IPv4 address 10.0.0.1.
 */
#ifndef OD_REACH_WORDS_H
#define OD_REACH_WORDS_H

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

enum {
    REACH_NAME_MAX = 253, /* bytes of a name without a dot at its end: RFC 1035, 2.3.4 */
    REACH_LABEL_MAX = 63
};

enum reach_kind { REACH_NAME, REACH_BELOW, REACH_NET, REACH_ALL };

struct reach_host {
    enum reach_kind kind;
    unsigned char bytes[16]; /* NET: IPv4 as ::ffff:a.b.c.d; zeros after the prefix */
    unsigned bits;           /* NET: of the prefix, in these 16 bytes */
    char name[REACH_NAME_MAX + 1]; /* NAME; BELOW: "mirror.example" */
};

/* A word is malformed: what was expected, and where in the word. */
struct reach_wrong {
    const char *expected; /* a whole sentence part: "a port … was expected". Static */
    size_t at;            /* bytes before the part that is wrong */
};

/*
 * Copies a name in lower case without a dot at its end. Returns its length, or 0 if it
 * is not a name: empty, too long, or with a byte that is not a letter, digit, - or _.
 */
size_t reach_name_of(struct str text, char out[REACH_NAME_MAX + 1]);
/* Reads a host as a rule has it, IPv6 without brackets. Returns 0, or -1 and *wrong. */
int reach_host_read(struct str text, struct reach_host *out, struct reach_wrong *wrong);
/* Appends it in its one form, which reach_host_read reads. */
void reach_host_print(const struct reach_host *h, struct buf *out);

/*
 * Reads the word of a reach or listen line into the members of rule, an object:
 *
 *   HOST[:PORT[-PORT]]   "host", "from", "to"
 *   PORT[-PORT]          "from", "to"
 *   nothing              "nothing": true
 *
 * Returns 0, or -1 and *wrong.
 */
int reach_word(struct str word, struct json *rule, struct reach_wrong *wrong);
int reach_listen_word(struct str word, struct json *rule, struct reach_wrong *wrong);
/* A host of a secret: a DNS name, or names below one; without a port, 443. */
int reach_secret_word(struct str word, struct json *rule, struct reach_wrong *wrong);
/*
 * Appends the word that these two read: host, with brackets if it is IPv6, and the ports,
 * unless they are all. host "": of a listen line, the ports alone.
 */
void reach_print(struct str host, unsigned from, unsigned to, struct buf *out);
/* The same for the members of a rule that was read. */
void reach_print_rule(const struct json *rule, struct buf *out);

#endif
