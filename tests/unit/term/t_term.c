/* SPDX-License-Identifier: MIT */
/* Terminal bytes to text: every control by hand, recorded streams, a real
 * terminal emulator as the judge of random ones, and bounds. */
#include "base/utf8.h"
#include "t.h"
#include "term/screen.h"
#include "term/term.h"

#include <dirent.h>
#include <sys/resource.h>

/* Texts are compared with their newlines made visible in case of failure. */
static struct buf render(const struct term_opts *o, struct str in, size_t step,
                         struct term_text *info)
{
    struct term *t = term_new(o);
    struct buf out = BUF_INIT(1u << 30);
    struct term_text unused;
    for (size_t i = 0; i < in.n; i += step)
        term_feed(t, str_sub(in, i, step));
    CHECK(term_text(t, &out, info ? info : &unused, NULL, NULL) == 0);
    term_free(t);
    return out;
}

static const struct term_opts roomy = {
    .rows = 24, .cols = 80, .head = 1 << 20, .tail = 1 << 20};

static void gives_with(const struct term_opts *o, struct str in, const char *want)
{
    struct buf whole = render(o, in, in.n ? in.n : 1, NULL);
    CHECK_STR(buf_z(&whole), want);
    for (size_t cut = 1; cut < in.n; cut++) {
        struct buf got = BUF_INIT(1 << 20);
        struct term_text info;
        struct term *t = term_new(o);
        term_feed(t, str_sub(in, 0, cut));
        /* Asking on the way must not change anything. */
        CHECK(term_text(t, &got, &info, NULL, NULL) == 0);
        buf_reset(&got);
        term_feed(t, str_sub(in, cut, in.n));
        CHECK(term_text(t, &got, &info, NULL, NULL) == 0);
        CHECK_STR(buf_z(&got), want);
        buf_release(&got);
        term_free(t);
    }
    buf_release(&whole);
}

#define GIVES(in, want) gives_with(&roomy, STR(in), want)

TEST(plain)
{
    GIVES("", "");
    GIVES("a", "a");
    GIVES("a\n", "a\n");
    GIVES("\n\na\n\n", "\n\na\n\n");
    GIVES("a\nb", "a\nb");
    GIVES("a\r\nb\r\n", "a\nb\n");
}

TEST(trailing_blanks)
{
    GIVES("a  \nb \t\n", "a\nb\n");
    GIVES("   \n", "\n");
    GIVES("go on? [y/N] ", "go on? [y/N] ");
    GIVES("done   \r", "done");
    GIVES("done   \r\n", "done\n");
    GIVES("done   \rD", "Done");
    GIVES("\033[31mred \033[0m \n", "red\n");
}

TEST(carriage_return)
{
    GIVES("abc\rX\n", "Xbc\n");
    GIVES("10%\r20%\r100%\n", "100%\n");
    GIVES("100%\r5%\n", "5%0%\n");
    GIVES("100%\r\033[K5%\n", "5%\n");
    GIVES("abc\r\r\nd", "abc\nd");
    GIVES("ab\rabcd", "abcd");
}

TEST(backspace)
{
    GIVES("abc\bX", "abX");
    GIVES("abc\b\bX\n", "aXc\n");
    GIVES("a\b\b\b\bX", "X");
    GIVES("|\b/\b-\b\\\b \b", "");
    GIVES("pass\b \b\b \b", "pa");
    GIVES("b\bb_\bu\n", "bu\n"); /* bold and underlined by overstriking */
}

TEST(tab)
{
    static const struct term_opts tabs = {
        .rows = 24, .cols = 80, .head = 1 << 20, .tail = 1 << 20, .keep_tabs = true};
    GIVES("a\tb\n", "a       b\n");
    GIVES("12345678\tb\n", "12345678        b\n");
    GIVES("\xe6\xbc\xa2\tb", "\xe6\xbc\xa2      b");
    GIVES("abcdefghij\r\tX", "abcdefghXj");
    GIVES("a\033[2IX", "a               X");
    GIVES("abcdefghijkl\033[ZX", "abcdefghXjkl");
    gives_with(&tabs, STR("all:\n\tcc -o a\n"), "all:\n\tcc -o a\n");
    gives_with(&tabs, STR("a\tb\rX\n"), "X\tb\n");
    gives_with(&tabs, STR("a\tb\b\bX\n"), "a      Xb\n");
    gives_with(&tabs, STR("ab\r\tX\n"), "ab      X\n");
    gives_with(&tabs, STR("a\t\n"), "a\n");
}

TEST(cursor_in_line)
{
    GIVES("abcdef\033[3DX", "abcXef");
    GIVES("abcdef\r\033[2CX", "abXdef");
    GIVES("ab\033[4CX", "ab    X");
    GIVES("ab\033[4C", "ab");
    GIVES("abc\033[GX", "Xbc");
    GIVES("abc\033[2GX\033[5`Y", "aXc Y");
    GIVES("abc\033[99DX", "Xbc");
    /* A move stops at the right margin, so status goes to the right edge. */
    gives_with(&(struct term_opts){.rows = 5, .cols = 12, .head = 99, .tail = 99},
               STR("job\033[500C\033[3D[ok]\n"), "job     [ok]\n");
    GIVES("x\033[0CY", "x Y");
}

TEST(erase_in_line)
{
    GIVES("abcdef\033[3D\033[K\n", "abc\n");
    GIVES("abcdef\033[3D\033[1K\n", "    ef\n");
    GIVES("abcdef\033[3D\033[2KX\n", "   X\n");
    GIVES("abc\033[Kd\n", "abcd\n");
    GIVES("abc\033[2Kd\n", "   d\n");
    GIVES("abc\r\033[2Kd\n", "d\n");
    GIVES("abcdef\r\033[2X\n", "  cdef\n");
    GIVES("abcdef\r\033[2P\n", "cdef\n");
    GIVES("abcdef\r\033[2@XY\n", "XYabcdef\n");
    GIVES("ab\033[3bc", "abbbbc");
}

TEST(lines_above)
{
    GIVES("one\ntwo\nthree\n\033[2A\033[2KTWO\033[2B\rend\n", "one\nTWO\nthree\nend\n");
    GIVES("a\nb\n\033[AX\n", "a\nX\n");
    GIVES("a\nb\033[F\033[KA\033[EB\n", "A\nB\n");
    GIVES("a\nb\033MX\n", "aX\nb");
    /* Nothing above the first line. */
    GIVES("a\n\033[9AX\n", "X\n");
    /* What was erased below the cursor is no line. */
    GIVES("1\n2\n3\n\033[3A\033[Jdone\n", "done\n");
    GIVES("1\n2\n3\n\033[2K\033[1A\033[2K\033[1A\033[2K\033[Gend\n", "1\nend\n");
    /* What is below the cursor and not blank is. */
    GIVES("1\n2\n3\033[2AX", "1X\n2\n3");
    GIVES("1\n2\n3\n\033[3AX", "X\n2\n3\n");
    GIVES("a\033[2Bb\n", "a\n\n b\n");
    GIVES("a\033Db\vc\n", "a\n b\n  c\n");
    GIVES("a\033Eb\n", "a\nb\n");
}

/* The cursor cannot leave the screen upwards: those lines have scrolled off. */
TEST(scrolled_off)
{
    struct term_opts o = roomy;
    o.rows = 3;
    gives_with(&o, STR("1\n2\n3\n4\n\033[9AX\n"), "1\n2\nX\n4");
    gives_with(&o, STR("1\n2\n3\n4\n\033[9AX\033[9B\nY"), "1\n2\nX\n4\n\nY");
}

TEST(save_and_restore)
{
    GIVES("ab\0337cd\0338X\n", "abXd\n");
    GIVES("ab\033[scd\033[uX\n", "abXd\n");
    GIVES("a\n\0337b\nc\0338X\n", "a\nX\nc");
    GIVES("ab\0338c", "abc"); /* none saved */
}

TEST(swallowed)
{
    GIVES("\033[1;38;2;1;2;3mred\033[m", "red");
    GIVES("\033[?25lx\033[?25h\033[?2004h\033[6n\033[c\033[>1u", "x");
    GIVES("\033]0;title\007x\033]8;;u\033\\y\033]8;;\033\\", "xy");
    GIVES("\033Pq#0\033\\x\033_apc\033\\y\033^pm\033\\z\033Xsos\033\\w", "xyzw");
    GIVES("\033P a\007b \033\\x", "x"); /* only an OSC ends at BEL */
    GIVES("\033]0;cut short\033[31mx", "x");
    GIVES("\033]0;can\030x\033[1\032y", "xy");
    GIVES("\a\0\177\016\017x\005", "x");
    GIVES("\033(B\033)0\033=\033>\033#8\033%Gx", "x");
    GIVES("a\033[3\nmb", "a\nb"); /* a control inside a sequence is done */
    GIVES("a\033[31\xc3\xa9" "b", "a\xef\xbf\xbd" "b");
    GIVES("\033[1;1;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19Hx", "x");
    GIVES("\xc2\x9b" "31mx", "31mx"); /* an encoded C1 control is dropped */
}

TEST(line_drawing)
{
    GIVES("\033(0lqk\033(B lqk", "\xe2\x94\x8c\xe2\x94\x80\xe2\x94\x90 lqk");
    GIVES("\033)0\016x\017x", "\xe2\x94\x82x");
}

TEST(characters)
{
    GIVES("\xe6\xbc\xa2\xe5\xad\x97\r1", "1 \xe5\xad\x97");
    GIVES("\xe6\xbc\xa2\xe5\xad\x97\b1\n", "\xe6\xbc\xa2 1\n");
    GIVES("\xe6\xbc\xa2\r12\n", "12\n");
    GIVES("12\r\xe6\xbc\xa2\n", "\xe6\xbc\xa2\n");
    GIVES("ab\033[D\xe6\xbc\xa2\n", "a\xe6\xbc\xa2\n");
    GIVES("e\xcc\x81x\b\bo\n", "ox\n");
    GIVES("ab\033[De\xcc\x81\n", "ae\xcc\x81\n");
    GIVES("\xf0\x9f\x91\x8d ok\r\xf0\x9f\x91\x8e\n", "\xf0\x9f\x91\x8e ok\n");
    GIVES("\xe6\xbc\xa2\xe5\xad\x97\r\033[K1\n", "1\n");
}

TEST(invalid_utf8)
{
    GIVES("a\xff" "b", "a\xef\xbf\xbd" "b");
    GIVES("a\xe2\x82" "b", "a\xef\xbf\xbd" "b");
    GIVES("\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd");
    GIVES("\xf0\x9f\x91\n", "\xef\xbf\xbd\n");
    GIVES("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    GIVES("a\xe2\x82", "a"); /* still to come, or never */
    GIVES("\xe2\x82\xe2\x82\xac", "\xef\xbf\xbd\xe2\x82\xac");
}

TEST(alternate_screen)
{
    struct term_text info;
    GIVES("a\n\033[?1049h\033[2J\033[Hvim\033[5;5Hx\033[?1049lb\n", "a\nb\n");
    GIVES("ab\033[?47hxyz\033[?47lc\n", "abc\n");
    GIVES("a\n\033[?1049h\033[Htop\033[3;2Hlow", "a\ntop\n\n low");
    GIVES("$ vi\033[?1049h\033[Htext", "$ vi\ntext");
    GIVES("a\033[?1049l\n", "a\n");
    /* A line feed there is nothing more. */
    GIVES("\033[?1049h\033[Ha\nb\r\nc", "a\n b\nc");
    /* Its lines do not scroll into the text. */
    GIVES("\033[?1049h\033[24;1Hx\n\n\n\033[?1049ly", "y");
    struct str in = STR("a\033[?1049hb");
    struct buf b = render(&roomy, in, in.n, &info);
    CHECK(info.alt_screen);
    buf_release(&b);
    in = STR("a\033[?1049hb\033[?1049l");
    b = render(&roomy, in, in.n, &info);
    CHECK(!info.alt_screen);
    buf_release(&b);
}

TEST(addressed_screen)
{
    GIVES("a\nb\033[H\033[2J\033[3Jc\n", "c\n");
    GIVES("a\nb\033[1;1HX\n", "X\nb");
    GIVES("1\n2\n3\n\033[2;1HX\033[4;1Hend\n", "1\nX\n3\nend\n");
    GIVES("a\nb\033c\nc", "\nc");
    GIVES("a\n\033[?1049hx\033cb", "b");
    GIVES("ab\033[4h\rX\033[4lY\n", "XYb\n");
    GIVES("1\n2\n3\033[2;1H\033[LX\n", "1\nX\n2\n3\n");
    GIVES("1\n2\n3\033[2;1H\033[M\n", "1\n3\n");
    GIVES("1\033MX\n", " X\n1");
    /* Back to the line model when the screen scrolls. */
    struct term_opts o = roomy;
    o.rows = 3;
    gives_with(&o, STR("1\n2\n3\n4\033[HX\n\n\n5\n6\n\033[AY\n"),
               "1\nX\n3\n4\n5\nY\n");
    /* A long line takes two rows there and is one line again. */
    o.cols = 10;
    gives_with(&o, STR("abcdefghijklm\n\033[3;1H2\n3\n4\n"), "abcdefghijklm\n2\n3\n4\n");
    gives_with(&o, STR("\033[Habcdefghijklm\n2\n3\n4\n"), "abcdefghijklm\n2\n3\n4\n");
}

/* A status line below a scroll region, as package managers draw it. */
TEST(scroll_region)
{
    struct term_opts o = roomy;
    o.rows = 5;
    gives_with(&o,
               STR("start\n\n\0337\033[0;4r\0338\033[1A"
                   "one\n\0337\033[5;0f[ 10%]\0338two\nthree\nfour\nfive\n"
                   "\0337\033[5;0f[100%]\0338six\n"
                   "\0337\033[0;5r\0338\033[J"
                   "end\n"),
               "start\none\ntwo\nthree\nfour\nfive\nsix\nend\n");
}

TEST(odd_sizes)
{
    for (int rows = 1; rows <= 3; rows++) {
        for (int cols = 1; cols <= 3; cols++) {
            struct term_opts o = roomy;
            o.rows = rows;
            o.cols = cols;
            struct str in = STR("a\xe6\xbc\xa2\033[9;9H\xe6\xbc\xa2\xe6\xbc\xa2\tx"
                                "\n\033[A\033[2;1r\033[T\033[9@\033[9P\n\033[2Jy");
            struct buf b = render(&o, in, 1, NULL);
            CHECK(utf8_valid(buf_str(&b)));
            buf_release(&b);
        }
    }
    struct term_opts huge = roomy;
    huge.rows = huge.cols = 1000;
    gives_with(&huge, STR("a\n\033[Hb\033[999;999Hc"),
               "b\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
               "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
               "                                                                      "
               "                                                                      "
               "                                                           c");
}

/* ---- recorded streams ---- */

static struct buf read_file(const char *name)
{
    char path[512];
    struct buf b = BUF_INIT(1 << 22);
    snprintf(path, sizeof(path), "%.*s/../../corpus/term/%s",
             (int)(strrchr(__FILE__, '/') - __FILE__), __FILE__, name);
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL);
    char part[4096];
    size_t n;
    while ((n = fread(part, 1, sizeof(part), f)) > 0)
        buf_add(&b, part, n);
    fclose(f);
    return b;
}

TEST(corpus)
{
    char path[512];
    snprintf(path, sizeof(path), "%.*s/../../corpus/term",
             (int)(strrchr(__FILE__, '/') - __FILE__), __FILE__);
    DIR *dir = opendir(path);
    CHECK(dir != NULL);
    int streams = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        struct str name = str_of(e->d_name);
        if (!str_ends(name, STR(".raw")))
            continue;
        static const size_t steps[] = {1, 7, 64, 4096, 1 << 20};
        char txt[512];
        snprintf(txt, sizeof(txt), "%.*s.txt", (int)name.n - 4, name.p);
        struct buf raw = read_file(e->d_name), want = read_file(txt);
        for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
            struct buf got = render(&roomy, buf_str(&raw), steps[i], NULL);
            if (!str_eq(buf_str(&got), buf_str(&want)))
                printf("# %s in steps of %zu\n", e->d_name, steps[i]);
            CHECK_STR(buf_z(&got), buf_z(&want));
            buf_release(&got);
        }
        buf_release(&raw);
        buf_release(&want);
        streams++;
    }
    closedir(dir);
    CHECK(streams >= 20);
}

/* ---- the line model against libvterm ---- */

static uint64_t seed = 88172645463325252u;

static unsigned roll(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 20) % n;
}

/*
 * One token within what both can do on 50 × 200: the cursor stays off the
 * right margin (used counts what can move it there) and off the last row.
 */
static void token(struct buf *b, bool wide, unsigned *used, unsigned *rows)
{
    static const char *const text[] = {"a", "foo", "hello world", " ", "   ", "x  "};
    static const char *const glyph[] = {
        "\xe6\xbc\xa2", "e\xcc\x81", "\xc3\xa9", "\xf0\x9f\x91\x8d", "\xe2\x94\x80"};
    unsigned n = 1 + roll(4), kind = roll(wide ? 6 : 20);
    switch (kind) {
    case 0:
    case 1:
        n = roll(sizeof(text) / sizeof(*text));
        *used += 11;
        buf_addz(b, text[n]);
        return;
    case 2:
        if (*rows < 40) {
            ++*rows;
            *used = 0;
            buf_addc(b, '\n');
        }
        return;
    case 3:
        if (!wide) {
            buf_addc(b, '\r');
        } else {
            *used += 8;
            buf_addc(b, '\t');
        }
        return;
    case 4:
        buf_addf(b, "\033[%um", n);
        return;
    case 5:
        *used += n + 2;
        if (wide)
            buf_addz(b, glyph[roll(5)]);
        else
            buf_addf(b, "\033[%uC", n);
        return;
    case 6:
        buf_addc(b, '\b');
        return;
    case 7:
        *used += 8;
        buf_addc(b, '\t');
        return;
    case 8:
        buf_addf(b, "\033[%uK", roll(3));
        return;
    case 9:
        buf_addf(b, "\033[%uA", n);
        return;
    case 10:
        if (*rows < 40) {
            *rows += n;
            buf_addf(b, "\033[%uB", n);
        }
        return;
    case 11:
        buf_addf(b, "\033[%uD", n);
        return;
    case 12:
        buf_addf(b, "\033[%uG", 1 + roll(60));
        return;
    case 13:
        buf_addf(b, "\033[%uP", n);
        return;
    case 14:
        *used += n;
        buf_addf(b, "\033[%u@", n);
        return;
    case 15:
        buf_addf(b, "\033[%uX", n);
        return;
    case 16:
        buf_addz(b, "\033[J");
        return;
    case 17:
        buf_addf(b, "\033[%u%c", n, roll(2) ? 'F' : 'Z');
        return;
    case 18:
        buf_addz(b, "\0337yy\0338");
        *used += 2;
        return;
    default:
        buf_addz(b, "\r\033[K");
        return;
    }
}

static void to_buf(void *arg, struct str bytes, uint64_t from, bool newline)
{
    (void)from;
    buf_adds(arg, bytes);
    if (newline)
        buf_addc(arg, '\n');
}

/* Token by token, as term.c does; LF is CR LF on the primary screen. */
static struct buf on_screen(struct str in)
{
    struct buf out = BUF_INIT(1 << 20);
    struct screen *s = screen_new(50, 200, 0, to_buf, &out);
    for (struct str rest = in; rest.n > 0;) {
        bool last = str_chr(rest, '\n') < 0;
        screen_write(s, str_cut(&rest, '\n'), 0);
        if (!last)
            screen_write(s, STR("\r\n"), 0);
    }
    screen_each(s, to_buf, &out);
    screen_free(s);
    return out;
}

/* Whether a row below the cursor was finished, and whether blanks before the
 * cursor were written, cannot be seen. */
static void drop_end(struct buf *b)
{
    while (b->n && (b->p[b->n - 1] == '\n' || b->p[b->n - 1] == ' '))
        buf_truncate(b, b->n - 1);
}

static void against_libvterm(bool wide)
{
    struct term_opts o = roomy;
    o.rows = 50;
    o.cols = 200;
    for (int round = 0; round < 600; round++) {
        struct buf in = BUF_INIT(1 << 16);
        unsigned used = 0, rows = 0;
        for (unsigned i = 5 + roll(90); i > 0 && used < 120; i--)
            token(&in, wide, &used, &rows);
        struct buf want = on_screen(buf_str(&in));
        struct buf got = render(&o, buf_str(&in), in.n ? in.n : 1, NULL);
        drop_end(&want);
        drop_end(&got);
        if (!str_eq(buf_str(&got), buf_str(&want))) {
            printf("# ");
            for (size_t i = 0; i < in.n; i++)
                printf(in.p[i] < ' ' ? "\\%03o" : "%c", in.p[i]);
            printf("\n");
        }
        CHECK_STR(buf_z(&got), buf_z(&want));
        buf_release(&in);
        buf_release(&want);
        buf_release(&got);
    }
}

TEST(random_cursor_against_libvterm) { against_libvterm(false); }
TEST(random_glyphs_against_libvterm) { against_libvterm(true); }

/* Whole and byte by byte, also the account of what was left out agrees. */
TEST(random_streams_split)
{
    static const char *const more[] = {
        "\033[H", "\033[2J", "\033[2;1H", "\033[?1049h", "\033[?1049l", "\033[1;2r",
        "\033[r", "\033[L", "\033[M", "\033[S", "\033[T", "\033M", "\033c", "\xff",
        "\033]0;t\a", "\n\n\n", "a line that is longer than the screen is wide\n"};
    for (int round = 0; round < 1500; round++) {
        struct term_opts o = {.rows = 2 + (int)roll(3), .cols = 5 + (int)roll(9),
                              .head = roll(40), .tail = roll(60),
                              .keep_lines = roll(4) ? 0 : 3, .keep_tabs = roll(2)};
        struct buf in = BUF_INIT(1 << 16);
        struct term_text a, b;
        unsigned used = 0, rows = 0;
        for (unsigned i = 5 + roll(60); i > 0; i--) {
            token(&in, roll(2), &used, &rows);
            if (roll(4) == 0)
                buf_addz(&in, more[roll(sizeof(more) / sizeof(*more))]);
        }
        struct buf whole = render(&o, buf_str(&in), in.n, &a);
        struct buf bytes = render(&o, buf_str(&in), 1, &b);
        CHECK_STR(buf_z(&bytes), buf_z(&whole));
        CHECK(utf8_valid(buf_str(&whole)));
        CHECK_INT(b.lines, a.lines);
        CHECK_INT(b.cut_bytes, a.cut_bytes);
        CHECK_INT(b.cut_lines, a.cut_lines);
        CHECK_INT(b.cut_from, a.cut_from);
        CHECK_INT(b.cut_to, a.cut_to);
        CHECK(a.cut_from <= a.cut_to && a.cut_to <= in.n);
        CHECK(b.alt_screen == a.alt_screen);
        buf_release(&in);
        buf_release(&whole);
        buf_release(&bytes);
    }
}

/* ---- what is left out ---- */

static void add_number(struct buf *out, const struct term_text *info, void *arg)
{
    (void)arg;
    buf_addf(out, "<%llu %llu>", (unsigned long long)info->cut_lines,
             (unsigned long long)info->cut_bytes);
}

static unsigned long long count(struct str s, char c)
{
    unsigned long long n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == c;
    return n;
}

/*
 * For text that is its own output: head, marker and tail are exactly the input
 * around [cut_from, cut_to), and the numbers are those of what lies between.
 */
static void cut_is_exact(struct str in, size_t head, size_t tail, size_t step)
{
    struct term_opts o = {.head = head, .tail = tail};
    struct term *t = term_new(&o);
    for (size_t i = 0; i < in.n; i += step)
        term_feed(t, str_sub(in, i, step));
    struct buf got = BUF_INIT(1u << 30), want = BUF_INIT(1u << 30);
    struct term_text info;
    CHECK(term_text(t, &got, &info, add_number, NULL) == 0);
    CHECK(info.cut_from <= info.cut_to && info.cut_to <= in.n);
    struct str a = str_sub(in, 0, info.cut_from);
    struct str cut = str_sub(in, a.n, info.cut_to - info.cut_from);
    struct str b = str_sub(in, info.cut_to, in.n);
    CHECK_INT(info.cut_bytes, cut.n);
    CHECK_INT(info.cut_lines, count(cut, '\n') + (cut.n && cut.p[cut.n - 1] != '\n'));
    CHECK_INT(info.lines, count(in, '\n') + (in.n && in.p[in.n - 1] != '\n'));
    CHECK(utf8_valid(a) && utf8_valid(b));
    buf_adds(&want, a);
    if (cut.n) {
        CHECK(a.n <= head && b.n <= tail);
        if (a.n && a.p[a.n - 1] != '\n')
            buf_addc(&want, '\n');
        add_number(&want, &info, NULL);
        buf_addc(&want, '\n');
    } else {
        CHECK(info.cut_from == 0);
    }
    buf_adds(&want, b);
    CHECK(str_eq(buf_str(&got), buf_str(&want)));
    CHECK((cut.n > 0) == (in.n > head + tail));
    buf_release(&got);
    buf_release(&want);
    term_free(t);
}

TEST(head_and_tail_of_short_text)
{
    struct str in = STR("one\ntwo two two\n\xe6\xbc\xa2\xe5\xad\x97 three\n\nfour");
    for (size_t head = 0; head <= in.n; head++)
        for (size_t tail = 0; tail <= in.n; tail++)
            cut_is_exact(in, head, tail, 3);
}

TEST(head_and_tail_of_long_text)
{
    struct buf in = BUF_INIT(1u << 30);
    for (int i = 0; in.n < (3u << 20); i++)
        buf_addf(&in, "line %d of %.*s.\n", i, 6 + i % 54,
                 "\xc3\xa4\xc3\xb6\xc3\xbc and more words so that the lines are long");
    struct str s = buf_str(&in);
    s.n = utf8_cut(s, s.n);
    CHECK(utf8_valid(s));
    static const size_t kept[] = {0, 1, 100, 16384, 49152, 1 << 20};
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++)
            cut_is_exact(s, kept[i], kept[j], 65536);
    buf_release(&in);
}

TEST(head_and_tail_of_one_long_line)
{
    struct buf in = BUF_INIT(1u << 30);
    while (in.n < (10u << 20))
        buf_addz(&in, "0123456789\xe6\xbc\xa2\xe5\xad\x97");
    cut_is_exact(buf_str(&in), 1000, 3001, 1 << 16);
    cut_is_exact(buf_str(&in), 100002, 300001, 777777);
    cut_is_exact(buf_str(&in), 0, 0, 1 << 20);
    buf_addz(&in, "\nend\n");
    cut_is_exact(buf_str(&in), 1000, 3001, 1 << 20);
    cut_is_exact(buf_str(&in), 1000, 7, 1 << 20);
    buf_release(&in);
}

/* With progress bars and colours, what is left out can still be read from the
 * input: both sides of it alone give the head and the tail. */
TEST(cut_range_in_the_input)
{
    struct buf in = BUF_INIT(1u << 30);
    for (int i = 0; i < 30000; i++) {
        buf_addf(&in, "\033[3%dmitem\033[0m %d:", i % 8, i);
        for (int k = 0; k < i % 5; k++)
            buf_addf(&in, "\r\033[Kitem %d: %d%%", i, k * 25);
        buf_addz(&in, i % 3 ? " done\n" : " \xe2\x9c\x94\r\n");
        if (i % 100 == 99)
            buf_addz(&in, "\033[2Achanged\033[2B\r");
        if (i % 1000 == 999)
            buf_addz(&in, "\033[5;1Hx\033[24;1H\n");
    }
    struct term_opts o = {.rows = 24, .cols = 80, .head = 4096, .tail = 8192};
    struct term_text info;
    struct buf got = render(&o, buf_str(&in), 4096, &info);
    CHECK(info.cut_from > 0 && info.cut_from < info.cut_to && info.cut_to < in.n);
    struct term_opts all = {.rows = 24, .cols = 80, .head = 1 << 30, .tail = 1 << 20};
    struct buf head = render(&all, str_sub(buf_str(&in), 0, info.cut_from), 4096, NULL);
    struct buf tail = render(&all, str_sub(buf_str(&in), info.cut_to, in.n), 4096, NULL);
    struct buf whole = render(&all, buf_str(&in), 4096, NULL);
    CHECK(str_starts(buf_str(&got), buf_str(&head)));
    CHECK(str_ends(buf_str(&got), buf_str(&tail)));
    CHECK(head.n > 2048 && head.n <= 4096 && tail.n > 4096 && tail.n <= 8192);
    CHECK_INT(info.cut_bytes, whole.n - head.n - tail.n);
    buf_release(&in);
    buf_release(&got);
    buf_release(&head);
    buf_release(&tail);
    buf_release(&whole);
}

/* A tab is one byte of input, whatever it is shown as. */
TEST(cut_within_a_tab)
{
    struct term_opts o = {.head = 2, .tail = 5};
    struct term_text info;
    struct str in = STR("\tab");
    struct buf b = render(&o, in, 1, &info);
    CHECK_STR(buf_z(&b), "  \n[... 1 lines, 3 bytes left out ...]\n   ab");
    CHECK(info.cut_from <= info.cut_to && info.cut_to <= in.n);
    buf_release(&b);
    o = (struct term_opts){.head = 2, .tail = 5, .keep_lines = 6};
    in = STR("\t");
    b = render(&o, in, 1, &info);
    CHECK_INT(info.cut_to, 1);
    buf_release(&b);
}

TEST(last_lines)
{
    struct term_opts o = {.head = 1000, .tail = 1000, .keep_lines = 3};
    struct term_text info;
    struct str in = STR("1\n2\n3\n4\n5\n");
    struct buf b = render(&o, in, 1, &info);
    CHECK_STR(buf_z(&b), "[... 2 lines, 4 bytes left out ...]\n3\n4\n5\n");
    CHECK_INT(info.cut_to, 4);
    buf_release(&b);
    in = STR("1\n2\n3\n4\nopen");
    b = render(&o, in, 1, &info);
    CHECK_STR(buf_z(&b), "[... 2 lines, 4 bytes left out ...]\n3\n4\nopen");
    buf_release(&b);
    in = STR("1\n2\n3\n");
    b = render(&o, in, 1, &info);
    CHECK_STR(buf_z(&b), "1\n2\n3\n");
    CHECK_INT(info.cut_bytes, 0);
    buf_release(&b);
}

TEST(out_is_full)
{
    struct term *t = term_new(&roomy);
    struct term_text info;
    struct buf out = BUF_INIT(10);
    term_feed(t, STR("hello world\n"));
    buf_addz(&out, "abc");
    CHECK_INT(term_text(t, &out, &info, NULL, NULL), -1);
    CHECK_STR(buf_z(&out), "abc");
    buf_release(&out);
    term_free(t);
}

/* ---- bounds ---- */

static long peak_kb(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

/* Feeds `part` until `total` bytes went in; memory must not follow. */
static void stays_small(const char *begin, struct str part, size_t total)
{
    struct term_opts o = {.rows = 1000, .cols = 1000, .head = 16384, .tail = 49152};
    struct buf chunk = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
    while (chunk.n < 65536)
        buf_adds(&chunk, part);
    long before = peak_kb();
    struct term *t = term_new(&o);
    struct term_text info;
    term_feed(t, str_of(begin));
    for (size_t n = 0; n < total; n += chunk.n)
        term_feed(t, buf_str(&chunk));
    CHECK(term_text(t, &out, &info, NULL, NULL) == 0);
    CHECK(out.n <= 16384 + 49152 + 100);
    CHECK(utf8_valid(buf_str(&out)));
    term_free(t);
    CHECK(peak_kb() - before < 100 * 1024);
    buf_release(&chunk);
    buf_release(&out);
}

TEST(endless_osc) { stays_small("\033]0;", STR("abcdefgh"), 100 << 20); }
TEST(endless_dcs) { stays_small("\033P", STR("ab\acdefgh\n"), 20 << 20); }
TEST(endless_parameters) { stays_small("\033[", STR("99999999999;"), 20 << 20); }
TEST(endless_intermediates) { stays_small("\033[1", STR("   !!"), 5 << 20); }
TEST(endless_line) { stays_small("", STR("0123456789"), 20 << 20); }
TEST(endless_edited_line) { stays_small("ab\b", STR("0123456789"), 5 << 20); }
TEST(endless_marks) { stays_small("e", STR("\xcc\x81"), 2 << 20); }
TEST(endless_marks_on_a_cell) { stays_small("ab\b", STR("\xcc\x81"), 2 << 20); }
TEST(endless_marks_on_a_screen) { stays_small("\033[He", STR("\xcc\x81"), 1 << 20); }
TEST(endless_blanks) { stays_small("", STR("  \t "), 5 << 20); }
TEST(endless_empty_lines) { stays_small("", STR("\n"), 20 << 20); }
TEST(endless_wide_rows)
{
    stays_small("", STR("\033[99999999999999999999C\xe6\xbc\xa2\n\033[A\033[1Bx\vy"),
                1 << 20);
}
TEST(endless_up_and_down)
{
    stays_small("", STR("\033[999999B\033[9999Cx\033[99999Ay\033[J"), 1 << 17);
}
TEST(endless_inserts) { stays_small("ab\r", STR("\033[99999@x"), 1 << 17); }
TEST(endless_screens)
{
    stays_small("", STR("\033[H\033[2Jx\033[?1049hy\033[?1049l\n\n"), 1 << 16);
}

T_MAIN
