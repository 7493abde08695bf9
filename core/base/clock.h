/* SPDX-License-Identifier: MIT */
/* Time, random bytes and ids. */
#ifndef OD_BASE_CLOCK_H
#define OD_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_ms(void);      /* CLOCK_MONOTONIC, milliseconds */
int64_t clock_us(void);      /* CLOCK_MONOTONIC, microseconds */
int64_t clock_cpu_us(void);  /* processor time of this process, microseconds */
int64_t clock_wall_ms(void); /* since 1970, UTC */
/* "2026-01-02T03:04:05.678Z"; out holds 25 bytes. */
void clock_iso(int64_t wall_ms, char out[25]);

/* getrandom, else /dev/urandom, else (neither there) time, pid and addresses. */
void random_bytes(void *p, size_t n);
/* n lower-case hex digits and a terminator; out holds n + 1 bytes. */
void random_hex(char *out, size_t n);

#endif
