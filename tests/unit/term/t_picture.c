/* SPDX-License-Identifier: MIT */
/* Painted screens, against a libvterm that got all that a program wrote. */
#include "../../lib/pictures.h"

#include "t.h"

/*
 * Feeds s in pieces of `step` bytes to a picture; a second watcher comes at byte `at`.
 * Returns NULL, or in what the two then differ: at once, at the end, or when both are
 * written to.
 */
static const char *picture_check(int rows, int cols, struct str s, size_t at, size_t step)
{
    struct picture *p = picture_new(rows, cols);
    struct watcher stays, comes;
    struct buf out = BUF_INIT(64 << 20);
    const char *why = NULL;
    picture_size(p, &rows, &cols);
    watcher_open(&stays, rows, cols);
    watcher_open(&comes, rows, cols);
    bool there = false;
    for (size_t i = 0; i < s.n && !why; i += step) {
        if (i >= at && !there) {
            struct buf paint = BUF_INIT(64 << 20);
            picture_paint(p, &paint, NULL, NULL);
            watcher_gets(&comes, STR("left \033[7mover\033[?1047h\033[3;4r\033[4h"));
            watcher_gets(&comes, buf_str(&paint));
            buf_release(&paint);
            there = true;
            why = watchers_differ(&stays, &comes);
        }
        picture_feed(p, str_sub(s, i, step), &out);
        watcher_gets(&stays, buf_str(&out));
        if (there)
            watcher_gets(&comes, buf_str(&out));
        buf_reset(&out);
    }
    if (there && !why)
        why = watchers_differ(&stays, &comes);
    if (there && !why) {
        watcher_probe(&stays);
        watcher_probe(&comes);
        why = watchers_differ(&stays, &comes);
    }
    vterm_free(stays.vt);
    vterm_free(comes.vt);
    picture_free(p);
    buf_release(&out);
    return why;
}

static void same_at(int rows, int cols, struct str s, size_t at, size_t step)
{
    const char *why = picture_check(rows, cols, s, at, step);
    if (why)
        fprintf(stderr, "# %d x %d, %zu bytes, from %zu: %s\n", rows, cols, s.n, at, why);
    CHECK(!why);
}

static void same_everywhere(int rows, int cols, struct str s)
{
    for (size_t at = 0; at < s.n; at++) {
        same_at(rows, cols, s, at, 1);
        same_at(rows, cols, s, at, at ? at : 1);
    }
}

#define SAME(text) same_everywhere(6, 12, STR(text))

TEST(text)
{
    SAME("hello\nworld\r\n  x");
    SAME("123456789012abc");
    SAME("123456789012\033[31mabc\033[m!\b\bx");
    SAME("123456789012\nabc\n\n\n\n\n\n\nlast");
    SAME("tab\tx\033[3g\033[5G\033H\r\ty\tz");
    SAME("e\xcc\x81 \xe4\xb8\x96\xe7\x95\x8c \xf0\x9f\x98\x80.");
    SAME("1234567890\xe4\xb8\x96x");
    SAME("12345678901\xe4\xb8\x96x\xcc\x81y");
    SAME("\xff\xc3(\xe4\xb8 ok");
}

TEST(halves_of_wide_characters)
{
    SAME("\xe4\xb8\x96\xe7\x95\x8c\033[1Gx\033[4Gy");
    SAME("\xe4\xb8\x96\xe7\x95\x8c\033[2G\033[P\033[1G\033[P");
    SAME("12345678901\xe4\xb8\x96\033[1G\033[@\033[1G\033[@z");
    SAME("1234567890\xe4\xb8\x96\033[1G\033[@zz");
    SAME("\xe4\xb8\x96\xe7\x95\x8c\033[3G\033[X\033[2G\033[1Xq");
}

TEST(colours)
{
    SAME("\033[1;31;44ma\033[22;39mb\033[38;5;200mc\033[48;2;1;2;3md\033[0;7me\033[K");
    SAME("\033[4ma\033[21mb\033[4:3mc\033[24;9md\033[3;8;5me\033[38:2::9:8:7mf\033[58;5;1mg");
    SAME("\033[42m\033[2Jx\033[m\033[1;1H\033[45m\033[3X\033[?5hinverse\033[30m");
    SAME("\033[1;2;3;4;5;7;9;31;41;38;2;1;2;3;48;5;9;53;55;22;23;24mx");
}

TEST(modes)
{
    SAME("\033[2;4r\033[?6hab\033[3;3Hcd\n\n\nef\033[?6l!");
    SAME("\033[4habc\033[1Gxyz\033[4l\033[?7lthis is too long\033[?7h");
    SAME("\033[?1h\033=\033[?2004h\033[?1002h\033[?1006h\033[?1004h\033[3 q\033[?25l");
    SAME("\033[4 q\033[?12l\033[?25h\033[?1000h\033[?1003l\033[6 q\033[?12h");
    SAME("a\033[5;7H\0337\033[31mb\033[H\0338c\033[u\033(0lqqk\033(B\016x\017");
    SAME("x\033[7b\033c new\033[!p");
    SAME("\033#8\033[3;3H\033[J\033[3T\033[2S\033[2L\033[M\033[4P");
}

TEST(alternate_screen)
{
    SAME("one\033[31m two\033[?1049h\033[2Jalt\nx\033[?1049lthree\n");
    SAME("one\033[3;5H\033[?47hA\0337\033[H\0338\033[?47lB\033[?1047hC\033[?1047lD");
    SAME("123456789012\033[?1049hxyz\0338Q\033[?1049l-\033cR");
}

static bool secret(void *arg, struct str text, size_t *at, size_t *n)
{
    ptrdiff_t i = str_find(text, str_of(arg));
    *at = (size_t)i;
    *n = strlen(arg);
    return i >= 0;
}

TEST(secrets)
{
    char hidden[] = "hunter2";
    struct picture *p = picture_new(5, 10);
    struct buf out = BUF_INIT(1 << 20), paint = BUF_INIT(1 << 20);
    picture_feed(p, STR("12345678hunter2 ok\033]2;hunter2\a\r\nhun\033[?1049hhunter2"),
                 &out);
    picture_paint(p, &paint, secret, hidden);
    CHECK(str_find(buf_str(&paint), STR("hunter2")) < 0);
    CHECK(str_find(buf_str(&paint), STR("*****")) > 0);
    CHECK(str_find(buf_str(&paint), STR("ok")) > 0);
    CHECK(str_find(buf_str(&paint), STR("hun")) > 0);
    picture_free(p);
    buf_release(&out);
    buf_release(&paint);
}

TEST(plain_form)
{
    struct picture *p = picture_new(5, 20);
    struct buf out = BUF_INIT(1 << 20);
    picture_feed(p, STR("a\nb\033]52;c;aGk=\a\033Pq#0\033\\\033]8;;http://x\ac\033[99999999999d"),
                 &out);
    CHECK_STR(buf_z(&out), "a\r\nbc\033[9999d");
    buf_reset(&out);
    picture_feed(p, STR("\xe4\xb8"), &out);
    CHECK(out.n == 0);
    picture_feed(p, STR("\x96\033["), &out);
    CHECK_STR(buf_z(&out), "\xe4\xb8\x96");
    buf_reset(&out);
    picture_feed(p, STR("2mfaint\033[22;53mover"), &out);
    CHECK_STR(buf_z(&out), "\033[2mfaint\033[22;53mover");
    buf_reset(&out);
    picture_paint(p, &out, NULL, NULL);
    CHECK(str_find(buf_str(&out), STR(";2m")) > 0);
    CHECK(str_find(buf_str(&out), STR(";53m")) > 0);
    picture_free(p);
    buf_release(&out);
}

TEST(sizes)
{
    struct picture *p = picture_new(100000, 0);
    struct buf out = BUF_INIT(1 << 20), paint = BUF_INIT(16 << 20);
    int rows, cols;
    picture_size(p, &rows, &cols);
    CHECK(rows == PICTURE_ROWS_MAX && cols == 2);
    picture_feed(p, STR("below\033[?1049habove"), &out);
    picture_resize(p, 5, 40, &out);
    picture_paint(p, &paint, NULL, NULL);
    struct watcher a, b;
    watcher_open(&a, 5, 40);
    watcher_open(&b, 5, 40);
    watcher_gets(&a, buf_str(&paint));
    buf_reset(&paint);
    buf_reset(&out);
    picture_feed(p, STR("\033[2J\033[Hnew"), &out);
    watcher_gets(&a, buf_str(&out));
    picture_paint(p, &paint, NULL, NULL);
    watcher_gets(&b, buf_str(&paint));
    const char *why = watchers_differ(&a, &b);
    CHECK_STR(why ? why : "", "");
    picture_free(p);
    vterm_free(a.vt);
    vterm_free(b.vt);
    buf_release(&out);
    buf_release(&paint);
}

/* Random streams of what programs send. */
static const char *const words[] = {
    "a", "hello", "\xe4\xb8\x96", "\xcc\x81", "\xf0\x9f\x98\x80", "\r", "\n", "\b", "\t",
    "\033[H", "\033[3;4H", "\033[2;9H", "\033[K", "\033[1K", "\033[J", "\033[1J", "\033[2J",
    "\033[31m", "\033[m", "\033[7m", "\033[48;5;77m", "\033[2;4r", "\033[r", "\033[?6h",
    "\033[?6l", "\033[4h", "\033[4l", "\033[?7l", "\033[?7h", "\0337", "\0338",
    "\033[?1049h", "\033[?1049l", "\033[P", "\033[@", "\033[3X", "\033[L", "\033[2M",
    "\033M", "\033D", "\033E", "\033[S", "\033[T", "\033[3b", "\033(0", "\033(B", "lqk",
    "\016", "\017", "\033[s", "\033[u", "\033[A", "\033[2B", "\033[C", "\033[D", "\033[5G",
    "\033[3d", "\033[I", "\033[Z", "\033H", "\033[g", "\033[?5h", "\033[?5l", "\033c",
    "\033[!p", "\033#8", "\033]0;t\a", "\033[?25l", "\033[?25h", "123456789012345",
    "\033[21m", "\033[?2004h", "\033[5 q", "\033[20h", "\033[20l", "\033[99C"};

TEST(random)
{
    uint32_t seed = 12345;
    for (int round = 0; round < 6000; round++) {
        struct buf s = BUF_INIT(1 << 16);
        for (int i = 0; i < 40; i++) {
            seed = seed * 1664525 + 1013904223;
            buf_addz(&s, words[(seed >> 8) % (sizeof(words) / sizeof(words[0]))]);
        }
        const char *why = picture_check(5, 13, buf_str(&s), (seed >> 9) % s.n,
                                        1 + (seed >> 4) % 7);
        if (why)
            fprintf(stderr, "# round %d: %s\n", round, why);
        CHECK(!why);
        buf_release(&s);
    }
}

/* ---- a terminal whose rows are kept ---- */

/* Rows that left, each with | or, if it is continued, > at its end; ! for a bell, X for
 * what was to be forgotten. */
static void log_row(void *arg, struct str form, bool wrapped)
{
    buf_adds(arg, form);
    buf_addc(arg, wrapped ? '>' : '|');
}
static void log_forget(void *arg) { buf_addc(arg, 'X'); }
static void log_bell(void *arg) { buf_addc(arg, '!'); }
static const struct picture_events logged = {log_row, log_forget, log_bell};

/* Feeds text to a screen of 3 rows and 10 columns, and again byte by byte. */
static void leaves(const char *text, const char *want)
{
    for (size_t step = 1; step < 1000; step += 998) {
        struct picture *p = picture_new(3, 10);
        struct buf out = BUF_INIT(1 << 20), seen = BUF_INIT(1 << 20);
        picture_watch(p, &logged, &seen);
        for (size_t i = 0; i < strlen(text); i += step)
            picture_feed(p, str_sub(str_of(text), i, step), &out);
        CHECK_STR(buf_z(&seen), want);
        picture_free(p);
        buf_release(&out);
        buf_release(&seen);
    }
}

TEST(rows_that_leave)
{
    leaves("one\r\ntwo\r\nthree", "");
    leaves("one\r\ntwo\r\nthree\r\nfour\r\n", "one|two|");
    leaves("a\nb\nc\nd\ne", "a| b|"); /* a line feed is only that */
    leaves("1234567890abc\r\n2\r\n3\r\n4", "1234567890>abc|");
    leaves("1234567890abc\r\n\033[3S", "1234567890>abc||");
    leaves("x\r\n\r\n\r\n\033[?5h", "x|");
    leaves("\033[?5hx\r\n\r\n\r\n\033c", "x|");
    leaves("x  \r\n\033[44m \033[m\r\n\r\n\r\n\r\n", "x  |\0330;8;4m ||");
    leaves("\033[1;31mr\033[38;5;200mx\033[38;2;1;2;3;4my\033[mz\r\n\r\n\r\n",
           "\0331;1;8mr\0331;10000c8;8mx\0335;2010203;8my\0330;8;8mz|");
    leaves("\033[90;107ma\033[m\r\n\r\n\r\n", "\0330;5a;61ma|");
    leaves("\xe4\xb8\x96" "e\xcc\x81\r\n\r\n\r\n", "\xe4\xb8\x96" "e\xcc\x81|");
}

TEST(rows_that_stay)
{
    leaves("\033[?1049h1\r\n2\r\n3\r\n4\r\n5", "");
    leaves("1\r\n\033[2;3r\033[3;1H2\r\n3\r\n4\r\n5", "");
    leaves("a\r\nb\033[2J\033[3J\a", "a|b|X!");
    leaves("a\r\n\r\nb\033[H\033[J", "a||b|");
    leaves("a\r\nb\033[J\033[1J\033[K", "");
    leaves("\033[?1049ha\033[2J", "");
}

/* What a screen of its own is: rows that left, those that are shown, and its state. */
static void describe(struct picture *p, struct buf *out)
{
    struct picture_state s;
    int rows, cols;
    bool wrapped;
    picture_size(p, &rows, &cols);
    for (int y = 0; y < rows; y++) {
        buf_addz(out, "\n");
        picture_row(p, y, false, out, &wrapped);
        buf_addc(out, wrapped ? '>' : '|');
    }
    picture_report(p, &s);
    buf_addf(out, "%d %d %d %d %d", s.row, s.col, s.top, s.bottom, s.alt);
    picture_paint(p, out, NULL, NULL);
}

/* Lines pass a screen in one call as they do byte by byte. */
static void same_lines(int rows, int cols, struct str s)
{
    struct picture *one = picture_new_large(rows, cols);
    struct picture *all = picture_new_large(rows, cols);
    struct buf seen_one = BUF_INIT(1 << 24), seen_all = BUF_INIT(1 << 24);
    struct buf answers = BUF_INIT(1 << 20), other = BUF_INIT(1 << 20);
    picture_watch(one, &logged, &seen_one);
    picture_watch(all, &logged, &seen_all);
    for (size_t i = 0; i < s.n; i++)
        picture_answer(one, str_sub(s, i, 1), &answers);
    picture_answer(all, s, &other);
    describe(one, &seen_one);
    describe(all, &seen_all);
    /* The next line, too, and what is joined to the last character. */
    picture_answer(one, STR("x\r\n\xcc\x81\033[3b!"), &answers);
    picture_answer(all, STR("x\r\n\xcc\x81\033[3b!"), &other);
    describe(one, &seen_one);
    describe(all, &seen_all);
    CHECK(str_eq(buf_str(&seen_one), buf_str(&seen_all)));
    CHECK(str_eq(buf_str(&answers), buf_str(&other)));
    picture_free(one);
    picture_free(all);
    buf_release(&seen_one);
    buf_release(&seen_all);
    buf_release(&answers);
    buf_release(&other);
}

TEST(lines_that_pass)
{
    uint32_t seed = 99;
    enum { WORDS = sizeof(words) / sizeof(words[0]) };
    for (int round = 0; round < 400; round++) {
        struct buf s = BUF_INIT(1 << 20);
        int rows = 1 + round % 7, cols = 2 + round % 29;
        for (int i = 0; i < 12; i++) {
            seed = seed * 1664525 + 1013904223;
            if ((seed >> 20) % 3 > 0)
                buf_addz(&s, words[(seed >> 8) % WORDS]);
            for (int n = (int)(seed >> 10) % (5 * rows); n > 0; n--)
                buf_addf(&s, "%.*s\r\n", n % (cols + 1),
                         n % 3 ? "x 2345 789 12345" : "\tx\t 1\t\t");
        }
        same_lines(rows, cols, buf_str(&s));
        buf_release(&s);
    }
}

static void row_is(struct picture *p, int y, bool beneath, const char *want, bool joined)
{
    struct buf out = BUF_INIT(1 << 16);
    bool wrapped = !joined;
    picture_row(p, y, beneath, &out, &wrapped);
    CHECK_STR(buf_z(&out), want);
    CHECK(wrapped == joined);
    buf_release(&out);
}

TEST(rows_of_a_screen)
{
    struct picture *p = picture_new(3, 10);
    struct buf out = BUF_INIT(1 << 20);
    picture_feed(p, STR("1234567890ab\r\n\033[7mx\033[?1049h\033[2;3Halt"), &out);
    row_is(p, 0, false, "", false);
    row_is(p, 1, false, "  \03310;8;8malt", false);
    row_is(p, 0, true, "1234567890", true);
    row_is(p, 1, true, "ab", false);
    row_is(p, 2, true, "\03310;8;8mx", false);
    row_is(p, 3, false, "", false);
    row_is(p, -1, true, "", false);
    picture_feed(p, STR("\033[?1049l"), &out);
    row_is(p, 0, false, "1234567890", true);
    row_is(p, 0, true, "1234567890", true); /* it is the screen that is shown */
    picture_free(p);
    buf_release(&out);
}

TEST(state_of_a_terminal)
{
    struct picture *p = picture_new(6, 20);
    struct picture_state s;
    struct buf out = BUF_INIT(1 << 20);
    picture_report(p, &s);
    CHECK(s.row == 0 && s.col == 0 && s.top == 0 && s.bottom == 5 && !s.alt && !s.hidden);
    CHECK_STR(s.title, "");
    CHECK(picture_whole(p) && picture_tab(p, 8) && !picture_tab(p, 9));
    CHECK(!picture_tab(p, -1) && !picture_tab(p, 20));
    picture_feed(p, STR("\033]2;name\a\033[2;4r\033[?1;6;25;1002;1006;2004h\033=\033[4h"
                        "\033[?25l\033[3 q\033[2;5H\033H"),
                 &out);
    picture_report(p, &s);
    CHECK(s.row == 2 && s.col == 4 && s.top == 1 && s.bottom == 3);
    CHECK(s.cursor_keys && s.keypad && s.insert && s.origin && s.paste && s.hidden);
    CHECK(s.mouse == 1002 && s.protocol == 1006 && s.shape == 1 && !s.steady);
    CHECK_STR(s.title, "name");
    CHECK(picture_tab(p, 4));
    picture_feed(p, STR("\033[?6l\033[2;3H\033[?1049h\033[5;6H\033["), &out);
    picture_report(p, &s);
    CHECK(s.alt && s.row == 4 && s.col == 5 && s.saved_row == 1 && s.saved_col == 2);
    CHECK(!picture_whole(p));
    picture_reset(p);
    picture_report(p, &s);
    CHECK(picture_whole(p) && !s.alt && !s.insert && !s.cursor_keys && !s.mouse);
    CHECK(s.row == 0 && s.col == 0 && s.bottom == 5 && !picture_tab(p, 4));
    picture_feed(p, STR("12345678901234567890"), &out);
    picture_report(p, &s);
    CHECK(s.row == 0 && s.col == 20); /* the next character goes to the next row */
    picture_free(p);
    buf_release(&out);
}

TEST(large)
{
    struct picture *p = picture_new_large(100000, 1000);
    struct buf out = BUF_INIT(1 << 20);
    int rows, cols;
    picture_size(p, &rows, &cols);
    CHECK(rows == PICTURE_SIDE_MAX && cols == 1000);
    picture_resize(p, 2, 100000, &out);
    picture_feed(p, STR("\033[1;1024Hx\033[99999Gy"), &out);
    picture_size(p, &rows, &cols);
    CHECK(rows == 2 && cols == PICTURE_SIDE_MAX);
    buf_reset(&out);
    bool wrapped;
    picture_row(p, 0, false, &out, &wrapped);
    CHECK(out.n == PICTURE_SIDE_MAX && out.p[out.n - 1] == 'y' && !wrapped);
    picture_free(p);
    buf_release(&out);
}

/* Newer characters, which libvterm finds narrower than we do. */
TEST(widths)
{
    SAME("\xf0\x9f\xaa\x90x\xf0\x9f\x9b\xbcy\xf3\xa0\x80\x8cz\033[2Gq");
    SAME("12345678901\xf0\x9f\xaa\x90\xf0\x9f\xaa\x90\xc2\xad\xe2\x80\x8bx");
}

static void answers(const char *text, const char *want)
{
    struct picture *p = picture_new(10, 40);
    struct buf out = BUF_INIT(4096);
    picture_answer(p, str_of(text), &out);
    CHECK_STR(buf_z(&out), want);
    picture_free(p);
    buf_reset(&out);
    p = picture_new(10, 40);
    for (const char *c = text; *c; c++)
        picture_answer(p, str_n(c, 1), &out);
    CHECK_STR(buf_z(&out), want);
    picture_free(p);
    buf_release(&out);
}

TEST(answers)
{
    answers("plain\033[31m\033[2J\033]0;title\a", "");
    answers("ab\ncde\033[6n", "\033[2;4R");
    answers("\033[99;99H\033[?6n", "\033[?10;40;1R");
    answers("\033[3;7r\033[?6h\033[2;2H\033[6n", "\033[2;2R");
    answers("\033[5n\033[c\033[0c\033[1c", "\033[0n\033[?62;22c\033[?62;22c");
    answers("\033[>c\033[=c\033[>q", "\033[>1;1;0c\033P!|00000000\033\\\033P>|od\033\\");
    answers("\033[?25$p\033[?25l\033[?25$p", "\033[?25;1$y\033[?25;2$y");
    answers("\033[?1049h\033[?1049$p\033[?2026$p", "\033[?1049;1$y\033[?2026;0$y");
    answers("\033[4$p\033[4h\033[4$p\033[9$p", "\033[4;2$y\033[4;1$y\033[9;0$y");
    answers("\033]10;?\a\033]11;?\033\\\033]11;#fff\a",
            "\033]10;rgb:d0d0/d0d0/d0d0\a\033]11;rgb:0000/0000/0000\033\\");
    answers("\033[18t\033[14t\033[8;5;5t", "\033[8;10;40t\033[4;160;320t");
    answers("\033[?u\033[c", "\033[?62;22c");
    answers("\033P+q544e\033\\\033P$qm\033\\", "\033P0+r\033\\\033P0$r\033\\");
}

T_MAIN
