/* SPDX-License-Identifier: MIT */
/*
 * The judge of the network: what the reach and listen lines of a fence allow. Pure
 * functions, without input and output. Without a reach line everything may be reached,
 * and without a listen line every port may be listened on.
 *
 * A name is judged by the rules for names, an address by those for addresses: a rule for
 * a name says nothing about the addresses that the name has.
 */
#ifndef OD_REACH_RULES_H
#define OD_REACH_RULES_H

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum { REACH_RULES_MAX = 1000 }; /* of each kind; those after it give no right */

struct reach; /* opaque; owned by the caller */

/*
 * Copies the rules of an array that fence_parse made (fence/rules.h): the objects with
 * "do": "reach" and "listen"; others are skipped. Never fails: a malformed object gives
 * no right, but limits as a line does. rules may be NULL: no line.
 */
struct reach *reach_load(const struct json *rules);
void reach_free(struct reach *r); /* takes NULL */
/*
 * Replaces the rules of the last reach_extend by these, which hold beside those that were
 * loaded. Only "reach" and "listen" count, and only if they were limited before.
 */
void reach_extend(struct reach *r, const struct json *rules);

/*
 * The objects with "do": "secret" give their names at their ports, too, if there is a
 * reach line. May a connection to the name, as for reach_name, at this port be opened, so
 * that a secret is put in?
 */
bool reach_opens(const struct reach *r, struct str name, unsigned port);
/* Is there such an object, at this port (0: at any)? */
bool reach_has_secrets(const struct reach *r, unsigned port);

/* Is there a reach line, or a listen line? One with "nothing" counts. */
bool reach_limits(const struct reach *r);
bool reach_limits_listen(const struct reach *r);

/*
 * May the name be connected to at this port? name: in any case, with or without one dot
 * at its end; one that is not a name (reach_name_of) may not, if there is a reach line.
 * port 0: at any port at all.
 */
bool reach_name(const struct reach *r, struct str name, unsigned port);
/*
 * May the address, 16 bytes with IPv4 as ::ffff:a.b.c.d, be connected to at this port by
 * a rule for addresses? "*" counts. An IPv6 network, [::]/0 too, has no IPv4 address in
 * it. port 0: at any port at all.
 */
bool reach_address(const struct reach *r, const unsigned char address[16], unsigned port);
/*
 * May programs listen on the port? port 0, which stands for a free port that the kernel
 * chooses: if a line allows all of 32768-60999, Linux's own range for that.
 */
bool reach_listen(const struct reach *r, unsigned port);

/*
 * Is the address, as above, not public: loopback, link-local, private, multicast, or
 * unspecified, and all that "local" stands for in net/denied.h?
 */
bool reach_is_private(const unsigned char address[16]);

/*
 * Is the name one that a rule for names allows, with at least one label after it, as a
 * resolver's search list makes them: api.example.org.svc.cluster.local? The name may be
 * allowed by another rule, too. "*" does not count.
 */
bool reach_is_searched(const struct reach *r, struct str name);

/*
 * Appends the reach rules for a message: "api.example.org, [2001:db8::]/32:443", in the
 * order of their lines; "nothing"; "everything" without a reach line. At most max bytes
 * (3 or more), the last of them "…" if some were left out.
 */
void reach_text(const struct reach *r, struct buf *out, size_t max);

#endif
