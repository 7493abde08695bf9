/* SPDX-License-Identifier: MIT */
/*
 * Numbered lines: which of them, how many there is room for, and that it makes no
 * difference in what pieces a text comes; the form of a text; which lines are meant.
 */
#include "skill/show.h"

#include "t.h"

static struct numbering last;

static const char *show(const char *text, int64_t from, int64_t count, size_t max,
                        size_t piece)
{
    static char out[20000];
    struct buf b = BUF_INIT(1 << 20);
    struct str rest = str_of(text);
    numbering_begin(&last, &b, from, count, max);
    while (rest.n > 0 && numbering_feed(&last, str_sub(rest, 0, piece)))
        rest = str_sub(rest, piece, rest.n);
    numbering_end(&last);
    snprintf(out, sizeof(out), "%s", buf_z(&b));
    buf_release(&b);
    return out;
}

/* The same in whatever pieces it comes. */
#define SHOWS(want, text, from, count, max) \
    do { \
        for (size_t t_piece = 1; t_piece <= strlen(text) + 1; t_piece++) \
            CHECK_STR(show(text, from, count, max, t_piece), want); \
    } while (0)

TEST(lines_have_their_numbers)
{
    SHOWS("1\ta\n2\t\n3\tb\n", "a\n\nb\n", 1, INT64_MAX, 1000);
    SHOWS("2\t\n", "a\n\nb\n", 2, 1, 1000);
    CHECK_INT(last.last, 2);
    SHOWS("3\tb\n", "a\n\nb", 3, 9, 1000);
    SHOWS("", "a\nb\n", 3, 9, 1000);
    CHECK_INT(last.last, 0);
    SHOWS("1\ta\n2\tb\n", "a\r\nb\r\n", 1, 9, 1000);
    SHOWS("1\ta\rb\n", "a\rb\n", 1, 9, 1000);
}

TEST(what_has_no_room_is_left_out)
{
    SHOWS("1\taaaa\n2\tbbbb\n", "aaaa\nbbbb\ncccc\n", 1, INT64_MAX, 14);
    CHECK(last.full);
    CHECK_INT(last.last, 2);
    SHOWS("1\taaaa\n2\tbbbb\n", "aaaa\nbbbb\ncccc\n", 1, INT64_MAX, 20);
    SHOWS("1\taaaa\n2\tbbbb\n3\tcccc\n", "aaaa\nbbbb\ncccc\n", 1, INT64_MAX, 21);
    CHECK(!last.full);
    SHOWS("1\taaaa\n2\tbbbb\n", "aaaa\nbbbb\ncccc", 1, INT64_MAX, 20);
    CHECK(last.full);
    /* One line in any case, so that a reader gets on. */
    SHOWS("2\tbbbb\n", "aaaa\nbbbb\ncccc\n", 2, INT64_MAX, 1);
    CHECK_INT(last.last, 2);
}

TEST(long_lines_are_cut)
{
    char text[2100], want[2100];
    memset(text, 'x', 2010);
    strcpy(text + 2010, "\nb\n");
    memset(want, 'x', 2002);
    memcpy(want, "1\t", 2);
    strcpy(want + 2002, "\xe2\x80\xa6 [+10 bytes]\n2\tb\n");
    for (size_t piece = 1; piece < 2020; piece += 37)
        CHECK_STR(show(text, 1, 9, 10000, piece), want);
    /* Not within a character. */
    memcpy(text + 1999, "\xc3\xa4", 2);
    want[2001] = '\0';
    strcpy(want + 2001, "\xe2\x80\xa6 [+11 bytes]\n2\tb\n");
    CHECK_STR(show(text, 1, 9, 10000, 64), want);
    memset(text, 'x', 2000);
    strcpy(text + 2000, "\n");
    CHECK_INT(strlen(show(text, 1, 9, 10000, 64)), 2003);
}

static void check_range(int64_t offset, int64_t limit, int64_t total, int64_t from,
                        int64_t count)
{
    show_range(&offset, &limit, total);
    CHECK_INT(offset, from);
    CHECK_INT(limit, count);
}

TEST(which_lines_are_meant)
{
    check_range(1, 0, 100, 1, INT64_MAX);
    check_range(40, 2, 100, 40, 2);
    check_range(-1, 0, 100, 100, INT64_MAX);
    check_range(-500, 3, 100, 1, 3);
    check_range(101, 0, 100, 91, INT64_MAX);
    check_range(101, 3, 100, 98, 3);
    check_range(101, -7, 4, 1, INT64_MAX);
    check_range(0, 5, 4, 1, 5);
}

static const char *form(const char *text)
{
    static char out[200];
    struct form f = {0};
    struct buf b = BUF_INIT(1000);
    form_count(&f, str_of(text));
    form_tell(&f, &b);
    snprintf(out, sizeof(out), "%s %s%s", form_eol(&f),
             form_indent(&f) ? form_indent(&f) : "none", buf_z(&b));
    buf_release(&b);
    return out;
}

TEST(the_form_of_a_text)
{
    CHECK_STR(form("a\nb\n"), "lf none");
    CHECK_STR(form("a\n  b\n"), "lf spaces");
    CHECK_STR(form("a\n b\n"), "lf none");
    CHECK_STR(form("a\n\tb"), "lf tabs; indented with tabs");
    CHECK_STR(form("\ta\n  b\n"), "lf mixed; indented with tabs and spaces, mixed");
    CHECK_STR(form("a\r\nb\r\n"), "crlf none; line ends CRLF");
    CHECK_STR(form("a\r\nb\n"), "mixed none; line ends CRLF and LF, mixed");
    CHECK_STR(form(""), "lf none");
}

static const char *size(uint64_t n)
{
    static char out[SIZE_WORDS];
    size_words(n, out);
    return out;
}

TEST(sizes_in_words)
{
    CHECK_STR(size(0), "0 bytes");
    CHECK_STR(size(999), "999 bytes");
    CHECK_STR(size(1000), "1.0 kB");
    CHECK_STR(size(4100000), "4.1 MB");
    CHECK_STR(size(UINT64_MAX), "18446744073.7 GB");
}

T_MAIN
