/* SPDX-License-Identifier: MIT */
#include "cast/cast.h"

#include "t.h"

#define HEAD2 "{\"version\": 2, \"width\": 80, \"height\": 24}\n"
#define HEAD3 "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n"

/* Reads a text in pieces of n bytes. Returns how it ended; out has the events. */
static int read_in(struct str text, size_t piece, struct buf *out, struct err *e)
{
    struct cast_reader r;
    struct cast_event ev;
    int n;
    cast_reader_init(&r);
    buf_reset(out);
    while ((n = cast_next(&r, &ev, e)) > 0 || (n == 0 && !r.over)) {
        if (n > 0) {
            buf_addf(out, "%lld %c ", (long long)ev.us, ev.code);
            buf_adds(out, ev.text);
            buf_addc(out, ';');
            continue;
        }
        struct str part = str_sub(text, 0, piece);
        text = str_sub(text, part.n, text.n);
        r.over = part.n == 0;
        cast_feed(&r, part);
    }
    cast_reader_release(&r);
    return n;
}

static void reads(const char *text, int end, const char *events)
{
    struct buf out = BUF_INIT(1 << 16);
    for (size_t piece = 1; piece < 100; piece += 7) {
        struct err e = ERR_INIT;
        CHECK_INT(read_in(str_of(text), piece, &out, &e), end);
        CHECK_STR(buf_z(&out), events);
        CHECK(end == 0 || *e.text);
    }
    buf_release(&out);
}

TEST(both_versions)
{
    reads(HEAD2 "[0.5, \"o\", \"a\"]\n[2, \"i\", \"b\\u00e9\"]\n", 0,
          "500000 o a;2000000 i b\303\251;");
    reads(HEAD3 "# note\n[0.5, \"o\", \"a\"]\n\n[2, \"m\", \"\"]\n[0,\"x\",\"1\"]", 0,
          "500000 o a;2500000 m ;2500000 x 1;");
    reads(HEAD2 "[5, \"o\", \"a\"]\r\n[1, \"r\", \"9x8\"]\r\n", 0,
          "5000000 o a;5000000 r 9x8;");
    reads(HEAD2, 0, "");
}

TEST(version_1)
{
    reads("{\"version\": 1, \"width\": 80, \"height\": 24, \"stdout\": "
          "[[0.5, \"a\"], [1, \"b\\n\"]]}",
          0, "500000 o a;1500000 o b\n;");
    reads("{\n \"version\": 1,\r\n \"width\": 80, \"height\": 24,\n \"stdout\": [\n"
          "  [0.5,\n   \"a\"\n  ]\n ]\n}\n",
          0, "500000 o a;");
    reads("{\"version\": 1, \"width\": 80, \"height\": 24, \"stdout\": []}\nmore\n", 0,
          "");
    reads("{\n\"version\": 1, \"width\": 80, \"height\": 24, \"stdout\": [[1", -1, "");
    reads(
        "{\"version\": 1, \"width\": 80, \"height\": 24, \"stdout\": [[1, \"a\"], [1]]}",
        -1, "1000000 o a;");
    reads("{\"version\": 1, \"width\": 80, \"height\": 24, \"stdout\": [[\"a\", 1]]}", -1,
          "");
    reads("{\"version\": 1, \"width\": 80, \"height\": 24, \"stdout\": [7]}", -1, "");
    reads("{\"version\": 1, \"width\": 80, \"height\": 24, \"stdout\": {}}", -1, "");
}

TEST(what_is_none)
{
    static const char *const bad[] = {
        "",
        "\n",
        "x",
        "[]\n",
        "{\"version\": 1, \"stdout\": []}\n",
        "{\"version\": 4}\n",
        "{\"version\": 2}\n",
        "{\"version\": 2, \"width\": 0, \"height\": 24}\n",
        "{\"version\": 2, \"width\": 70000, \"height\": 24}\n",
        "{\"version\": 3, \"width\": 80, \"height\": 24}\n",
        "{\"version\": 2, \"width\": 80, \"height\": 24, \"title\": \"\xff\"}\n"};
    static const char *const lines[] = {"[1, \"o\"]",
                                        "[1, \"o\", 2]",
                                        "[\"1\", \"o\", \"a\"]",
                                        "[-1, \"o\", \"a\"]",
                                        "[1e300, \"o\", \"a\"]",
                                        "[1, \"oo\", \"a\"]",
                                        "[1, \"\", \"a\"]",
                                        "[1, \"\\\"\", \"a\"]",
                                        "[1, \"o\", \"a\", 2]",
                                        "{}",
                                        "null",
                                        "[1, \"o\", \"a",
                                        "[1, \"r\", \"80\"]",
                                        "[1, \"r\", \"0x0\"]",
                                        "[1, \"r\", \"80x24x1\"]",
                                        "[[[["};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        reads(bad[i], -1, "");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), HEAD2 "[0.5, \"o\", \"a\"]\n%s\n[9,\"o\",\"b\"]\n",
                 lines[i]);
        reads(text, -1, "500000 o a;");
    }
}

TEST(a_cut_file_says_so)
{
    struct buf out = BUF_INIT(1 << 16);
    struct err e = ERR_INIT;
    CHECK_INT(read_in(STR(HEAD2 "[1, \"o\", \"a\"]\n[2, \"o\", \"b"), 1000, &out, &e),
              -1);
    CHECK_STR(e.text, "line 3 is not an event: the recording was cut there");
    buf_release(&out);
}

TEST(a_line_has_a_limit)
{
    struct buf text = BUF_INIT(3 * CAST_LINE_MAX), out = BUF_INIT(1 << 16);
    struct err e = ERR_INIT;
    buf_addz(&text, HEAD2 "[1, \"o\", \"");
    while (text.n < 2 * CAST_LINE_MAX)
        buf_addz(&text,
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    CHECK_INT(read_in(buf_str(&text), CAST_FEED_MAX, &out, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    buf_release(&text);
    buf_release(&out);
}

static void writes(enum cast_format format, const char *want)
{
    struct cast_writer w;
    struct buf out = BUF_INIT(1 << 16);
    cast_begin(&w, format, 10, 3);
    cast_put(&w, &out, 1000, 'o', STR("a\303"));
    cast_put(&w, &out, 5000, 'i', STR("k"));
    cast_put(&w, &out, 12300000, 'o', STR("\251\033[1m\"\\\r\n"));
    cast_put(&w, &out, 12300000, 'm', STR("mark"));
    cast_put(&w, &out, 2, 'o', STR("\377\302"));
    cast_end(&w, &out, 13000000);
    CHECK_STR(buf_z(&out), want);
    cast_release(&w);
    buf_release(&out);
}

TEST(events_are_written)
{
    writes(CAST_V2, "[0.001, \"o\", \"a\"]\n[0.005, \"i\", \"k\"]\n"
                    "[12.3, \"o\", \"\303\251\\u001b[1m\\\"\\\\\\r\\n\"]\n"
                    "[12.3, \"m\", \"mark\"]\n[12.3, \"o\", \"\\ufffd\"]\n"
                    "[13.0, \"o\", \"\\ufffd\"]\n");
    writes(CAST_V3, "[0.001, \"o\", \"a\"]\n[0.004, \"i\", \"k\"]\n"
                    "[12.295, \"o\", \"\303\251\\u001b[1m\\\"\\\\\\r\\n\"]\n"
                    "[0.0, \"m\", \"mark\"]\n[0.0, \"o\", \"\\ufffd\"]\n"
                    "[0.7, \"o\", \"\\ufffd\"]\n");
    writes(CAST_RAW, "a\303\251\033[1m\"\\\r\n\377\302");
    writes(CAST_TXT, "a\303\251\"\\\n\357\277\275\n");
}

static void shows(const char *bytes, const char *want)
{
    struct cast_writer w;
    struct buf out = BUF_INIT(1 << 20);
    cast_begin(&w, CAST_TXT, 10, 3);
    cast_put(&w, &out, 0, 'o', str_of(bytes));
    cast_end(&w, &out, 0);
    CHECK_STR(buf_z(&out), want);
    cast_release(&w);
    buf_release(&out);
}

TEST(text_is_what_the_screen_showed)
{
    shows("", "");
    shows("one\r\n\r\ntwo  \r\n\r\n\r\n", "one\n\ntwo\n");
    shows("1\r\n2\r\n3\r\n4\r\n5\r\n6", "1\n2\n3\n4\n5\n6\n");
    shows("12345\rab", "ab345\n");
    shows("0123456789abc\r\n\033[31mred\033[m", "0123456789abc\nred\n");
}

TEST(headers)
{
    struct buf out = BUF_INIT(1 << 16);
    struct cast_header h = {.cols = 80,
                            .rows = 24,
                            .timestamp = 7,
                            .idle = STR("2.0"),
                            .title = STR("\"T\""),
                            .env = STR("{}"),
                            .type = STR("\"x\"")};
    cast_put_header(&out, CAST_V2, &h);
    cast_put_header(&out, CAST_V3, &h);
    cast_put_header(&out, CAST_RAW, &h);
    CHECK_STR(buf_z(&out),
              "{\"version\": 2, \"width\": 80, \"height\": 24, \"timestamp\": 7, "
              "\"idle_time_limit\": 2.0, \"env\": {}, \"title\": \"T\"}\n"
              "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24,\"type\":\"x\"},"
              "\"timestamp\":7,\"idle_time_limit\":2.0,\"title\":\"T\",\"env\":{}}\n");
    buf_release(&out);
}

T_MAIN
