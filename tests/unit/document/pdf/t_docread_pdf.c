/* SPDX-License-Identifier: MIT */
/*
 * PDF files made here, by hand: what is drawn is read, whatever way it is packed,
 * and what was made to do harm ends with an error.
 */
#define T_LIMIT_S 100
#include "base/enc.h"
#include "document/own.h"
#include "document/pdf/own.h"
#include "document/pdf/pdf.h"
#include "text/glyph.h"

#include "encrypted.h"
#include "t.h"

#include <zlib.h>

/* ---- making ---- */

enum { OBJECTS = 64 };

static struct buf file = BUF_INIT(64 << 20), text = BUF_INIT(4 << 20);
static size_t at[OBJECTS];
static struct err err;

static void add(const char *s) { CHECK_INT(buf_addz(&file, s), 0); }

static void begin(void)
{
    buf_reset(&file);
    memset(at, 0, sizeof(at));
    add("%PDF-1.5\n");
}

static void object(int n, const char *body)
{
    at[n] = file.n;
    CHECK_INT(buf_addf(&file, "%d 0 obj\n%s\nendobj\n", n, body), 0);
}

static void stream_of(int n, const char *dict, struct str bytes)
{
    at[n] = file.n;
    CHECK_INT(buf_addf(&file, "%d 0 obj\n<<%s/Length %zu>>\nstream\n", n, dict, bytes.n),
              0);
    CHECK_INT(buf_adds(&file, bytes), 0);
    add("\nendstream\nendobj\n");
}

static void stream(int n, const char *dict, const char *bytes)
{
    stream_of(n, dict, str_of(bytes));
}

/* The table of what was written, and the trailer. */
static void end(const char *extra)
{
    size_t table = file.n;
    CHECK_INT(buf_addf(&file, "xref\n0 %d\n", OBJECTS), 0);
    for (int i = 0; i < OBJECTS; i++)
        CHECK_INT(buf_addf(&file, "%010zu %05d %c \n", at[i], at[i] ? 0 : 65535,
                           at[i] ? 'n' : 'f'),
                  0);
    CHECK_INT(buf_addf(&file,
                       "trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%zu\n%%%%EOF\n",
                       OBJECTS, extra, table),
              0);
}

/* One page whose content is object 4, and a font of equal widths. */
static void frame(void)
{
    begin();
    object(1, "<</Type/Catalog/Pages 2 0 R>>");
    object(2, "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]>>");
    object(3,
           "<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R/G 6 0 R>>"
           "/XObject<</X 7 0 R/Y 8 0 R>>/Properties<</P 9 0 R>>>>>>");
    object(5, "<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding>>");
}

static int read_file(void)
{
    buf_reset(&text);
    err = (struct err)ERR_INIT;
    int rc = docread_pdf(buf_str(&file), false, &text, &err);
    CHECK(rc == 0 || (err.code && err.text[0] && !text.n));
    return rc;
}

static void check_text(const char *want)
{
    if (read_file() < 0)
        T_FAIL("%s", err.text);
    CHECK_STR(buf_z(&text), want);
}

/* A page of this content says that. */
static void check_page(const char *content, const char *want)
{
    frame();
    stream(4, "", content);
    end("");
    char all[4096];
    snprintf(all, sizeof(all), "@@ Page 1 @@\n%s\n", want);
    check_text(all);
}

static void check_font(const char *font, const char *string, const char *want)
{
    char content[512], all[512];
    frame();
    object(6, font);
    snprintf(content, sizeof(content), "BT /G 10 Tf 50 700 Td %s Tj ET", string);
    stream(4, "", content);
    end("");
    snprintf(all, sizeof(all), "@@ Page 1 @@\n%s\n", want);
    check_text(all);
}

static void check_error(enum err_code code, const char *part)
{
    if (read_file() == 0)
        T_FAIL("no error, but: %.200s", buf_z(&text));
    CHECK_INT(err.code, code);
    if (!strstr(err.text, part))
        T_FAIL("\"%s\" has no \"%s\" in it", err.text, part);
}

/* ---- what is drawn ---- */

TEST(lines_and_words)
{
    check_page("BT /F 10 Tf 50 700 Td (Hello) Tj ( world) Tj 0 -12 Td (next) Tj ET",
               "Hello world\nnext");
    /* Words are apart because they stand apart; kerning does not part them. */
    check_page("BT /F 10 Tf 50 700 Td [(Ta)30(ble)-500(two)] TJ ET", "Table two");
    check_page("BT /F 10 Tf 12 TL 50 700 Td (a) Tj T* (b) Tj (c) ' 1 2 (d) \" ET",
               "a\nb\nc\nd");
    check_page("BT /F 10 Tf 1 0 0 1 50 700 Tm (x) Tj 6 Ts (2) Tj 0 Ts (y) Tj ET",
               "2\nx y");
    check_page("BT /F 10 Tf 1 0 0 1 50 700 Tm (x) Tj /F 6 Tf 3 Ts (2) Tj ET", "x2");
    check_page("BT /F 10 Tf 50 700 Td 3 Tc (abc) Tj ET", "a b c");
    check_page("q .1 0 0 .1 0 0 cm BT /F 100 Tf 500 7000 Td (small) Tj ET Q", "small");
    check_page("BT /F 10 Tf 50 700 Td (a\\(b\\)\\\n\\101\\\\) Tj <4142 4> Tj ET",
               "a(b)A\\AB@");
}

TEST(words_divided_at_the_end_of_a_line)
{
    check_page("BT /F 10 Tf 50 700 Td (divi-) Tj 0 -12 Td (ded) Tj ET", "divided");
    check_page("BT /F 10 Tf 50 700 Td (GNU-) Tj 0 -12 Td (Linux) Tj ET", "GNU-\nLinux");
    check_page("BT /F 10 Tf 50 700 Td (caf\\351-) Tj 0 -12 Td (\\351e) Tj ET", "caféée");
    check_page("BT /F 10 Tf 50 700 Td (soft\\255) Tj 0 -12 Td (ly) Tj ET", "softly");
    check_font("<</Subtype/Type0/Encoding/UniGB-UTF16-H/DescendantFonts[<<>>]>>",
               "<0438043D00AD2010> Tj 0 -12 Td <0444043E>", "инфо");
}

TEST(letters_that_are_apart_for_looks)
{
    check_page("BT /F 10 Tf 50 700 Td 3 Tc (Set apart) Tj ET", "Set apart");
    check_page("BT /F 10 Tf 50 700 Td [(s)-300(e)-300(t)-900(u)-300(p)] TJ ET", "set up");
    /* No blank tells these from words of one letter. */
    check_page("BT /F 10 Tf 50 700 Td [(a)-300(b)-300(c)-300(d)] TJ ET", "a b c d");
    check_page("BT /F 10 Tf 50 700 Td (a = b + c) Tj ET", "a = b + c");
}

TEST(text_drawn_twice_is_said_once)
{
    check_page("BT /F 10 Tf 50 700 Td (bold) Tj ET BT /F 10 Tf 50.3 700 Td (bold) Tj ET",
               "bold");
    check_page("BT /F 10 Tf 50 700 Td (a bold heading) Tj .4 0 Td (a bold heading) Tj ET",
               "a bold heading");
    check_page("BT /F 10 Tf 50 700 Td (bold) Tj ET BT /F 10 Tf 90 700 Td (bold) Tj ET",
               "bold bold");
}

TEST(columns_stay_in_the_order_of_the_page)
{
    check_page("BT /F 10 Tf 50 700 Td (left 1) Tj 0 -12 Td (left 2) Tj ET "
               "BT /F 10 Tf 350 700 Td (right 1) Tj 0 -12 Td (right 2) Tj ET",
               "left 1\nleft 2\nright 1\nright 2");
}

TEST(what_is_drawn_in_no_order_is_put_in_one)
{
    char content[4096] = "";
    for (int i = 0; i < 20; i++) { /* from the bottom to the top */
        char one[64];
        snprintf(one, sizeof(one), "BT /F 10 Tf 50 %d Td (line%d) Tj ET ", 100 + 20 * i,
                 20 - i);
        strncat(content, one, sizeof(content) - strlen(content) - 1);
    }
    strncat(content, "BT /F 10 Tf 300 480 Td (beside) Tj ET",
            sizeof(content) - strlen(content) - 1);
    frame();
    stream(4, "", content);
    end("");
    CHECK_INT(read_file(), 0);
    if (strncmp(buf_z(&text), "@@ Page 1 @@\nline1 beside\nline2\nline3\n", 38) != 0)
        T_FAIL("not in order: %.80s", buf_z(&text));
}

/* `n` lines of the word, numbered, 12 apart, from there downward. */
static void column(char *content, size_t room, int x, int y, const char *word, int n)
{
    for (int i = 0; i < n; i++) {
        size_t used = strlen(content);
        snprintf(content + used, room - used, "BT /F 10 Tf %d %d Td (%s%d) Tj ET ", x,
                 y - 12 * i, word, i + 1);
    }
}

TEST(columns_are_read_one_after_the_other)
{
    char content[4096] = "";
    /* They are drawn line by line, and lines of one height are no row of a table. */
    for (int i = 0; i < 5; i++) {
        column(content, sizeof(content), 50, 700 - 12 * i, "left", 1);
        column(content, sizeof(content), 350, 700 - 12 * i, "right", 1);
    }
    check_page(content, "left1\nleft1\nleft1\nleft1\nleft1\n"
                        "right1\nright1\nright1\nright1\nright1");
}

TEST(a_heading_follows_a_title_in_the_middle)
{
    check_page("BT /F 20 Tf 250 700 Td (Title) Tj /F 12 Tf -200 -50 Td (Heading) Tj "
               "/F 10 Tf 0 -30 Td (Text that is as wide as the page, and a bit more.) Tj "
               "200 -600 Td (7) Tj ET",
               "Title\nHeading\nText that is as wide as the page, and a bit more.\n7");
}

TEST(what_spans_columns_parts_them)
{
    char content[8192] = "";
    column(content, sizeof(content), 50, 500, "c", 5);
    column(content, sizeof(content), 350, 500, "d", 5);
    column(content, sizeof(content), 50, 700, "a", 5);
    column(content, sizeof(content), 350, 700, "b", 5);
    strcat(content, "BT /F 16 Tf 50 560 Td (a heading that is over all of them) Tj ET");
    check_page(content, "a1\na2\na3\na4\na5\nb1\nb2\nb3\nb4\nb5\n"
                        "a heading that is over all of them\n"
                        "c1\nc2\nc3\nc4\nc5\nd1\nd2\nd3\nd4\nd5");
    /* Headings of one height in both columns are of their columns. */
    content[0] = '\0';
    column(content, sizeof(content), 50, 640, "a", 7);
    column(content, sizeof(content), 350, 640, "b", 7);
    strcat(content, "BT /F 14 Tf 50 670 Td (left) Tj 300 0 Td (right) Tj ET");
    check_page(content, "left\na1\na2\na3\na4\na5\na6\na7\n"
                        "right\nb1\nb2\nb3\nb4\nb5\nb6\nb7");
}

TEST(tables_are_read_row_by_row)
{
    char content[4096] = "";
    for (int i = 3; i > 0; i--) { /* drawn from the right, and from below */
        column(content, sizeof(content), 50 + 100 * i, 640, "z", 1);
        column(content, sizeof(content), 50 + 100 * i, 670, "y", 2);
        column(content, sizeof(content), 50 + 100 * i, 700, "x", 1);
    }
    check_page(content, "x1 x1 x1\ny1\ny2\ny1\ny2\ny1\ny2\nz1 z1 z1");
    /* Names and values of a form, each by itself. */
    check_page("BT /F 10 Tf 50 700 Td (name) Tj 0 -30 Td (place) Tj "
               "200 30 Td (Ada) Tj 0 -30 Td (London) Tj ET",
               "name Ada\nplace London");
}

TEST(a_page_of_too_many_pieces_stays_as_it_is_drawn)
{
    static char content[65536];
    content[0] = '\0';
    for (int i = 0; i < 450; i++) /* apart from each other on every side */
        column(content, sizeof(content), 20 + i * 37 % 15 * 38, 20 + i / 15 * 25, "w", 1);
    frame();
    stream(4, "", content);
    end("");
    CHECK_INT(read_file(), 0);
    CHECK_INT(text.n, strlen("@@ Page 1 @@\n") + 450 * strlen("w1 "));
}

TEST(indices_stay_with_their_words)
{
    /* The smaller letters are drawn last, and stand higher and lower. */
    check_page("BT /F 10 Tf 50 700 Td (see) Tj 30 0 Td (that) Tj 0 -12 Td (note) Tj ET "
               "BT /F 6 Tf 68 704 Td (1) Tj 36 -6 Td (2) Tj ET",
               "see1 that2\nnote");
    /* A name whose letters dance: of one size, a fifth lower; smaller, and higher. */
    check_page("BT /F 10 Tf 50 700 Td (L) Tj /F 7 Tf 5 2 Td (a) Tj "
               "/F 10 Tf 4 -2 Td (T) Tj 5 -2.2 Td (e) Tj 5 2.2 Td (X) Tj ET",
               "LaTeX");
}

TEST(accents_that_are_drawn_upon_letters)
{
    static const char encoding[] =
        "<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding<</Differences["
        "1/dieresis/cedilla/dotlessi/acute/macron/circumflex]>>>>";
    check_font(encoding, "[(\\001)600(uber c)600(\\002)] TJ ( )", "\u00fcber \u00e7");
    check_font(encoding, "[(\\004)600(\\003 \\005)600(k)] TJ ( )", "\u00ed k\u0304");
    /* Between letters it is none. */
    check_font(encoding, "(2\\0062 x\\004)", "2\u02c62 x\u00b4");
}

TEST(turned_text)
{
    check_page("BT /F 10 Tf 0 1 -1 0 50 300 Tm (going up) Tj ET", "going up");
    check_page("BT /F 10 Tf -1 0 0 -1 300 300 Tm (upside down) Tj ET", "upside down");
    check_page("BT /F 20 Tf .7 .7 -.7 .7 100 100 Tm (SLANTED) Tj ET", "SLANTED");
}

TEST(text_that_runs_down)
{
    static const char horizontal[] =
        "<</Subtype/Type0/Encoding/90ms-RKSJ-H/DescendantFonts[<<>>]>>";
    check_font("<</Subtype/Type0/Encoding/90ms-RKSJ-V/DescendantFonts[<<>>]>>",
               "(\x93\xfa\x96\x7b) Tj -15 0 Td (\x8c\xea)", "日本\n語");
    check_font(horizontal,
               "(\x93\xfa) Tj 0 -10 Td (\x96\x7b) Tj -15 10 Td (\x8c\xea) Tj "
               "0 -10 Td (\x81\x42)",
               "日本\n語。");
    /* The next line, not the next letter. */
    check_font(horizontal, "(\x93\xfa) Tj 0 -13 Td (\x96\x7b)", "日\n本");
}

TEST(text_outside_of_the_page_is_not_said)
{
    check_page("BT /F 10 Tf 50 900 Td (out) Tj 0 -200 Td (in) Tj ET", "in");
}

TEST(forms)
{
    frame();
    stream(4, "", "/X Do BT /F 10 Tf 50 100 Td (after) Tj ET");
    stream(7, "/Subtype/Form/Matrix[1 0 0 1 50 500]/Resources<</Font<</H 5 0 R>>>>",
           "BT /H 10 Tf (in a form) Tj ET");
    end("");
    check_text("@@ Page 1 @@\nin a form\nafter\n");
}

TEST(pictures_within_content)
{
    check_page("BI /W 2 /H 2 ID \x01(EI)\xff EI BT /F 10 Tf 50 100 Td (after) Tj ET",
               "after");
}

TEST(text_that_is_said)
{
    check_page("/S <</ActualText(said)>> BDC BT /F 10 Tf 50 100 Td (xyz) Tj ET EMC",
               "said");
    check_page(
        "/S <</ActualText(\xfe\xff\x04\x16)>> BDC /T BMC BT /F 10 Tf 50 100 Td (x) Tj "
        "ET EMC EMC BT /F 10 Tf 56 100 Td (y) Tj ET",
        "Жy");
    frame();
    object(9, "<</ActualText(by name)>>");
    stream(4, "", "/S /P BDC BT /F 10 Tf 50 100 Td (x) Tj ET EMC");
    end("");
    check_text("@@ Page 1 @@\nby name\n");
}

TEST(several_contents_are_one)
{
    begin();
    object(1, "<</Pages 2 0 R>>");
    object(2, "<</Kids[3 0 R 6 0 R]/Resources<</Font<</F 5 0 R>>>>>>");
    object(3, "<</Contents[4 0 R 7 0 R]>>");
    object(6, "<</Contents 8 0 R>>");
    object(5, "<</Subtype/Type1/BaseFont/Courier>>");
    stream(4, "", "BT /F 10 Tf 50 700 Td (o");
    stream(7, "", "ne) Tj ET");
    stream(8, "", "BT /F 10 Tf 50 700 Td (two) Tj ET");
    end("");
    check_text(
        "@@ Page 1 @@\no ne\n\n@@ Page 2 @@\ntwo\n[1 characters are missing above: "
        "their fonts do not say which ones they are.]\n");
}

/* ---- filters ---- */

static void check_filter(const char *dict, struct str packed, const char *want)
{
    char all[128];
    frame();
    stream_of(4, dict, packed);
    end("");
    snprintf(all, sizeof(all), "@@ Page 1 @@\n%s\n", want);
    check_text(all);
}

#define CONTENT "BT /F 10 Tf 50 700 Td (packed) Tj ET"

static struct str deflated(struct str s)
{
    static unsigned char out[1 << 20];
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)s.p,
                  .avail_in = (unsigned)s.n,
                  .next_out = out,
                  .avail_out = sizeof(out)};
    CHECK_INT(deflateInit(&z, 9), Z_OK);
    CHECK_INT(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return str_n(out, sizeof(out) - z.avail_out);
}

TEST(filters)
{
    struct str z = deflated(STR(CONTENT));
    check_filter("/Filter/FlateDecode", z, "packed");
    check_filter("/Filter[/FlateDecode]/DecodeParms[null]", z, "packed");
    /* Its checksum is cut off, and its head is missing. */
    check_filter("/Filter/FlateDecode", str_sub(z, 0, z.n - 4), "packed");
    check_filter("/Filter/FlateDecode", str_sub(z, 2, z.n), "packed");
    check_filter("/Filter/ASCIIHexDecode",
                 STR("4254202F462031302054662035302037303020546420286829 20546A 204554>"),
                 "h");
    check_filter("/Filter/RunLengthDecode",
                 STR("\x1a"
                     "BT /F 10 Tf 50 700 Td (abcd"
                     "\xfe"
                     "e\x06)Tj ET\n\x80"),
                 "abcdeee");
    check_filter("/Filter/ASCII85Decode",
                 STR("6<#'\\7NaE>+B2qq2)$.30JFVKA0<9P/M/P+5qOZ?67F$VC*5rE~>"),
                 "-----A---B");
}

TEST(lzw)
{
    /* The example of ISO 32000-1, 7.4.4.2, as an object's text. */
    struct pdf d = {.work = 1000, .unpack = 1000};
    struct pdf_pair filter = {STR("Filter"), {.type = PDF_NAME, .s = STR("LZWDecode")}};
    struct pdf_stream s = {.dict = {1, &filter},
                           .raw = STR("\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01")};
    struct buf out = BUF_INIT(100);
    CHECK_INT(pdf_unpack(&d, &s, &out), 0);
    CHECK_STR(buf_z(&out), "-----A---B");
    buf_release(&out);
}

TEST(predictors)
{
    struct pdf d = {.work = 1000, .unpack = 1000};
    struct arena *a = &d.arena;
    arena_init(a, 1 << 20);
    struct pdf_lex l = {.d = &d, .a = a};
    l.s = STR("<</Filter/AHx/DecodeParms<</Predictor 15/Columns 3>>>>");
    struct pdf_stream s = {.dict = *pdf_parse(&l).dict};
    struct buf out = BUF_INIT(100);
    /* a row of each kind: none, left, up, mean, Paeth */
    s.raw = STR("00 616263 01 610101 02 000001 03 310000 04 000000 >");
    CHECK_INT(pdf_unpack(&d, &s, &out), 0);
    CHECK_MEM(out.p, out.n, "abcabcabdaabaab");
    buf_release(&out);
    arena_release(a);
}

/* ---- fonts ---- */

TEST(encodings)
{
    check_font("<</Subtype/Type1/BaseFont/X/Encoding/WinAnsiEncoding>>",
               "(\\223\\200\\351)", "“€é");
    check_font("<</Subtype/Type1/BaseFont/X/Encoding/MacRomanEncoding>>", "(\\216\\322)",
               "é“");
    check_font("<</Subtype/Type1/BaseFont/X>>", "(`a'\\256\\252)", "‘a’fi“");
    check_font("<</Subtype/Type1/BaseFont/ABCDEF+Symbol>>", "(ab\\245)", "αβ∞");
    check_font("<</Subtype/Type1/BaseFont/ZapfDingbats>>", "(4l)", "✔●");
    check_font("<</Subtype/Type1/BaseFont/X/Encoding<</BaseEncoding/WinAnsiEncoding"
               "/Differences[65/alpha/f_f_i 67/uni0416/u1F600/afii10017/summationdisplay"
               "/Zcaron.sc/g97/space]>>>>",
               "(ABCDEFGHIJ)", "αffiЖ😀А∑Ža J");
}

TEST(names_that_only_the_font_knows)
{
    check_font("<</Subtype/Type3/FontMatrix[.001 0 0 .001 0 0]/Encoding<</Differences"
               "[65/BD/BE/AE/CR]>>>>",
               "(ABCD)", "ABCD");
    check_font("<</Subtype/Type3/FontMatrix[.001 0 0 .001 0 0]/Encoding<</Differences"
               "[65/x/y/BE]>>>>",
               "(AB)", "xy");
    /* Letters of 30 points at size 10: three points are no blank between them. */
    check_font("<</Subtype/Type3/FontMatrix[.1 0 0 .1 0 0]/Encoding/WinAnsiEncoding"
               "/FirstChar 65/Widths[30 30 30]>>",
               "[(A)-300(B)-2000(C)] TJ ()", "AB C");
}

TEST(names_of_glyphs)
{
    static const char *const names[][2] = {{"A", "A"},
                                           {"AE", "Æ"},
                                           {"zeta", "ζ"},
                                           {"zerosuperior", "⁰"},
                                           {"space", " "},
                                           {"quoteright", "’"},
                                           {"ff", "ﬀ"},
                                           {"Lslash", "Ł"},
                                           {"dcroat", "đ"},
                                           {"hungarumlaut", "˝"},
                                           {"Omega", "Ω"},
                                           {"arrowdblboth", "⇔"},
                                           {"commaaccent", ""},
                                           {"eacute", "é"},
                                           {"H18533", "■"},
                                           {"SF100000", "─"},
                                           {"uni00410042", "AB"},
                                           {"uniD800", ""},
                                           {"", ""},
                                           {"afii10097", "я"},
                                           {"parenleftbigg", "("},
                                           {"a_b_c", "abc"},
                                           {"one.oldstyle", "1"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char out[32];
        size_t n = glyph_text(str_of(names[i][0]), out, sizeof(out));
        if (strcmp(names[i][0], "commaaccent") == 0) {
            CHECK_INT(n, 2);
            continue;
        }
        if (n != strlen(names[i][1]) || memcmp(out, names[i][1], n) != 0)
            T_FAIL("%s is \"%.*s\", not \"%s\"", names[i][0], (int)n, out, names[i][1]);
    }
    CHECK_MEM(glyph_cff_string(1).p, glyph_cff_string(1).n, "space");
    CHECK_MEM(glyph_cff_string(228).p, glyph_cff_string(228).n, "zcaron");
    CHECK_INT(glyph_cff_string(229).n, 0);
    CHECK_INT(glyph_cff_string(0).n, 0);
}

#define CMAP \
    "1 begincodespacerange <0000> <ffff> endcodespacerange\n" \
    "2 beginbfrange <0001> <0003> <0041> <0010> <0012> [<00660069> <D83DDE00> /alpha] " \
    "endbfrange\n1 beginbfchar <0020> <FB03> endbfchar"

/* Of TeX: the codes of Cork, with names that only repeat them; OT1; TS1. */
TEST(fonts_of_tex_that_are_pictures)
{
    check_font("<</Subtype/Type3/FontMatrix[.001 0 0 .001 0 0]/Encoding<</Differences["
               "16/a16/a17 22/a22 30/a30 101/a101 233/a233]>>>>",
               "(\\020e\\036\\351\\026\\021)", "“effié—”");
    check_font("<</Subtype/Type3/FontMatrix[.001 0 0 .001 0 0]/Encoding<</Differences["
               "12/xq 110/xr]>>>>",
               "(\\014nd) Tj ( \\210)", "find •");
}

TEST(to_unicode)
{
    frame();
    stream(4, "", "BT /G 10 Tf 50 700 Td <000100030010001100120020> Tj ET");
    object(6, "<</Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</DW "
              "500>>]/ToUnicode 10 0 "
              "R>>");
    stream(10, "", CMAP);
    end("");
    check_text("@@ Page 1 @@\nACfi😀αffi\n");
}

TEST(widths_that_files_need_not_say)
{
    static const char font[] = "<</Type/Font/Subtype/Type1/Encoding/WinAnsiEncoding"
                               "/BaseFont/";
    static const struct {
        const char *name, *string, *want;
    } cases[] = {
        {"Helvetica", "(WWW) Tj 28.3 0 Td (x)", "WWWx"},
        {"Helvetica-Oblique", "(lll) Tj 6.7 0 Td (x)", "lllx"},
        {"Helvetica-Bold", "(lll) Tj 8.3 0 Td (x)", "lllx"},
        {"Times-Roman", "(\\223\\223\\223) Tj 13.3 0 Td (x)", "\u201c\u201c\u201cx"},
        {"Times-Italic", "(\\311\\311\\311) Tj 18.3 0 Td (x)", "\u00c9\u00c9\u00c9x"},
        {"Times-BoldItalic", "(WWW) Tj 26.7 0 Td (x)", "WWWx"},
        {"Times-Bold", "(mmm) Tj 25 0 Td (x)", "mmmx"},
        {"Courier-Bold", "(iii) Tj 18 0 Td (x)", "iiix"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char object[256];
        snprintf(object, sizeof(object), "%s%s>>", font, cases[i].name);
        check_font(object, cases[i].string, cases[i].want);
    }
}

TEST(widths_of_wide_fonts)
{
    frame();
    /* The second code is 100 wide, so that the third would stand apart without W. */
    stream(4, "",
           "BT /G 10 Tf 50 700 Td <00010002> Tj ET BT /G 10 Tf 61 700 Td <0003> Tj ET");
    object(6,
           "<</Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</DW 1000/W[2[100] 7 9 "
           "300]>>]/ToUnicode 10 0 R>>");
    stream(10, "", CMAP);
    end("");
    check_text("@@ Page 1 @@\nABC\n");
}

TEST(hebrew_and_arabic)
{
    /* As it looks: the last letter first, Latin words and numbers as they are. */
    check_font("<</Subtype/Type0/Encoding/UniGB-UTF16-H/DescendantFonts[<<>>]>>",
               "<05D205D105D000200028004100420029002006450020003100320020>",
               "12 م (AB) אבג");
    check_font("<</Subtype/Type0/Encoding/UniGB-UTF16-H/DescendantFonts[<<>>]>>",
               "<00410042004300200064006500200028 05D105D000290020 0066>",
               "ABC de (אב) f");
}

TEST(fonts_that_say_nothing)
{
    check_font("<</Subtype/Type0/Encoding/Identity-H/DescendantFonts[<<>>]>>",
               "<00410042>",
               "[The fonts of this file do not say which characters they draw: it needs "
               "character recognition, or a model that sees.]");
}

TEST(codes_that_are_characters)
{
    check_font("<</Subtype/Type0/Encoding/UniGB-UTF16-H/DescendantFonts[<<>>]>>",
               "<4E2D6587D83DDE00>", "中文😀");
    check_font("<</Subtype/Type0/Encoding/UniJIS-UTF8-H/DescendantFonts[<<>>]>>",
               "(\xe4\xb8\xad\xe6\x96\x87)", "中文");
    check_font("<</Subtype/Type0/Encoding/UniKS-UTF32-H/DescendantFonts[<<>>]>>",
               "<0001F6000000AC00>", "😀가");
    /* Letters are as wide as their numbers in the collection say. */
    check_font(
        "<</Subtype/Type0/Encoding/UniGB-UCS2-H/DescendantFonts[<</W[1 95 500]>>]>>",
        "<00410042> Tj 10 0 Td <0043>", "ABC");
}

TEST(east_asian_sets)
{
    check_font(
        "<</Subtype/Type0/Encoding/GBK-EUC-H/DescendantFonts[<</W[814[500 500]]>>]>>",
        "(\xd6\xd0!!\xc5\xf4)", "中!!鹏");
    check_font("<</Subtype/Type0/Encoding/90ms-RKSJ-H/DescendantFonts[<<>>]>>",
               "(\xb1\x93\xfa)", "ｱ日");
    check_font("<</Subtype/Type0/Encoding/EUC-V/DescendantFonts[<<>>]>>", "(\xc6\xfc)",
               "日");
    check_font("<</Subtype/Type0/Encoding/ETen-B5-H/DescendantFonts[<<>>]>>",
               "(\xa4\xa4)", "中");
    check_font("<</Subtype/Type0/Encoding/KSCms-UHC-H/DescendantFonts[<<>>]>>",
               "(\xb0\xa1\x81\x41)", "가갂");
    /* What has no character is counted, and so are sets that nobody knows. */
    check_font(
        "<</Subtype/Type0/Encoding/GBK-EUC-H/DescendantFonts[<<>>]>>", "(!\xff)",
        "!\n[1 characters are missing above: their fonts do not say which ones they "
        "are.]");
    check_font("<</Subtype/Type0/Encoding/CNS-EUC-H/DescendantFonts[<<>>]>>",
               "(\xa4\xa4)",
               "[The fonts of this file do not say which characters they draw: it needs "
               "character recognition, or a model that sees.]");
}

TEST(numbers_of_adobes_collections)
{
    static const struct {
        const char *ordering, *cids, *want;
    } cases[] = {{"GB1", "<0022 03AC 1257>", "A啊亍"},    /* 34, 940, 4695 */
                 {"Japan1", "<0022 0465 0FFA>", "A亜弌"}, /* 1125, 4090 */
                 {"CNS1", "<0253 0022>", "一A"},          /* 595 */
                 {"Korea1", "<043E 0022>", "가A"}};       /* 1086 */
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char font[256];
        snprintf(font, sizeof(font),
                 "<</Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</CIDSystemInfo"
                 "<</Registry(Adobe)/Ordering(%s)/Supplement 0>>>>]>>",
                 cases[i].ordering);
        check_font(font, cases[i].cids, cases[i].want);
    }
}

/* CFF: a head, one name, one dictionary, one string, no subroutines. */
static const char cff[] = "\1\0\4\1"
                          "\0\1\1\1\2X"
                          "\0\1\1\1\x13"
                          "\x1d\0\0\0\x2d\x0f\x1d\0\0\0\x32\x10\x1d\0\0\0\x36\x11"
                          "\0\1\1\1\6alpha"
                          "\0\0"
                          "\0\0\x22\1\x87"
                          "\0\2\x41\x42"
                          "\0\3\1\1\2\3\4\x0e\x0e\x0e";

TEST(encodings_inside_of_fonts)
{
    frame();
    stream(4, "", "BT /G 10 Tf 50 700 Td (AB) Tj ET");
    object(6, "<</Subtype/Type1/BaseFont/X/FontDescriptor<</FontFile 10 0 R>>>>");
    stream(10, "",
           "%!PS\n/Encoding 256 array\ndup 65 /alpha put\ndup 66/beta put\nreadonly "
           "def\neexec "
           "dup 65 /no put");
    end("");
    check_text("@@ Page 1 @@\nαβ\n");

    frame();
    stream(4, "", "BT /G 10 Tf 50 700 Td (BA) Tj ET");
    object(6, "<</Subtype/Type1/BaseFont/X/FontDescriptor<</FontFile3 10 0 R>>>>");
    stream_of(10, "/Subtype/Type1C", str_n(cff, sizeof(cff) - 1));
    end("");
    check_text("@@ Page 1 @@\nαA\n");
}

TEST(glyphs_of_fonts_inside)
{
    /* "cmap": U+0391 and the next are glyphs 1 and 2; "post": 3 is A, 4 is beta. */
    static const char sfnt[] = "\0\1\0\0\0\2\0\0\0\0\0\0"
                               "cmap\0\0\0\0\0\0\0\x2c\0\0\0\x2c"
                               "post\0\0\0\0\0\0\0\x58\0\0\0\x31"
                               "\0\0\0\1\0\3\0\1\0\0\0\x0c"
                               "\0\4\0\x20\0\0\0\4\0\0\0\0\0\0"
                               "\3\x92\xff\xff\0\0\3\x91\xff\xff\xfc\x70\0\1\0\0\0\0"
                               "\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                               "\0\0\0\0\0\0\0\0"
                               "\0\5\0\0\0\x24\0\0\0\x24\1\2\4beta";
    static const char map[] = "\0\0\0\4\0\3";
    static const char *const fonts[] = {
        "<</Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</FontDescriptor"
        "<</FontFile2 10 0 R>>>>]>>",
        "<</Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</FontDescriptor"
        "<</FontFile2 10 0 R>>/CIDToGIDMap 9 0 R>>]>>"};
    static const char *const want[] = {"@@ Page 1 @@\nΑΒAβ\n", "@@ Page 1 @@\nβA\n"};
    for (size_t i = 0; i < 2; i++) {
        frame();
        stream(4, "",
               i ? "BT /G 10 Tf 50 700 Td <00010002> Tj ET"
                 : "BT /G 10 Tf 50 700 Td <0001000200030004> Tj ET");
        object(6, fonts[i]);
        stream_of(9, "", str_n(map, sizeof(map) - 1));
        stream_of(10, "", str_n(sfnt, sizeof(sfnt) - 1));
        end("");
        check_text(want[i]);
    }
    /* Codes of a font of named glyphs are their numbers. */
    frame();
    stream(4, "", "BT /G 10 Tf 50 700 Td <00020001> Tj ET");
    object(6, "<</Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</FontDescriptor"
              "<</FontFile3 10 0 R>>>>]>>");
    stream_of(10, "/Subtype/CIDFontType0C", str_n(cff, sizeof(cff) - 1));
    end("");
    check_text("@@ Page 1 @@\nαA\n");
}

/* ---- where the objects are ---- */

#define PAGE_CONTENT "BT /F 10 Tf 50 700 Td (found) Tj ET"
#define PAGE_TEXT    "@@ Page 1 @@\nfound\n"

/* A file whose objects 1, 2, 3 and 5 are in a stream, and whose table is one. */
static void packed(void)
{
    static const char *const bodies[] = {
        "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        "<</Subtype/Type1/BaseFont/Courier>>"};
    static const int numbers[] = {1, 2, 3, 5};
    struct buf head = BUF_INIT(4096), body = BUF_INIT(4096), rows = BUF_INIT(4096);
    for (int i = 0; i < 4; i++) {
        buf_addf(&head, "%d %zu ", numbers[i], body.n);
        buf_addf(&body, "%s ", bodies[i]);
    }
    char dict[256];
    snprintf(dict, sizeof(dict), "/Type/ObjStm/N 4/First %zu/Filter/FlateDecode", head.n);
    buf_adds(&head, buf_str(&body));
    begin();
    stream_of(4, "/Filter/FlateDecode", deflated(STR(PAGE_CONTENT)));
    stream_of(6, dict, deflated(buf_str(&head)));
    at[7] = file.n;
    for (int i = 0; i < 8; i++) {
        bool in = i == 1 || i == 2 || i == 3 || i == 5;
        size_t value = in ? 6 : at[i];
        char row[] = {(char)(in      ? 2
                             : value ? 1
                                     : 0),
                      (char)(value >> 8), (char)value,
                      (char)(i == 5 ? 3
                             : in   ? i - 1
                                    : 0)};
        buf_add(&rows, "\0", 1); /* the predictor's kind */
        buf_add(&rows, row, sizeof(row));
    }
    size_t table = file.n;
    stream_of(7,
              "/Type/XRef/Size 8/W[1 2 1]/Root 1 0 R/Filter/FlateDecode"
              "/DecodeParms<</Predictor 12/Columns 4>>",
              deflated(buf_str(&rows)));
    CHECK_INT(buf_addf(&file, "startxref\n%zu\n%%%%EOF", table), 0);
    buf_release(&head);
    buf_release(&body);
    buf_release(&rows);
}

TEST(objects_in_streams)
{
    packed();
    check_text(PAGE_TEXT);
}

TEST(tables_that_are_wrong)
{
    /* Without its end, objects are found by looking. */
    packed();
    buf_truncate(&file, file.n - 12);
    check_text(PAGE_TEXT);
    frame();
    stream(4, "", PAGE_CONTENT);
    size_t whole = file.n;
    end("");
    check_text(PAGE_TEXT);
    buf_truncate(&file, whole);
    check_text(PAGE_TEXT);
    /* Offsets that lead elsewhere. */
    frame();
    stream(4, "", PAGE_CONTENT);
    for (int i = 1; i < OBJECTS; i++)
        at[i] += at[i] ? 7 : 0;
    end("");
    check_text(PAGE_TEXT);
    /* Bytes before the file begins. */
    struct buf late = BUF_INIT(1 << 20);
    frame();
    stream(4, "", PAGE_CONTENT);
    end("");
    buf_addz(&late, "HTTP/1.1 200 OK\r\n\r\n");
    buf_adds(&late, buf_str(&file));
    buf_reset(&file);
    buf_adds(&file, buf_str(&late));
    buf_release(&late);
    check_text(PAGE_TEXT);
}

TEST(lengths_that_are_wrong)
{
    static const char *const lengths[] = {"3", "99999", "-1", "4 0 R", "(x)", "1e99"};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        char body[256];
        frame();
        at[4] = file.n;
        snprintf(body, sizeof(body),
                 "4 0 obj <</Length %s>> stream\n%s\nendstream endobj\n", lengths[i],
                 PAGE_CONTENT);
        add(body);
        end("");
        check_text(PAGE_TEXT);
    }
}

TEST(later_tables_count)
{
    frame();
    stream(4, "", "BT /F 10 Tf 50 700 Td (old) Tj ET");
    end("");
    size_t first = file.n;
    const char *last = strstr(file.p, "xref\n0");
    char prev[64];
    CHECK(last != NULL);
    snprintf(prev, sizeof(prev), "/Prev %zu", (size_t)(last - file.p));
    stream(4, "", PAGE_CONTENT);
    CHECK(at[4] >= first);
    memset(at, 0, 4 * sizeof(*at));
    end(prev);
    check_text(PAGE_TEXT);
}

/* ---- fields, notes and links ---- */

#define ANNOTATION(kind, more) "<</Type/Annot/Subtype/" kind more ">>"

TEST(annotations)
{
    frame();
    object(3,
           "<</Type/Page/Parent 2 0 R/Resources<</Font<</F 5 0 R>>>>/Contents 4 0 R"
           "/Annots[" ANNOTATION("Widget", "/FT/Tx/T(name)/V(Ann \\(Lee\\))")
               ANNOTATION("Widget", "/Parent 9 0 R/AS/Yes")
                   ANNOTATION("Widget", "/FT/Btn/T(spam)/AS/Off/V/Off") ANNOTATION(
                       "Widget", "/FT/Ch/T(land)/V[(Peru)]") ANNOTATION("Widget",
                                                                        "/FT/Tx/T(empty)")
                       ANNOTATION("FreeText", "/Contents<FEFF0416>/T(Bob)")
                           ANNOTATION("Highlight", "/Contents(why?)")
                               ANNOTATION("Popup", "/Contents(why?)") ANNOTATION(
                                   "Link", "/A<</URI(http://h/)>>")
                                   ANNOTATION("Link", "/A<</URI(http://h/)>>") ANNOTATION(
                                       "Link", "/A<</URI(Hello)>>") "null 7 (x)]>>");
    stream(4, "", "BT /F 10 Tf 50 700 Td (Hello) Tj ET");
    object(9, "<</FT/Btn/T(agree)/V/Yes/Parent 9 0 R>>");
    end("");
    check_text(
        "@@ Page 1 @@\nHello\n[name: Ann (Lee)]\n[☒ agree]\n[☐ spam]\n[land: Peru]\n"
        "[FreeText: Ж]\n[Highlight: why?]\n[http://h/]\n");
}

/* Each button of a group is a widget of its own. */
TEST(radio_buttons_name_their_choice)
{
    frame();
    object(3, "<</Type/Page/Parent 2 0 R/Resources<</Font<</F 5 0 R>>>>/Contents 4 0 R"
              "/Annots[" ANNOTATION("Widget", "/Parent 9 0 R/AS/Off/AP<</N<</Off 4 0 R"
                                              "/Small 4 0 R>>>>")
                  ANNOTATION("Widget", "/Parent 9 0 R/AS/Big/AP<</N<</Big 4 0 R>>>>")
                      ANNOTATION("Widget", "/Parent 8 0 R/AS/1/AP<</N<</1 4 0 R>>>>")
                          ANNOTATION("Widget", "/Parent 8 0 R/AS/Off/AP<</N<</7 4 0 R>>>>")
                              ANNOTATION("Widget", "/Parent 8 0 R/AS/Off/AP 4 0 R") "]>>");
    stream(4, "", "BT /F 10 Tf 50 700 Td (Hello) Tj ET");
    object(9, "<</FT/Btn/Ff 49152/T(size)/V/Big>>");
    object(8, "<</FT/Btn/Ff 49152/T(sex)/Opt[(w)(\\344)]>>");
    end("");
    check_text("@@ Page 1 @@\nHello\n[☐ size: Small]\n[☒ size: Big]\n[☒ sex: ä]\n"
               "[☐ sex: 7]\n[☐ sex]\n");
}

TEST(indexes_stay_in_their_line)
{
    frame();
    stream(4, "",
           "BT /F 10 Tf 50 700 Td (x) Tj /F 7 Tf 0 4 Td 5 0 Td (2) Tj /F 10 Tf 5 -4 Td "
           "(+ H) Tj "
           "/F 7 Tf 17 -3 Td (2) Tj /F 10 Tf 4 3 Td (O) Tj ET");
    end("");
    CHECK_INT(read_file(), 0);
    CHECK(strstr(buf_z(&text), "x2 + H2O\n") || strstr(buf_z(&text), "x2+ H2O\n"));
    /* As browsers draw them: five sixths of the size. */
    check_page("BT /F 12 Tf 50 700 Td (H) Tj /F 10 Tf 7.2 -3 Td (2) Tj /F 12 Tf 6 3 Td "
               "(O x) Tj /F 10 Tf 21.6 4.5 Td (2) Tj ET",
               "H2O x2");
    /* The number of a note is no part of its first word. */
    check_page("BT /F 7 Tf 50 704 Td (1) Tj /F 10 Tf 4.5 -4 Td (A note) Tj ET", "1 A note");
}

/* ---- what there is nothing to read of ---- */

TEST(encrypted)
{
    frame();
    stream(4, "", PAGE_CONTENT);
    end("/Encrypt<</Filter/Standard>>");
    check_error(ERR_UNSUPPORTED, "encrypted");
    frame();
    stream(4, "", PAGE_CONTENT);
    end("/Encrypt<</Filter/Standard/V 2/R 3/Length 128/P -4/O(short)/U(short)>>");
    check_error(ERR_UNSUPPORTED, "password");
}

static void check_encrypted(size_t i)
{
    const char *name = encrypted_files[i].name;
    int rc = read_file();
    if (strcmp(name, "password") == 0)
        CHECK(rc < 0 && strstr(err.text, "it needs a password"));
    else if (rc < 0 || !strstr(buf_z(&text), "@@ Page 1 @@\nThe secret text\n"))
        T_FAIL("%s: %s%s", name, err.text, buf_z(&text));
}

TEST(encrypted_without_a_password)
{
    for (size_t i = 0; i < sizeof(encrypted_files) / sizeof(*encrypted_files); i++) {
        buf_reset(&file);
        CHECK_INT(dec_base64(&file, str_of(encrypted_files[i].base64)), 0);
        check_encrypted(i);
    }
}

/* Whatever is cut off or changed there, the reader ends. */
TEST(encrypted_and_damaged)
{
    for (size_t i = 0; i < sizeof(encrypted_files) / sizeof(*encrypted_files); i++) {
        buf_reset(&file);
        CHECK_INT(dec_base64(&file, str_of(encrypted_files[i].base64)), 0);
        for (size_t flip = 20; flip < file.n; flip += 7) {
            file.p[flip] ^= 1;
            read_file();
            file.p[flip] ^= 1;
        }
    }
}

TEST(pictures_only)
{
    frame();
    stream(4, "", "/X Do");
    stream(7, "/Subtype/Image", "x");
    end("");
    CHECK_INT(read_file(), 0);
    if (!strstr(buf_z(&text),
                "@@ Page 1 @@\n[There is no text in this file: its pages are "
                "pictures"))
        T_FAIL("%s", buf_z(&text));
    frame();
    stream(4, "", "");
    end("");
    check_text("@@ Page 1 @@\n[There is no text on the pages of this file.]\n");
}

TEST(no_pdf)
{
    buf_reset(&file);
    check_error(ERR_INVALID, "%PDF-");
    add("hello");
    check_error(ERR_INVALID, "%PDF-");
    add("%PDF-1.4\n1 0 obj\n");
    check_error(ERR_INVALID, "no pages");
}

TEST(cut_off_anywhere)
{
    frame();
    stream(4, "", PAGE_CONTENT);
    end("");
    struct buf whole = BUF_INIT(1 << 20);
    buf_adds(&whole, buf_str(&file));
    for (size_t n = 0; n <= whole.n; n++) {
        buf_reset(&file);
        buf_adds(&file, str_sub(buf_str(&whole), 0, n));
        read_file();
    }
    CHECK_STR(buf_z(&text), PAGE_TEXT);
    packed();
    buf_reset(&whole);
    buf_adds(&whole, buf_str(&file));
    for (size_t n = 0; n <= whole.n; n++) {
        buf_reset(&file);
        buf_adds(&file, str_sub(buf_str(&whole), 0, n));
        read_file();
    }
    CHECK_STR(buf_z(&text), PAGE_TEXT);
    buf_release(&whole);
}

/* ---- what was made to do harm ---- */

TEST(pages_that_lead_to_themselves)
{
    begin();
    object(1, "<</Pages 2 0 R>>");
    object(2, "<</Kids[2 0 R 3 0 R 2 0 R]/Count 1000000000/Parent 3 0 R>>");
    object(3, "<</Kids[2 0 R 3 0 R 4 0 R]>>");
    object(4, "<</Type/Page/Contents 4 0 R>>");
    end("");
    check_text("@@ Page 1 @@\n[There is no text on the pages of this file.]\n");
}

TEST(objects_that_are_themselves)
{
    begin();
    object(1, "1 0 R");
    object(2, "3 0 R");
    object(3, "2 0 R");
    end("");
    check_error(ERR_INVALID, "no pages");
    begin();
    object(1, "<</Pages 2 0 R>>");
    object(2, "<</Kids[3 0 R]>>");
    object(3, "<</Contents 4 0 R/Resources 3 0 R/Font 3 0 R/F 3 0 R/MediaBox 3 0 R>>");
    stream(4, "/Filter 4 0 R/DecodeParms 4 0 R", "BT /F 1 Tf (x) Tj ET");
    end("");
    CHECK_INT(read_file(), 0);
}

TEST(tables_that_lead_to_themselves)
{
    frame();
    stream(4, "", PAGE_CONTENT);
    char prev[64];
    snprintf(prev, sizeof(prev), "/Prev %zu", file.n);
    end(prev);
    check_text(PAGE_TEXT);
}

TEST(streams_of_objects_that_hold_themselves)
{
    begin();
    stream(6, "/Type/ObjStm/N 1000000000/First 8",
           "6 0 1 0 <</Pages 2 0 R>> <</Kids[]>>");
    static const char row[] = "\2\0\6\0\2\0\6\0\2\0\6\0\2\0\6\0\2\0\6\0\2\0\6\0\2\0\6\0";
    size_t table = file.n;
    stream_of(7, "/Type/XRef/Size 1000000000/W[1 2 1]/Root 1 0 R",
              str_n(row, sizeof(row)));
    CHECK_INT(buf_addf(&file, "startxref\n%zu\n", table), 0);
    read_file();
}

TEST(forms_that_draw_each_other)
{
    frame();
    stream(4, "", "/X Do");
    stream(7, "/Subtype/Form/Resources<</XObject<</Y 8 0 R/X 7 0 R>>>>",
           "BT ET /Y Do /X Do /Y Do");
    stream(8, "/Subtype/Form/Resources<</XObject<</Y 8 0 R/X 7 0 R>>>>",
           "/X Do /Y Do /X Do");
    end("");
    CHECK_INT(read_file(), 0);
    /* Each draws the next one twenty times. */
    frame();
    stream(4, "", "/X Do");
    for (int i = 7; i < 20; i++) {
        char dict[128];
        struct buf draws = BUF_INIT(4096);
        snprintf(dict, sizeof(dict), "/Subtype/Form/Resources<</XObject<</X %d 0 R>>>>",
                 i + 1);
        for (int k = 0; k < 20; k++)
            buf_addz(&draws, "/X Do ");
        stream(i, dict, buf_z(&draws));
        buf_release(&draws);
    }
    end("");
    check_error(ERR_LIMIT, "more steps");
}

TEST(bombs)
{
    /* A megabyte of blanks is a kilobyte; drawn as a hundred contents. */
    struct buf blanks = BUF_INIT(64 << 20), list = BUF_INIT(1 << 20);
    char *p = buf_reserve(&blanks, 16 << 20);
    CHECK(p != NULL);
    memset(p, ' ', 16 << 20);
    buf_commit(&blanks, 16 << 20);
    frame();
    stream_of(10, "/Filter/FlateDecode", deflated(buf_str(&blanks)));
    buf_addz(&list, "<</Contents[");
    for (int i = 0; i < 100; i++)
        buf_addz(&list, "10 0 R ");
    buf_addz(&list, "]>>");
    object(3, buf_z(&list));
    end("");
    check_error(ERR_LIMIT, "unpack");
    buf_release(&blanks);
    buf_release(&list);
}

TEST(much_in_each_other)
{
    struct buf deep = BUF_INIT(4 << 20);
    for (int i = 0; i < 200000; i++)
        buf_addz(&deep, i % 2 ? "[" : "<</a");
    begin();
    object(1, buf_z(&deep));
    end("");
    read_file();
    frame();
    stream(4, "", buf_z(&deep));
    end("");
    read_file();
    buf_release(&deep);
}

TEST(more_text_than_there_is_room_for)
{
    begin();
    object(1, "<</Pages 2 0 R>>");
    struct buf kids = BUF_INIT(16 << 20);
    buf_addz(&kids, "<</Kids[");
    for (int i = 0; i < 400000; i++)
        buf_addz(&kids, "3 0 R ");
    buf_addz(&kids, "]>>");
    object(2, buf_z(&kids));
    object(3, "<<>>");
    end("");
    check_error(ERR_LIMIT, "longer than 4 MiB");
    buf_release(&kids);
}

T_MAIN
