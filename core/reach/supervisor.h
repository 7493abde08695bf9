/* SPDX-License-Identifier: MIT */
/*
 * The supervisor of the network: it decides what programs may reach, by the rules of
 * reach/rules.h, and makes their connections.
 *
 * A program's internet socket is made here and put into the program; a copy stays. A
 * connect or bind is done here on the copy, with an address in our own memory, so nothing
 * that a program changes between check and use matters, and options, epoll and
 * non-blocking mode stay as the program set them. The kernel refuses what the program
 * would do by itself: Landlock has no port for it (fence/fence.h). The copy goes when the
 * socket is connected or listens, so the program alone decides when it is closed.
 *
 * Datagrams go through stand-ins (datagram.c). Names are resolved here (names.h): a
 * program gets an address of 198.18.0.0/15 or fd6f:6400::/32 that means one address of
 * one name, so a connect tells the name.
 *
 * It runs in the parent of a reaper (keeper/supervise.h), which is an ancestor of all
 * programs: reading their memory may need that. All work is non-blocking and bounded in
 * each turn.
 */
#ifndef OD_REACH_SUPERVISOR_H
#define OD_REACH_SUPERVISOR_H

#include "base/json.h"

#include <stdint.h>

struct supervisor;

/*
 * Whether this kernel and container can enforce rules of reach and listen. Tries it.
 * Returns 0, or -1 and what lacks, a text without a full stop.
 */
int reach_kernel(char why[200]);

/*
 * Called with what was refused, {"what", "to", "why", "pid", "program", "within": [the
 * processes above it], …}; borrowed.
 */
typedef void reach_refused_fn(void *arg, const struct json *what);

/* Reads the JSON of supervisor_open's file, from its beginning; NULL: it is none. */
struct json *supervisor_read(int file);
/*
 * rules: {"rules": as fence_parse makes them, "own": [ports of the server's own
 * listeners], "learn": bool: what a rule would allow is said, and done}, and if there are
 * secrets, more for the proxy (secret/proxy.c). "files": {"home", "state": folders}, if
 * it is to learn which files programs change: state is the server's own. Borrowed.
 * file: the same as JSON in a file; taken. The supervisor is owned by the caller, and
 * lives as long as its process. NULL with errno.
 */
struct supervisor *supervisor_open(const struct json *rules, int file,
                                   reach_refused_fn *refused, void *arg);
/*
 * The rules that hold beside those of the start, instead of those of the last call: an
 * array as fence_parse makes it, borrowed. They hold for the next connect, datagram, name
 * or listen of all programs.
 */
void supervisor_extend(struct supervisor *s, const struct json *more);
/* How many listeners it has: 0, no program is left that it decides for. */
unsigned supervisor_listeners(const struct supervisor *s);
/* Readable when there is work. */
int supervisor_fd(const struct supervisor *s);
/* Milliseconds until there is work anyway; -1: none. */
int supervisor_wait(const struct supervisor *s);
/* Does a bounded amount of it. */
void supervisor_turn(struct supervisor *s);
/* Takes the listener (reach/notify.h) of a program that was started. */
void supervisor_add(struct supervisor *s, int listener);

#endif
