/* SPDX-License-Identifier: MIT */
/*
 * The log. A line is built on the stack, because a process that runs out of
 * memory must still log that, and has at most PIPE_BUF bytes, because up to
 * that size the lines of keeper and worker do not mix in one pipe. A message
 * that would be longer is cut and ends in "...". Errors of the write are
 * ignored: nothing could report them. errno is kept.
 */
#include "base/log.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MESSAGE_MAX 3072
#define CUT_MARK "..."

static const char *const level_names[] = {
    [LOG_ERROR] = "error",
    [LOG_WARN] = "warn",
    [LOG_INFO] = "info",
    [LOG_DEBUG] = "debug",
};

static const struct {
    const char *name;
    unsigned mask;
} channels[] = {
    {"loop", TRACE_LOOP}, {"keeper", TRACE_KEEPER}, {"session", TRACE_SESSION},
    {"wire", TRACE_WIRE}, {"slow", TRACE_SLOW},     {"all", ~0u},
};

unsigned log_trace_mask;

static struct {
    const char *who;
    int fd;
    enum log_level max;
    bool json;
} state = {"od", STDERR_FILENO, LOG_INFO, false};

void log_init(const char *who, int fd, enum log_level max, bool json)
{
    state.who = who;
    state.fd = fd;
    state.max = max;
    state.json = json;
}

void log_trace_init(const char *spec)
{
    struct str rest = str_of(spec);
    log_trace_mask = 0;
    while (rest.n > 0) {
        struct str name = str_trim(str_cut(&rest, ','));
        for (size_t i = 0; i < sizeof(channels) / sizeof(*channels); i++)
            if (str_eq(name, str_of(channels[i].name)))
                log_trace_mask |= channels[i].mask;
    }
}

int log_level_from(const char *name)
{
    for (int i = LOG_ERROR; i <= LOG_DEBUG; i++)
        if (strcmp(name, level_names[i]) == 0)
            return i;
    return -1;
}

/* A line under construction: what does not fit is left out whole. */
struct line {
    char p[PIPE_BUF];
    size_t n;
};

/* False if p does not fit. `keep` bytes stay free for the end of the line. */
static bool add(struct line *l, size_t keep, const char *p, size_t n)
{
    if (n > sizeof(l->p) - keep - l->n)
        return false;
    memcpy(l->p + l->n, p, n);
    l->n += n;
    return true;
}

static bool addz(struct line *l, size_t keep, const char *z)
{
    return add(l, keep, z, strlen(z));
}

/*
 * The character at s as it is written: itself, or an escape. Control bytes
 * would move a terminal's cursor or begin a second line; C1 ones too, which
 * some terminals obey as U+0080 to U+009F. Returns the bytes of s used up.
 */
static size_t escape(struct str s, char out[16])
{
    uint32_t cp = 0;
    int n = utf8_decode(s, &cp);
    unsigned char c = (unsigned char)s.p[0];
    if (n <= 0) { /* not text: its bytes in text, one mark in JSON */
        if (!state.json) {
            snprintf(out, 16, "\\x%02x", c);
            return 1;
        }
        snprintf(out, 16, "\\ufffd");
        return utf8_bad(s);
    }
    if (cp == '\n')
        snprintf(out, 16, "\\n");
    else if (state.json && (cp == '"' || cp == '\\'))
        snprintf(out, 16, "\\%c", (int)cp);
    else if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
        snprintf(out, 16, state.json ? "\\u%04x" : "\\x%02x", (unsigned)cp);
    else {
        memcpy(out, s.p, (size_t)n);
        out[n] = '\0';
    }
    return (size_t)n;
}

static void add_escaped(struct line *l, size_t keep, struct str s)
{
    char part[16];
    while (s.n > 0) {
        size_t used = escape(s, part);
        if (!addz(l, keep + sizeof(CUT_MARK), part)) {
            addz(l, keep, CUT_MARK);
            return;
        }
        s = str_sub(s, used, s.n);
    }
}

static void write_line(const char *level, struct str message)
{
    /* The longest end of a line is "\"}\n. */
    const size_t keep = 4;
    struct line l;
    char when[25];
    l.n = 0;
    clock_iso(clock_wall_ms(), when);
    if (state.json) {
        addz(&l, keep, "{\"time\":\"");
        addz(&l, keep, when);
        addz(&l, keep, "\",\"level\":\"");
        addz(&l, keep, level);
        addz(&l, keep, "\",\"who\":\"");
        add_escaped(&l, keep + 128, str_of(state.who));
        addz(&l, keep, "\",\"text\":\"");
        add_escaped(&l, keep, message);
        addz(&l, 0, "\"}\n");
    } else {
        addz(&l, keep, when);
        addz(&l, keep, " ");
        addz(&l, keep, level);
        addz(&l, keep, " ");
        addz(&l, keep, state.who);
        addz(&l, keep, ": ");
        add_escaped(&l, keep, message);
        addz(&l, 0, "\n");
    }
    /* One write, repeated only if it wrote nothing. */
    while (write(state.fd, l.p, l.n) < 0 && errno == EINTR)
        continue;
}

static void say(const char *level, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

static void say(const char *level, const char *fmt, va_list ap)
{
    int saved = errno;
    char message[MESSAGE_MAX];
    int n = vsnprintf(message, sizeof(message), fmt, ap);
    size_t have = n < 0 ? 0 : (size_t)n;
    if (have >= sizeof(message)) {
        struct str all = str_n(message, sizeof(message) - 1);
        have = utf8_cut(all, sizeof(message) - sizeof(CUT_MARK));
        memcpy(message + have, CUT_MARK, sizeof(CUT_MARK));
        have += sizeof(CUT_MARK) - 1;
    }
    write_line(level, str_n(message, have));
    errno = saved;
}

#define SAY(level_name) \
    do { \
        va_list ap; \
        va_start(ap, fmt); \
        say(level_name, fmt, ap); \
        va_end(ap); \
    } while (0)

void log_error(const char *fmt, ...)
{
    SAY(level_names[LOG_ERROR]);
}

void log_warn(const char *fmt, ...)
{
    if (state.max >= LOG_WARN)
        SAY(level_names[LOG_WARN]);
}

void log_info(const char *fmt, ...)
{
    if (state.max >= LOG_INFO)
        SAY(level_names[LOG_INFO]);
}

void log_debug(const char *fmt, ...)
{
    if (state.max >= LOG_DEBUG)
        SAY(level_names[LOG_DEBUG]);
}

void log_trace(const char *fmt, ...)
{
    SAY("trace");
}

void log_bug(const char *file, int line, const char *what)
{
    log_error("bug at %s:%d: %s", file, line, what);
    abort();
}
