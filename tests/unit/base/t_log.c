/* SPDX-License-Identifier: MIT */
/*
 * The log: one line an entry whatever is in it, levels and channels, lines that
 * do not mix, and the two ends of a process that it announces.
 */
#include "base/log.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/xalloc.h"

#include <fcntl.h>
#include <limits.h>

#include "t.h"

static char out[1 << 16];

static int lines(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += *s == '\n';
    return n;
}

/* Without what an emulator says of a program's end. */
static int own_lines(void)
{
    int n = lines(out);
    for (const char *at = out; (at = strstr(at, "qemu: ")); at++)
        n -= at == out || at[-1] == '\n';
    return n;
}

static bool has(const char *what)
{
    return strstr(out, what) != NULL;
}

static void say_levels(void)
{
    log_init("worker", 2, LOG_INFO, false);
    log_error("e%d", 1);
    log_warn("w%d", 2);
    log_info("i%d", 3);
    log_debug("d%d", 4);
}

TEST(levels_up_to_the_chosen_one)
{
    CHECK_INT(t_stderr(say_levels, out, sizeof(out)), 0);
    CHECK_INT(lines(out), 3);
    CHECK(has("Z error worker: e1\n") && has("Z warn worker: w2\n") &&
          has("Z info worker: i3\n"));
    /* 2026-01-02T03:04:05.678Z */
    CHECK(out[4] == '-' && out[10] == 'T' && out[19] == '.' && out[23] == 'Z');
    CHECK_INT(log_level_from("warn"), LOG_WARN);
    CHECK_INT(log_level_from("debug"), LOG_DEBUG);
    CHECK_INT(log_level_from("loud"), -1);
    CHECK_INT(log_level_from(""), -1);
}

static void say_forgery(void)
{
    log_init("worker", 2, LOG_INFO, false);
    log_info("%s", "a\n2026 info keeper: forged\r\x1b[2J\t\x7f\xc2\x9b" "2J");
    log_info("%s", "bad \xff\xe2\x82 good \xe2\x82\xac\xc3\xa9");
    log_info("%s", "");
}

TEST(a_message_cannot_forge_a_line_or_move_a_cursor)
{
    CHECK_INT(t_stderr(say_forgery, out, sizeof(out)), 0);
    CHECK_INT(lines(out), 3);
    CHECK(has(": a\\n2026 info keeper: forged\\x0d\\x1b[2J\\x09\\x7f\\x9b2J\n"));
    CHECK(has(": bad \\xff\\xe2\\x82 good \xe2\x82\xac\xc3\xa9\n"));
    for (const char *p = out; *p; p++)
        CHECK(*p == '\n' || (unsigned char)*p >= 0x20);
}

static void say_json(void)
{
    log_init("keeper", 2, LOG_DEBUG, true);
    log_debug("%s", "quote \" slash \\ line\n esc \x1b bad \xff "
                    "euro \xe2\x82\xac c1 \xc2\x85");
}

TEST(json_lines_are_json)
{
    CHECK_INT(t_stderr(say_json, out, sizeof(out)), 0);
    CHECK_INT(lines(out), 1);
    struct err e = ERR_INIT;
    struct json *j = json_parse(str_of(out), &e);
    if (!j)
        T_FAIL("%s: %s", e.text, out);
    CHECK(str_eq(json_str(j, "level", ""), STR("debug")));
    CHECK(str_eq(json_str(j, "who", ""), STR("keeper")));
    CHECK_INT(json_str(j, "time", "").n, 24);
    CHECK_STR(json_str(j, "text", "").p,
              "quote \" slash \\ line\n esc \x1b bad \xef\xbf\xbd "
              "euro \xe2\x82\xac c1 \xc2\x85");
    json_free(j);
}

static char flood[20001];

static void say_flood(void)
{
    log_init("w", 2, LOG_INFO, false);
    log_info("%s", flood);
    log_init("w", 2, LOG_INFO, true);
    log_info("%s", flood);
}

/* Also when each byte becomes six, and a character lies across every cut. */
TEST(a_long_message_is_cut_and_the_line_is_atomic)
{
    static const char *const fill[] = {
        "a", "\x01", "\"", "\xe2\x82\xac", "x\xe2\x82\xac",
    };
    for (size_t f = 0; f < sizeof(fill) / sizeof(*fill); f++) {
        size_t step = strlen(fill[f]);
        for (size_t at = 0; at + step < sizeof(flood); at += step)
            memcpy(flood + at, fill[f], step + 1);
        CHECK_INT(t_stderr(say_flood, out, sizeof(out)), 0);
        CHECK_INT(lines(out), 2);
        CHECK(utf8_valid(str_of(out)));
        char *second = strchr(out, '\n') + 1;
        CHECK(second - out <= PIPE_BUF && second - out > 2000);
        CHECK(strlen(second) <= PIPE_BUF);
        CHECK(strncmp(second - 4, "...\n", 4) == 0);
        struct json *j = json_parse(str_of(second), NULL);
        CHECK(j && str_ends(json_str(j, "text", ""), STR("...")));
        json_free(j);
    }
}

static void say_traces(void)
{
    log_init("w", 2, LOG_ERROR, false);
    TRACE(TRACE_LOOP, "off by default");
    log_trace_init("session, keeper,nonsense");
    TRACE(TRACE_SESSION, "s%d", 1);
    TRACE(TRACE_KEEPER, "k");
    TRACE(TRACE_WIRE, "not this");
    log_trace_init("all");
    TRACE(TRACE_SLOW, "now this");
    log_trace_init("");
    TRACE(TRACE_SLOW, "not this");
    log_trace_init(NULL);
    TRACE(TRACE_SLOW, "not this");
}

TEST(trace_channels)
{
    CHECK_INT(t_stderr(say_traces, out, sizeof(out)), 0);
    CHECK_INT(lines(out), 3);
    CHECK(has("trace w: s1\n") && has("trace w: k\n") && has("trace w: now this\n"));
}

static void keep_errno(void)
{
    log_init("w", 2, LOG_INFO, false);
    errno = ENOTTY;
    log_info("to a pipe");
    if (errno != ENOTTY)
        _exit(3);
    log_init("w", -1, LOG_INFO, false);
    log_error("to nowhere");
    if (errno != ENOTTY)
        _exit(4);
}

TEST(errno_is_kept_and_a_failing_write_ignored)
{
    CHECK_INT(t_stderr(keep_errno, out, sizeof(out)), 0);
}

/* A full pipe nobody reads: the entry is lost, the process goes on. */
TEST(a_full_descriptor_does_not_block)
{
    int fds[2];
    char block[4096] = {0};
    CHECK(pipe(fds) == 0);
    CHECK(fcntl(fds[1], F_SETFL, O_NONBLOCK) == 0);
    while (write(fds[1], block, sizeof(block)) > 0)
        continue;
    log_init("w", fds[1], LOG_INFO, false);
    log_info("lost");
}

static void hit_bug(void)
{
    int one = 1;
    BUG_ON(one == 2);
    BUG_ON(one == 1);
}

TEST(a_bug_says_where_and_aborts)
{
    int status = t_stderr(hit_bug, out, sizeof(out));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK_INT(own_lines(), 1);
    CHECK(has("t_log.c:") && has(": one == 1\n"));
}

static void ask_too_much(void)
{
    xcalloc(SIZE_MAX / 2, 3);
}

static void copy_too_much(void)
{
    xstrndup("", SIZE_MAX);
}

static void grow_too_much(void)
{
    char *p = xstrdup("small");
    xrealloc(p, SIZE_MAX / 8, 16);
}

TEST(no_memory_is_one_line_and_an_abort)
{
    void (*const tries[])(void) = {ask_too_much, copy_too_much, grow_too_much};
    for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
        int status = t_stderr(tries[i], out, sizeof(out));
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        CHECK_INT(own_lines(), 1);
        CHECK(has("out of memory"));
    }
}

TEST(allocation_that_returned_has_worked)
{
    char *z = xcalloc(0, 8);
    CHECK(z);
    z = xrealloc(z, 0, 0);
    CHECK(z);
    free(z);
    z = xstrndup("abcdef", 3);
    CHECK_STR(z, "abc");
    free(z);
    z = xstrndup(NULL, 0);
    CHECK_STR(z, "");
    free(z);
    int *v = xcalloc(10, sizeof(*v));
    for (int i = 0; i < 10; i++)
        CHECK_INT(v[i], 0);
    free(v);
}

T_MAIN
