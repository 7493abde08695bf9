/* SPDX-License-Identifier: MIT */
/*
 * What the programs of this directory share: a clock, quantiles, and a
 * connection to the server that OD_SOCKET names. Whatever goes wrong ends the
 * program with a sentence: a figure that was half measured is none.
 */
#ifndef OD_BENCH_COMMON_H
#define OD_BENCH_COMMON_H

#include "base/json.h"
#include "ipc/client.h"

#include <stdint.h>

double now_us(void);
/* Sorts v; q from 0 to 1. */
double quantile(double *v, int n, double q);
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* A number of at least 1 from the command line. */
int count_of(const char *text);

/*
 * The bytes that flow: numbered lines of LINE bytes. Fills p with the n bytes
 * (whole lines) that begin at offset `from` (of a line).
 */
enum { LINE = 16 };
void fill_lines(char *p, size_t n, uint64_t from);

/* Connects; the descriptor blocks, so that a round trip is a send and a read. */
void dial(struct client *c);
/*
 * Sends a request (the text of a JSON object without v and id) and waits for
 * its result, which the caller frees; dies unless it is ok. bytes, if not NULL,
 * gets what arrived as output.
 */
struct json *ask(struct client *c, const char *members, uint64_t *bytes);
/* The same in parts, for callers that measure time or check every byte. */
void ask_send(struct client *c, const char *members);
struct str ask_frame(struct client *c, char *type);
struct json *ask_result(struct str payload);

#endif
