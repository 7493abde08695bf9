/* SPDX-License-Identifier: MIT */
/* Results as exit statuses, sentences and a table. */
#include "ipc/answer.h"

#include "t.h"

static struct json *of(const char *text)
{
    struct json *j = json_parse(str_of(text), NULL);
    CHECK(j != NULL);
    return j;
}

static int status(const char *text)
{
    struct json *j = of(text);
    int s = answer_exit(j);
    json_free(j);
    return s;
}

static const char *words(const char *text, const char *command)
{
    static struct buf out = BUF_INIT(4096);
    struct json *j = of(text);
    buf_reset(&out);
    answer_words(&out, j, command);
    json_free(j);
    return buf_z(&out);
}

static const char *option(const char *text)
{
    static struct buf out = BUF_INIT(4096);
    struct json *j = of(text);
    buf_reset(&out);
    answer_option(&out, j);
    json_free(j);
    return buf_z(&out);
}

TEST(exit_statuses)
{
    CHECK_INT(status("{\"ok\":true,\"state\":\"ended\",\"exit\":0}"), 0);
    CHECK_INT(status("{\"ok\":true,\"state\":\"ended\",\"exit\":7}"), 7);
    CHECK_INT(status("{\"ok\":true,\"state\":\"ended\",\"exit\":137,\"signal\":9}"), 137);
    CHECK_INT(status("{\"ok\":true,\"state\":\"shell_ended\",\"exit\":3}"), 3);
    CHECK_INT(status("{\"ok\":true,\"state\":\"running\",\"why\":\"timeout\"}"), 124);
    CHECK_INT(status("{\"ok\":true,\"state\":\"running\",\"why\":\"idle\"}"), 124);
    CHECK_INT(status("{\"ok\":true,\"state\":\"running\",\"why\":\"input\"}"), 124);
    CHECK_INT(status("{\"ok\":true,\"state\":\"running\",\"why\":\"detached\"}"), 0);
    CHECK_INT(status("{\"ok\":true,\"state\":\"none\"}"), 0);
    CHECK_INT(status("{\"ok\":true}"), 0);
    /* An end without a status is no success. */
    CHECK_INT(status("{\"ok\":true,\"state\":\"ended\"}"), 125);
    CHECK_INT(status("{\"ok\":false,\"error\":{\"code\":\"BUSY\",\"text\":\"x\"}}"), 125);
    CHECK_INT(status("{\"ok\":false,\"error\":{\"code\":\"TIMEOUT\"}}"), 124);
    CHECK_INT(status("{\"ok\":false,\"error\":{\"code\":\"NOTFOUND\",\"exit\":127}}"), 127);
    CHECK_INT(status("{}"), 125);
}

TEST(silent_when_there_is_nothing_to_say)
{
    CHECK_STR(words("{\"ok\":true,\"state\":\"ended\",\"exit\":7}", "od exec"), "");
    CHECK_STR(words("{\"ok\":true,\"state\":\"running\",\"why\":\"detached\"}", "od exec"), "");
    CHECK_STR(words("{\"ok\":true}", "od exec"), "");
}

TEST(what_goes_on_is_said_with_the_way_on)
{
    CHECK_STR(words("{\"ok\":true,\"state\":\"running\",\"why\":\"timeout\","
                    "\"duration_ms\":2000,\"session\":\"main\"}", "od exec"),
              "still running after 2 s, the time limit has passed; wait on: "
              "od exec --wait");
    CHECK_STR(words("{\"ok\":true,\"state\":\"running\",\"why\":\"idle\","
                    "\"duration_ms\":1530,\"session\":\"a\"}", "od-exec --socket '/tmp/my sock'"),
              "still running after 1.5 s, with no new output; wait on: "
              "od-exec --socket '/tmp/my sock' -s a --wait");
    CHECK_STR(words("{\"ok\":true,\"state\":\"running\",\"why\":\"timeout\","
                    "\"process\":\"p1\"}", "od exec"),
              "still running, the time limit has passed; wait on: od exec -p p1 --wait");
    CHECK_STR(words("{\"ok\":true,\"state\":\"running\",\"why\":\"input\",\"session\":\"main\","
                    "\"waiting\":{\"comm\":\"apt\",\"how\":\"read of the terminal\"}}", "od exec"),
              "apt waits for input (read of the terminal); answer it: "
              "od exec --input TEXT --wait");
    CHECK_STR(words("{\"ok\":true,\"state\":\"running\",\"why\":\"timeout\",\"session\":\"main\","
                    "\"duration_ms\":2000,\"waiting\":{\"state\":\"probably\",\"comm\":\"vi\"},"
                    "\"full_screen\":true}", "od exec"),
              "still running after 2 s, the time limit has passed: vi probably waits for "
              "input; answer it: od exec --key KEYS --wait");
    CHECK_STR(words("{\"ok\":true,\"state\":\"running\",\"why\":\"timeout\",\"session\":\"main\","
                    "\"waiting\":{\"state\":\"unknown\"},\"full_screen\":true}", "od exec"),
              "still running, the time limit has passed; it uses the whole screen, and may "
              "take keys: od exec --key KEYS --wait");
    CHECK_STR(words("{\"ok\":true,\"state\":\"running\",\"why\":\"timeout\","
                    "\"waiting\":{\"state\":\"no\"},\"full_screen\":true}", "od exec"),
              "still running, the time limit has passed; wait on: od exec --wait");
    CHECK_STR(words("{\"ok\":true,\"state\":\"running\",\"why\":\"timeout\","
                    "\"session\":\"it's\"}", "od exec"),
              "still running, the time limit has passed; wait on: "
              "od exec -s 'it'\\''s' --wait");
}

TEST(ends_and_refusals)
{
    CHECK_STR(words("{\"ok\":true,\"state\":\"shell_ended\",\"session\":\"s\",\"exit\":3}",
                    "od exec"),
              "the shell of session s has ended with status 3; the next command gets a "
              "fresh one");
    CHECK_STR(words("{\"ok\":false,\"error\":{\"code\":\"BUSY\",\"text\":\"busy with x\"}}",
                    "od exec"),
              "busy with x");
    CHECK(words("{\"ok\":false}", "od exec")[0] != '\0');
    CHECK_STR(words("{\"ok\":true,\"state\":\"none\",\"session\":\"s\"}", "od exec"),
              "nothing is running in session s");
}

TEST(options_that_find_a_command_again)
{
    CHECK_STR(option("{\"session\":\"main\",\"op\":12}"), "-s main");
    CHECK_STR(option("{\"session\":\"a b\"}"), "-s 'a b'");
    CHECK_STR(option("{\"process\":\"p3\",\"op\":12}"), "-p p3");
}

TEST(notes_that_need_no_words)
{
    struct buf out = BUF_INIT(4096);
    struct json *started = of("{\"note\":\"started\",\"op\":1}");
    struct json *queued = of("{\"note\":\"queued\",\"text\":\"behind make\"}");
    struct json *bare = of("{\"note\":\"odd\"}");
    answer_note(&out, started);
    CHECK_INT(out.n, 0);
    answer_note(&out, queued);
    CHECK_STR(buf_z(&out), "behind make");
    buf_reset(&out);
    answer_note(&out, bare);
    CHECK_STR(buf_z(&out), "odd");
    json_free(started);
    json_free(queued);
    json_free(bare);
    buf_release(&out);
}

TEST(table)
{
    struct buf out = BUF_INIT(65536);
    struct json *empty = of("{\"ok\":true,\"sessions\":[],\"processes\":[]}");
    answer_table(&out, empty);
    CHECK_INT(out.n, 0);
    struct json *j = of(
        "{\"sessions\":[{\"name\":\"main\",\"shell\":\"/bin/bash\",\"state\":\"running\","
        "\"running_ms\":75000,\"command\":\"make\\t-j8\\nsecond line\",\"cwd\":\"/\xc3\xbc\","
        "\"attached\":2},{\"name\":\"x\",\"shell\":\"bash\",\"state\":\"idle\",\"cwd\":\"/\"}],"
        "\"processes\":[{\"name\":\"p1\",\"state\":\"ended\",\"exit\":3,"
        "\"running_ms\":7260000,\"command\":\"server\"}]}");
    answer_table(&out, j);
    CHECK_STR(buf_z(&out),
              "NAME  KIND     STATE    SINCE  USERS  DIRECTORY  COMMAND\n"
              "main  bash     running  1m15s  2      /\xc3\xbc         make -j8...\n"
              "x     bash     idle     -      0      /\n"
              "p1    process  ended 3  2h01m  0      -          server\n");
    json_free(empty);
    json_free(j);
    buf_release(&out);
}

TEST(long_cells_are_cut_between_characters)
{
    struct buf out = BUF_INIT(65536), text = BUF_INIT(65536);
    buf_addz(&text, "{\"sessions\":[{\"name\":\"m\",\"command\":\"");
    for (int i = 0; i < 500; i++)
        buf_addz(&text, "\xe6\xbc\xa2\xcc\x81"); /* wide, and a combining mark */
    buf_addz(&text, "\"}]}");
    struct json *j = of(buf_z(&text));
    answer_table(&out, j);
    CHECK(strstr(buf_z(&out), "...\n") != NULL);
    CHECK(out.n < 1000);
    json_free(j);
    buf_release(&out);
    buf_release(&text);
}

T_MAIN
