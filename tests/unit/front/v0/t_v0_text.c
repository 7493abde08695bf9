/* SPDX-License-Identifier: MIT */
/*
 * The words of V0, each against OpenHands', and the arithmetic of floats
 * and of cutting by characters.
 */
#include "front/v0/text.h"

#include "base/json.h"
#include "base/utf8.h"

#include "t.h"

#include <math.h>

/* Equal parts on both sides of the line of 47: one character is left over. */
#define CUT_TO (V0_CONTENT_MAX - 1)

static struct buf out;

static const char *fresh(int rc)
{
    CHECK_INT(rc, 0);
    return buf_z(&out);
}

static void begin(void)
{
    buf_release(&out);
    buf_init(&out, SIZE_MAX);
}

#define CHECK_TEXT(call, want) \
    do { \
        begin(); \
        CHECK_STR(fresh(call), want); \
        buf_release(&out); \
    } while (0)

#define HINT \
    "You may wait longer to see additional output by sending empty command '', send " \
    "other commands to interact with the current process, send keys (\"C-c\", \"C-z\", " \
    "\"C-d\") to interrupt/kill the previous command before sending your new command, " \
    "or " \
    "use the timeout parameter in execute_bash for future commands."

TEST(sentences)
{
    CHECK_TEXT(v0_suffix_completed(&out, 0, 0),
               "\n[The command completed with exit code 0.]");
    CHECK_TEXT(v0_suffix_completed(&out, 130, 'C'),
               "\n[The command completed with exit code 130. CTRL+C was sent.]");
    CHECK_TEXT(v0_suffix_no_change(&out, 10),
               "\n[The command has no new output after 10 seconds. " HINT "]");
    CHECK_TEXT(v0_suffix_timed_out(&out, 2.5),
               "\n[The command timed out after 2.5 seconds. " HINT "]");
    CHECK_TEXT(v0_suffix_timed_out(&out, 1),
               "\n[The command timed out after 1.0 seconds. " HINT "]");
    CHECK_TEXT(
        v0_suffix_refused(&out, STR("sleep \"15\"")),
        "\n[Your command \"sleep \"15\"\" is NOT executed. The previous command is "
        "still running - You CANNOT send new commands until the previous command is "
        "completed. By setting `is_input` to `true`, you can interact with the "
        "current process: " HINT "]");
    CHECK_TEXT(v0_prefix_truncated(&out, 10500),
               "[Previous command outputs are truncated. Showing the last 10500 lines of "
               "the output below.]\n");
    CHECK_STR(v0_prefix_below.p, "[Below is the output of the previous command.]\n");
    CHECK_STR(v0_no_command.p,
              "ERROR: No previous running command to retrieve logs from.");
    CHECK_STR(v0_no_program.p, "ERROR: No previous running command to interact with.");
    CHECK_INT(v0_hint.n, strlen(HINT));
}

TEST(several_commands_are_listed)
{
    struct v0_piece p[] = {{STR("echo a\n# why\n")},
                           {STR("for i in 1 2\ndo ls\ndone\n\n")}};
    CHECK_TEXT(
        v0_refuse_commands(&out, p, 2, 2),
        "ERROR: Cannot execute multiple commands at once.\n"
        "Please run each command separately OR chain them into a single command via "
        "&& or ;\nProvided commands:\n(1) echo a\n# why\n(2) for i in 1 2\ndo ls\n"
        "done");
    begin();
    CHECK(strstr(fresh(v0_refuse_commands(&out, p, 2, 9)), "done\n(and 7 more)"));
    static char big[100000];
    memset(big, 'x', sizeof(big));
    p[0].text = str_n(big, sizeof(big));
    begin();
    CHECK(strstr(fresh(v0_refuse_commands(&out, p, 2, 2)), "truncated due to length"));
    CHECK_INT(out.n, CUT_TO);
    buf_release(&out);
}

TEST(floats_as_python_writes_them)
{
    static const struct {
        double v;
        const char *want;
    } cases[] = {
        {0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {-1, "-1.0"},
        {2.5, "2.5"},
        {120, "120.0"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {100, "100.0"},
        {1234.5, "1234.5"},
        {0.001, "0.001"},
        {0.0001, "0.0001"},
        {0.00012, "0.00012"},
        {0.00001, "1e-05"},
        {0.000012, "1.2e-05"},
        {123456789012345.6, "123456789012345.6"},
        {1e15, "1000000000000000.0"},
        {9007199254740993.0, "9007199254740992.0"},
        {1e16, "1e+16"},
        {1.5e16, "1.5e+16"},
        {12345678901234567890.0, "1.2345678901234567e+19"},
        {1e22, "1e+22"},
        {1e23, "1e+23"},
        {1e100, "1e+100"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK_TEXT(v0_float(&out, cases[i].v), cases[i].want);
}

/* Whatever it is, it reads back as the same, and no shorter text does. */
TEST(floats_read_back)
{
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 3000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        double v;
        memcpy(&v, &x, sizeof(v));
        if (!isfinite(v))
            continue;
        begin();
        double back = strtod(fresh(v0_float(&out, v)), NULL);
        CHECK(memcmp(&back, &v, sizeof(v)) == 0);
        buf_release(&out);
    }
}

/* n times a character; the memory is the test's. */
static struct str repeat(struct buf *b, const char *ch, size_t n)
{
    buf_init(b, SIZE_MAX);
    for (size_t i = 0; i < n; i++)
        buf_addz(b, ch);
    return buf_str(b);
}

static size_t characters(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

TEST(thirty_thousand_characters_and_no_more)
{
    static const char *const chars[] = {"x", "\xc3\xa9", "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < 4; i++) {
        struct buf b;
        struct str whole = repeat(&b, chars[i], V0_CONTENT_MAX);
        begin();
        fresh(v0_truncate(&out, whole));
        CHECK(str_eq(buf_str(&out), whole));
        buf_release(&b);

        struct str more = repeat(&b, chars[i], V0_CONTENT_MAX + 1);
        begin();
        fresh(v0_truncate(&out, more));
        struct str got = buf_str(&out);
        CHECK(utf8_valid(got));
        CHECK_INT(characters(got), CUT_TO);
        long line = str_find(got,
                             STR("\n[... Observation truncated due to length ...]\n"));
        CHECK(line > 0);
        size_t head = (size_t)line, tail = got.n - head - 47;
        CHECK_INT(head, tail);
        CHECK(memcmp(got.p, more.p, head) == 0);
        CHECK(memcmp(got.p + got.n - tail, more.p + more.n - tail, tail) == 0);
        buf_release(&b);
        buf_release(&out);
    }
}

/* Bytes that are no text count as what stands for them in JSON. */
TEST(cutting_what_is_not_utf8)
{
    static const char *const broken[] = {"\xff", "\xe2\x82", "\x80", "\xf0\x9f\x98"};
    for (size_t i = 0; i < 4; i++) {
        struct buf b, repaired = BUF_INIT(SIZE_MAX);
        struct str s = repeat(&b, broken[i], 50000);
        begin();
        fresh(v0_truncate(&out, s));
        CHECK_INT(utf8_repair(&repaired, buf_str(&out), true), 0);
        CHECK_INT(characters(buf_str(&repaired)), CUT_TO);
        buf_release(&b);
        buf_release(&repaired);
        buf_release(&out);
    }
}

TEST(special_keys)
{
    char byte = 0, letter = 0;
    CHECK(v0_special_key(STR("C-c"), &byte, &letter));
    CHECK_INT(byte, 3);
    CHECK_INT(letter, 'C');
    CHECK(v0_special_key(STR("C-Z"), &byte, &letter));
    CHECK_INT(byte, 26);
    CHECK_INT(letter, 'Z');
    CHECK(v0_special_key(STR("C-\\"), &byte, &letter));
    CHECK_INT(byte, 28);
    CHECK_INT(letter, '\\');
    CHECK(v0_special_key(STR("C-?"), &byte, &letter));
    CHECK_INT(byte, 127);
    CHECK(!v0_special_key(STR("C-"), &byte, &letter));
    CHECK(!v0_special_key(STR("C-cc"), &byte, &letter));
    CHECK(!v0_special_key(STR("c-c"), &byte, &letter));
    CHECK(!v0_special_key(STR("C-\xc3\xa9"), &byte, &letter));
    CHECK(!v0_special_key(STR("C-\xc3"), &byte, &letter));
    CHECK(!v0_special_key(STR("C-\n"), &byte, &letter));
    CHECK(!v0_special_key(STR(""), &byte, &letter));
}

TEST(keys_with_names)
{
    CHECK_STR(v0_key(STR("Up"), false).p, "\033[A");
    CHECK_STR(v0_key(STR("up"), true).p, "\033OA");
    CHECK_STR(v0_key(STR("Enter"), true).p, "\r");
    CHECK_STR(v0_key(STR("BSPACE"), false).p, "\177");
    CHECK_STR(v0_key(STR("F12"), false).p, "\033[24~");
    CHECK_STR(v0_key(STR("PgDn"), false).p, "\033[6~");
    CHECK_INT(v0_key(STR("Upp"), false).n, 0);
    CHECK_INT(v0_key(STR("U"), false).n, 0);
    CHECK_INT(v0_key(STR(""), false).n, 0);
    CHECK_INT(v0_key(str_n(NULL, 0), false).n, 0);
}

static const struct v0_metadata make_failed = {
    .exit_code = 2,
    .pid = -1,
    .username = {"openhands", 9},
    .hostname = {"box", 3},
    .working_dir = {"/workspace/p", 12},
    .py_interpreter_path = {"/usr/bin/python", 15},
    .suffix = {"\n[The command completed with exit code 2.]", 42},
};

TEST(a_run_that_ended)
{
    CHECK_TEXT(
        v0_put_run(&out, STR("make"), STR("cc -c a.c\na.c:1: error"), false,
                   &make_failed),
        "{\"message\": \"Command `make` executed with exit code 2.\", \"observation\": "
        "\"run\", \"content\": \"cc -c a.c\\na.c:1: error\", \"success\": false, "
        "\"extras\": {\"command\": \"make\", \"hidden\": false, \"metadata\": {"
        "\"exit_code\": 2, \"pid\": -1, \"username\": \"openhands\", \"hostname\": "
        "\"box\", "
        "\"working_dir\": \"/workspace/p\", \"py_interpreter_path\": "
        "\"/usr/bin/python\", "
        "\"prefix\": \"\", \"suffix\": \"\\n[The command completed with exit code "
        "2.]\"}}}");
}

TEST(a_run_of_which_nothing_is_known)
{
    struct v0_metadata m = {.exit_code = -1, .pid = -1};
    CHECK_TEXT(
        v0_put_run(&out, str_n(NULL, 0), str_n(NULL, 0), true, &m),
        "{\"message\": \"Command `` executed with exit code -1.\", \"observation\": "
        "\"run\", \"content\": \"\", \"success\": false, \"extras\": {\"command\": "
        "\"\", \"hidden\": true, \"metadata\": {\"exit_code\": -1, \"pid\": -1, "
        "\"username\": null, \"hostname\": null, \"working_dir\": null, "
        "\"py_interpreter_path\": null, \"prefix\": \"\", \"suffix\": \"\"}}}");
}

TEST(files_and_errors)
{
    CHECK_TEXT(v0_put_read(&out, STR("/workspace/a.txt"), false, STR("one\ntwo\n")),
               "{\"message\": \"I read the file /workspace/a.txt.\", \"observation\": "
               "\"read\", \"content\": \"one\\ntwo\\n\", \"extras\": {\"path\": "
               "\"/workspace/a.txt\", \"impl_source\": \"default\"}}");
    begin();
    CHECK(strstr(fresh(v0_put_read(&out, STR("p"), true, STR(""))), "\"oh_aci\"}}"));
    CHECK_TEXT(
        v0_put_write(&out, STR("/workspace/a.txt")),
        "{\"message\": \"I wrote to the file /workspace/a.txt.\", \"observation\": "
        "\"write\", \"content\": \"\", \"extras\": {\"path\": "
        "\"/workspace/a.txt\"}}");
    CHECK_TEXT(v0_put_error_observation(&out, STR("File not found: x")),
               "{\"message\": \"File not found: x\", \"observation\": \"error\", "
               "\"content\": \"File not found: x\", \"extras\": {\"error_id\": \"\"}}");
    CHECK_TEXT(v0_put_error(&out, 500, STR("Internal server error: \"x\"")),
               "{\"detail\": \"Internal server error: \\\"x\\\"\"}");
    CHECK_TEXT(v0_put_error(&out, 422, STR("[{}]")),
               "{\"detail\": \"Invalid request parameters\", \"errors\": \"[{}]\"}");
}

/* Any bytes make JSON that parses, with the same strings where they are text. */
TEST(bytes_of_every_kind_make_json)
{
    static const char text[] = "a\"\\\n\t\x01\x7f\xff\xe2\x82 \xe2\x82\xac`$(x)\0end";
    struct str s = STR(text);
    struct buf repaired = BUF_INIT(1000);
    utf8_repair(&repaired, s, true);
    struct v0_metadata m = {.username = s, .working_dir = s, .prefix = s, .suffix = s};
    begin();
    fresh(v0_put_run(&out, s, s, false, &m));
    struct json *j = json_parse(buf_str(&out), NULL);
    CHECK(j);
    CHECK(str_eq(json_str(j, "content", ""), buf_str(&repaired)));
    const struct json *extras = json_get(j, "extras");
    CHECK(str_eq(json_str(extras, "command", ""), buf_str(&repaired)));
    CHECK(
        str_eq(json_str(json_get(extras, "metadata"), "suffix", ""), buf_str(&repaired)));
    CHECK(str_starts(json_str(j, "message", ""), STR("Command `a\"")));
    CHECK(json_bool(j, "success", false));
    json_free(j);
    buf_release(&repaired);
    buf_release(&out);
}

/* A full buffer is left as it was, whichever step it stops at. */
TEST(no_half_answers)
{
    for (size_t max = 0; max < 700; max++) {
        struct v0_piece p = {STR("ls")};
        struct buf b = BUF_INIT(max + 4);
        buf_addz(&b, "keep");
        if (v0_put_run(&b, STR("make"), STR("text"), false, &make_failed) < 0)
            CHECK_STR(b.p, "keep");
        else
            buf_truncate(&b, 4);
        if (v0_put_read(&b, STR("make"), false, STR("text")) < 0)
            CHECK_STR(b.p, "keep");
        else
            buf_truncate(&b, 4);
        if (v0_put_write(&b, STR("make")) < 0)
            CHECK_STR(b.p, "keep");
        else
            buf_truncate(&b, 4);
        if (v0_put_error_observation(&b, STR("make")) < 0)
            CHECK_STR(b.p, "keep");
        else
            buf_truncate(&b, 4);
        if (v0_put_error(&b, 422, STR("make")) < 0)
            CHECK_STR(b.p, "keep");
        else
            buf_truncate(&b, 4);
        if (v0_suffix_refused(&b, STR("make")) < 0)
            CHECK_STR(b.p, "keep");
        else
            buf_truncate(&b, 4);
        if (v0_suffix_timed_out(&b, 1.5) < 0)
            CHECK_STR(b.p, "keep");
        else
            buf_truncate(&b, 4);
        if (v0_refuse_commands(&b, &p, 1, 1) < 0)
            CHECK_STR(b.p, "keep");
        buf_release(&b);
    }
}

T_MAIN
