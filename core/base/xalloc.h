/* SPDX-License-Identifier: MIT */
/*
 * Allocation that never returns NULL: on failure one line is logged and the
 * process aborts. Only for objects of a size that we choose; what a peer can
 * make large goes through buf_reserve and fails as that peer's error.
 */
#ifndef OD_BASE_XALLOC_H
#define OD_BASE_XALLOC_H

#include <stddef.h>

void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t count, size_t size);
char *xstrdup(const char *z);
char *xstrndup(const char *p, size_t n); /* n bytes and a terminator */
/*
 * Up to this size, buf.h and json.h abort too, by xalloc_failed: code that builds a name,
 * a line or a small object need not check that it is whole.
 */
#define XALLOC_SMALL (64 << 10)
/* Logs and aborts, as above; for callers of other allocators. */
void xalloc_failed(size_t size) __attribute__((noreturn));
/* fn is called after the line and before the abort, in this process alone; it must not
 * allocate. For those who wait for an answer. */
void xalloc_last_words(void (*fn)(void));
/* xnew(struct foo): zeroed. */
#define xnew(type) ((type *)xcalloc(1, sizeof(type)))

/*
 * Whether freed objects may be kept for the next user instead of malloc. Not in builds
 * with sanitizers, which then would not see their wrong use.
 */
#ifdef OD_ASSERT
enum { XALLOC_REUSE = 0 };
#else
enum { XALLOC_REUSE = 1 };
#endif

/*
 * For a large array on the stack that a read fills at once and that is used only as far
 * as it was filled: leaves out the zeroes that the compiler gives every other variable.
 */
#define NOT_ZEROED __attribute__((uninitialized))

#endif
