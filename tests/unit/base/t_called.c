/* SPDX-License-Identifier: MIT */
/* The names of commands in hints and messages, by how the process was called. */
#include "base/called.h"

#include "t.h"

#include <unistd.h>

static char whole[4 * CALLED_MAX];

static const char *all(void)
{
    snprintf(whole, sizeof(whole), "%s|%s|%s|%s", called_name(), called("exec").z,
             called_help("exec").z, called("serve").z);
    return whole;
}

TEST(unset_is_od) { CHECK_STR(all(), "od|od exec|od help exec|od serve"); }

TEST(by_a_word)
{
    called_set(CALLED_OD, "od", "exec");
    CHECK_STR(all(), "od exec|od exec|od help exec|od serve");
    called_set(CALLED_OD, "/opt/x/od-agent", "exec");
    CHECK_STR(all(), "od-agent exec|/opt/x/od-agent exec|/opt/x/od-agent help exec|"
                     "/opt/x/od-agent serve");
    CHECK_STR(called_start(), "od-agent ");
}

TEST(by_a_link)
{
    called_set(CALLED_LINK, "od-exec", "exec");
    CHECK_STR(all(), "od-exec|od-exec|od-exec --help|od-serve");
    called_set(CALLED_LINK, "./bin/od-exec", "exec");
    CHECK_STR(all(), "od-exec|./bin/od-exec|./bin/od-exec --help|./bin/od-serve");
    CHECK_STR(called_start(), "od-");
}

TEST(by_a_name_of_its_own)
{
    called_set(CALLED_OWN, "/usr/bin/execute_cli", "jupyter-bridge");
    CHECK_STR(all(), "execute_cli|od exec|od exec --help|od serve");
    CHECK_STR(called("jupyter-bridge").z, "/usr/bin/execute_cli");
}

TEST(quoted_where_a_shell_wants_it)
{
    called_set(CALLED_OD, "/my dir/it's/od", "exec");
    CHECK_STR(called("exec").z, "'/my dir/it'\\''s/od' exec");
    CHECK_STR(called_name(), "od exec");
    called_set(CALLED_LINK, "/my dir/od-exec", "exec");
    CHECK_STR(called("exec").z, "'/my dir/od-exec'");
}

TEST(what_cannot_be_typed_is_od)
{
    char lengthy[4096];
    memset(lengthy, 'x', sizeof(lengthy) - 1);
    lengthy[sizeof(lengthy) - 1] = 0;
    const char *const bad[] = {NULL, "", "/a\nb/od", "/\377/od", lengthy};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        called_set(CALLED_LINK, bad[i], "exec");
        CHECK_STR(all(), "od exec|od exec|od help exec|od serve");
    }
}

/* What standard error got, in memory of its own until the next call. */
static const char *said(void (*write)(const char *format, ...), const char *text)
{
    static char got[600];
    FILE *to = tmpfile();
    fflush(stderr);
    int was = dup(STDERR_FILENO);
    dup2(fileno(to), STDERR_FILENO);
    write("%s\n", text);
    fflush(stderr);
    dup2(was, STDERR_FILENO);
    close(was);
    rewind(to);
    got[fread(got, 1, sizeof(got) - 1, to)] = 0;
    fclose(to);
    return got;
}

TEST(nothing_moves_a_terminal)
{
    called_set(CALLED_OD, "od", "exec");
    CHECK_STR(said(called_say, "a\tb\nc"), "od exec: a\tb\nc\n");
    CHECK_STR(said(called_say, "\033[31m\a\r\x7f"),
              "od exec: \\x1b[31m\\x07\\x0d\\x7f\n");
    CHECK_STR(said(called_add, "\xc2\x9b"
                               "2J \xc2\x80 \xc2\xa0"),
              "\\x9b2J \\x80 \xc2\xa0\n");
    CHECK_STR(said(called_add, "\x9b"
                               "2J\xff\xc3"),
              "\\x9b2J\\xff\\xc3\n");
    CHECK_STR(said(called_add, "h\xc3\xa9 \xf0\x9f\x98\x80"),
              "h\xc3\xa9 \xf0\x9f\x98\x80\n");
}

T_MAIN
