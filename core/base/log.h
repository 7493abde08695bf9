/* SPDX-License-Identifier: MIT */
/*
 * The log: one line per entry to a descriptor (standard error by default),
 * as text ("2026-01-02T03:04:05.678Z info worker: …") or JSON, blocking for
 * one write at most. Control bytes in a message are escaped, so that a
 * peer cannot forge a line. Trace channels are compiled in and cost one branch
 * when off: OD_TRACE=session,keeper or OD_TRACE=all.
 */
#ifndef OD_BASE_LOG_H
#define OD_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_trace_channel {
    TRACE_LOOP = 1 << 0,
    TRACE_KEEPER = 1 << 1,
    TRACE_SESSION = 1 << 2,
    TRACE_WIRE = 1 << 3,
    TRACE_SLOW = 1 << 4
};

/* who: "keeper", "worker", …; borrowed forever. */
void log_init(const char *who, int fd, enum log_level max, bool json);
/* Reads OD_TRACE; unknown names are ignored. */
void log_trace_init(const char *spec);
int log_level_from(const char *name); /* -1: unknown */

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

extern unsigned log_trace_mask; /* read it through TRACE() only */
void log_trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define TRACE(channel, ...) \
    do { \
        if (log_trace_mask & (channel)) \
            log_trace(__VA_ARGS__); \
    } while (0)

/* For what cannot happen: logs file:line and aborts, in release builds too. */
void log_bug(const char *file, int line, const char *what)
    __attribute__((noreturn));
#define BUG_ON(x) \
    do { \
        if (x) \
            log_bug(__FILE__, __LINE__, #x); \
    } while (0)

/*
 * Aborts unless x, which a caller promised, is true; in builds for tests (MODE=dev and
 * MODE=fuzz) only. Other builds do not evaluate x.
 */
#ifdef OD_ASSERT
#define ASSERT(x) BUG_ON(!(x))
#else
#define ASSERT(x) ((void)sizeof(!(x)))
#endif

#endif
