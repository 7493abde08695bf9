/* SPDX-License-Identifier: MIT */
/*
 * A borrowed slice of bytes: pointer and length, never a terminator.
 *
 * A struct str owns nothing and lives no longer than what it points to.
 * Parsers take it and return it, so nothing is copied to be looked at.
 */
#ifndef OD_BASE_STR_H
#define OD_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *p; /* may be NULL when n is 0 */
    size_t n;
};

enum { STR_U64_MAX = 20 }; /* digits of a uint64_t */

/* A literal, or any array whose last byte is a terminator. */
#define STR(lit) ((struct str){(lit), sizeof(lit) - 1})
/* For printf: "%.*s", STR_ARG(s) */
#define STR_ARG(s) (int)(s).n, (s).p

static inline struct str str_of(const char *z)
{
    return (struct str){z, z ? strlen(z) : 0};
}
static inline struct str str_n(const void *p, size_t n)
{
    return (struct str){p, n};
}
static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n &&
           (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}
bool str_ends(struct str s, struct str suffix);

/* The part from `from` on, at most n bytes; both are clamped to s. */
static inline struct str str_sub(struct str s, size_t from, size_t n)
{
    if (from > s.n)
        from = s.n;
    if (n > s.n - from)
        n = s.n - from;
    return (struct str){from ? s.p + from : s.p, n}; /* NULL + 0 is undefined */
}
/* Offset of the first occurrence, or -1. An empty needle is found at 0. */
long str_find(struct str hay, struct str needle);
long str_chr(struct str hay, char c);
/* How often c occurs. */
size_t str_count(struct str s, char c);
/* Without leading and trailing space, tab, CR, LF. */
struct str str_trim(struct str s);
/*
 * Cuts *rest at the first `sep`: returns what is before it and leaves what is
 * after. When there is none, returns everything and leaves an empty slice.
 */
struct str str_cut(struct str *rest, char sep);

/*
 * Whole-slice number parsing: no sign for u64, no spaces, no overflow.
 * 0 on success; -1 leaves *out alone.
 */
int str_to_u64(struct str s, uint64_t *out);
int str_to_i64(struct str s, int64_t *out);
/* Writes v in decimal digits, without a terminator. Returns how many. */
size_t str_from_u64(char out[STR_U64_MAX], uint64_t v);
/*
 * A duration in seconds with an optional fraction and an optional unit
 * (ms, s, m, h): "5", "0.25", "250ms", "8h". At most 10 years.
 */
int str_to_ms(struct str s, int64_t *out_ms);

#endif
