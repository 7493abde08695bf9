/* SPDX-License-Identifier: MIT */
/*
 * The process that puts secrets into requests: it opens TLS (RFC 8446) towards a program
 * with a certificate that it issues itself, speaks HTTP/1.1 with it (RFC 9112), and
 * passes each request on by a TLS connection of its own, which verifies the host, with
 * secrets where the program has placeholders. In what comes back secrets become
 * placeholders.
 *
 * A child of the reaper, outside of the fence. It gets each connection from the
 * supervisor of the network (reach/supervisor.h), which has judged it, and says there
 * what it refuses. It ends when the supervisor does. Programs cannot look into it:
 * Landlock lets them look at programs of their own fence alone.
 */
#ifndef OD_SECRET_PROXY_H
#define OD_SECRET_PROXY_H

/* The descriptors that it has: a unix socket of messages, and a file of rules. */
enum { SECRET_SOCKET = 3, SECRET_RULES = 4 };

/* Its whole life. Returns the exit status. */
int secret_proxy_main(void);

#endif
