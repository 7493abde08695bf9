/* SPDX-License-Identifier: MIT */
/* The text of output as an answer shows it, its cut, and lines by their numbers. */
#include "front/mcp/tools/output.h"

#include "t.h"

#include <stdio.h>

static char shown_text[8192];
static struct output_shown shown;

static void on_shown(void *arg, const struct output_shown *s)
{
    (void)arg;
    shown = *s;
    CHECK(s->text.n < sizeof(shown_text));
    memcpy(shown_text, s->text.n ? s->text.p : "", s->text.n);
    shown_text[s->text.n] = 0;
}

static const char *show(const char *text, uint64_t line)
{
    struct output_new what = {.session = "main", .line = line, .head = 100, .max = 400};
    output_show_text(str_of(text), &what, on_shown, NULL);
    return shown_text;
}

TEST(what_a_screen_would_show)
{
    CHECK_STR(show("one\n\033[31mred\033[0m\n", 0), "one\nred\n");
    CHECK(shown.lines == 2 && shown.line == 3 && !shown.cut_from && !shown.bent);
    CHECK_STR(show(" 1%\r50%\r100%\ndone", 0), "100%\ndone");
    CHECK(shown.lines == 2 && shown.line == 2);
    CHECK_STR(show("", 0), "");
    CHECK(shown.lines == 0 && shown.line == 1);
    CHECK_STR(show("a\tb\n", 0), "a\tb\n");
}

TEST(bytes_that_are_no_text_are_replaced_and_told)
{
    show("a\xff"
         "b\n",
         0);
    CHECK_STR(shown_text, "a\xEF\xBF\xBD"
                          "b\n");
    CHECK(shown.bent);
    show("a\xEF\xBF\xBD\n", 0);
    CHECK(!shown.bent);
}

TEST(the_middle_is_left_out_at_lines_that_have_their_numbers)
{
    char text[4096] = "", want[80];
    for (int i = 1; i <= 500; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d\n", i);
    show(text, 1001);
    CHECK(shown.text.n <= 480);
    CHECK(shown.lines == 1500 && shown.line == 1501);
    CHECK(strncmp(shown_text, "1\n2\n", 4) == 0);
    snprintf(want, sizeof(want), "\n[... lines %llu-%llu of 1500 left out ...]\n",
             (unsigned long long)shown.cut_from, (unsigned long long)shown.cut_to);
    const char *cut = strstr(shown_text, want);
    CHECK(cut != NULL);
    /* The lines around it are those next to it. */
    snprintf(want, sizeof(want), "\n%llu\n[...",
             (unsigned long long)shown.cut_from - 1001);
    CHECK(strstr(shown_text, want) != NULL);
    snprintf(want, sizeof(want), "out ...]\n%llu\n",
             (unsigned long long)shown.cut_to + 1 - 1000);
    CHECK(strstr(shown_text, want) != NULL);
}

TEST(a_line_that_is_too_long_is_cut)
{
    static char text[3004];
    memset(text, 'x', 3000);
    memcpy(text + 3000, "\nb\n", 4);
    struct output_new what = {.session = "main", .head = 3500, .max = 8000};
    output_show_text(str_of(text), &what, on_shown, NULL);
    CHECK(strlen(shown_text) == 2000 + strlen("… [+1000 bytes]\nb\n"));
    CHECK(strstr(shown_text, "x… [+1000 bytes]\nb\n") != NULL);
}

TEST(a_name_of_kept_output)
{
    uint64_t id = 0;
    CHECK(output_named(STR("@17"), &id) && id == 17);
    CHECK(!output_named(STR("@0"), &id));
    CHECK(!output_named(STR("@"), &id));
    CHECK(!output_named(STR("@1x"), &id));
    CHECK(!output_named(STR("./@17"), &id));
}

static const char *lines(const struct output_text *t, int64_t from, uint64_t count)
{
    static char out[100];
    uint64_t first, n;
    struct str s = output_lines(t, from, count, &first, &n);
    snprintf(out, sizeof(out), "%llu+%llu %.*s", (unsigned long long)first,
             (unsigned long long)n, (int)s.n, s.n ? s.p : "");
    return out;
}

TEST(lines_by_their_numbers)
{
    struct output_text t = {.head = STR("a\nb\nc"), .lines = 3};
    CHECK_STR(lines(&t, 1, 1), "1+1 a\n");
    CHECK_STR(lines(&t, 2, 9), "2+2 b\nc");
    CHECK_STR(lines(&t, -1, 9), "3+1 c");
    CHECK_STR(lines(&t, -9, 1), "1+1 a\n");
    CHECK_STR(lines(&t, 4, 1), "0+0 ");
    t = (struct output_text){
        .head = STR("a\nb\n"), .tail = STR("y\nz\n"), .tail_line = 9, .lines = 10};
    CHECK_STR(lines(&t, 2, 5), "2+1 b\n");
    CHECK_STR(lines(&t, 5, 5), "0+0 ");
    CHECK_STR(lines(&t, 9, 5), "9+2 y\nz\n");
    CHECK_STR(lines(&t, -1, 5), "10+1 z\n");
}

T_MAIN
