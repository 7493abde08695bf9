/* SPDX-License-Identifier: MIT */
/*
 * Documents of all kinds as the parse_ functions print them: from files, in this
 * process and in a helper. PDF has its own program, t_docread_pdf.
 */
#define T_LIMIT_S 100
#include "archive/zip.h"
#include "document/own.h"
#include "document/xml.h"

#include "t.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct buf text = BUF_INIT(DOCREAD_TEXT_MAX);
static struct err err;
static char path[512];
static bool markdown;

static const char *in(const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", t_dir(), name);
    return path;
}

static void write_file(const char *name, struct str bytes)
{
    int fd = open(in(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
    close(fd);
}

/* Of the file last named, shown as "F". */
static int read_as(enum docread_kind kind)
{
    struct docread_file f = {
        .kind = kind, .path = path, .shown = "F", .markdown = markdown};
    buf_reset(&text);
    err = (struct err)ERR_INIT;
    return docread_text(&f, &text, &err);
}

static void check_read(enum docread_kind kind, const char *want)
{
    if (read_as(kind) < 0)
        T_FAIL("%s", err.text);
    CHECK_STR(buf_z(&text), want);
}

static void check_failed(enum docread_kind kind, enum err_code code, const char *part)
{
    if (read_as(kind) == 0)
        T_FAIL("no error, but: %.200s", buf_z(&text));
    CHECK_INT(err.code, code);
    if (!strstr(err.text, part))
        T_FAIL("\"%s\" has no \"%s\" in it", err.text, part);
}

/* ---- office files ---- */

static int put(void *arg, struct str bytes, struct err *e)
{
    (void)e;
    return buf_adds(arg, bytes);
}

struct part {
    const char *name, *bytes;
};

static void write_zip(const char *name, const struct part *parts, size_t n)
{
    struct buf archive = BUF_INIT(64 << 20);
    struct zip_writer *w = zip_writer_new(put, &archive, -1);
    for (size_t i = 0; i < n; i++) {
        struct str bytes = str_of(parts[i].bytes);
        struct zip_meta m = {.name = str_of(parts[i].name), .size = bytes.n, .level = 6};
        CHECK_INT(zip_begin(w, &m, &err), 0);
        CHECK_INT(zip_add(w, bytes, &err), 0);
        CHECK_INT(zip_end(w, &err), 0);
    }
    CHECK_INT(zip_finish(w, &err), 0);
    zip_writer_free(w);
    write_file(name, buf_str(&archive));
    buf_release(&archive);
}

#define RELS(id, type, target) \
    "<?xml version='1.0'?><Relationships xmlns='r'><Relationship Id='" id \
    "' Type='http://schemas/" type "' Target='" target "'/></Relationships>"

static void write_docx(const char *body)
{
    char document[8192];
    snprintf(
        document, sizeof(document),
        "<?xml version=\"1.0\"?>\n<w:document xmlns:w='w'><w:body>%s<w:sectPr/></w:body>"
        "</w:document>",
        body);
    struct part parts[] = {{"_rels/.rels", RELS("x", "officeDocument", "w/main.xml")},
                           {"w/main.xml", document}};
    write_zip("a.docx", parts, 2);
}

static void check_docx(const char *body, const char *want)
{
    char all[8192];
    write_docx(body);
    snprintf(all, sizeof(all), "%s%s\n", markdown ? "" : "[Reading DOCX file from F]\n",
             want);
    check_read(DOCREAD_DOCX, all);
}

TEST(docx)
{
    check_docx("<w:p><w:r><w:t>Hello, this is a test document.</w:t></w:r></w:p>"
               "<w:p><w:r><w:t>This is the second paragraph.</w:t></w:r></w:p>",
               "@@ Page 1 @@\nHello, this is a test document.\n\n"
               "@@ Page 2 @@\nThis is the second paragraph.\n\n");
    check_docx("<w:p/>", "@@ Page 1 @@\n\n\n");
    check_docx("<w:p><w:pPr><w:tabs><w:tab w:val='x'/></w:tabs></w:pPr><w:r><w:t>a</w:t>"
               "<w:tab/><w:t xml:space='preserve'> b&amp;&#x416; </w:t><w:br/></w:r>"
               "<w:del><w:r><w:delText>no</w:delText></w:r></w:del>"
               "<w:ins><w:r><w:t>new</w:t></w:r></w:ins>"
               "<w:hyperlink><w:r><w:t>link</w:t><w:noBreakHyphen/></w:r></w:hyperlink>"
               "<w:r><w:instrText>PAGE</w:instrText></w:r></w:p>",
               "@@ Page 1 @@\na\t b&Ж \nnewlink-\n\n");
}

#define PARAGRAPH(properties, words) \
    "<w:p><w:pPr>" properties "</w:pPr><w:r><w:t>" words "</w:t></w:r></w:p>"

TEST(docx_as_markdown)
{
    markdown = true;
    check_docx(PARAGRAPH("<w:pStyle w:val='Title'/>", "The title")
                   PARAGRAPH("<w:pStyle w:val='Heading3'/><w:numPr/>", "Below")
                       PARAGRAPH("", " text ") "<w:p/>" PARAGRAPH("<w:numPr/>", "one")
                           PARAGRAPH("<w:numPr/>", "two") PARAGRAPH("", "after"),
               "# The title\n\n### Below\n\ntext\n\n- one\n- two\n\nafter\n\n");
    check_docx(
        PARAGRAPH("<w:numPr/>", "item") "<w:tbl><w:tr><w:tc>" PARAGRAPH("", "a|b")
            PARAGRAPH("<w:pStyle w:val='Heading1'/>",
                      "c") "</w:tc><w:tc><w:tbl><w:tr>"
                           "<w:tc>" PARAGRAPH("", "d") "</w:tc><w:tc>" PARAGRAPH(
                               "",
                               "e") "</w:tc></w:tr></w:tbl></w:tc></"
                                    "w:tr><w:tr><w:tc><w:p><w:r><w:tab/><w:t>f"
                                    "</w:t></w:r></w:p></w:tc></w:tr></w:tbl>" PARAGRAPH(
                                        "", "end"),
        "- item\n\n| a\\|b c | d e |\n| --- | --- |\n|  f |\n\nend\n\n");
}

#define STYLE(id, inside) \
    "<w:style w:type='paragraph' w:styleId='" id "'>" inside "</w:style>"
#define LEVEL_OF(n, format, words, more) \
    "<w:lvl w:ilvl='" n "'><w:start w:val='1'/><w:numFmt w:val='" format "'/>" more \
    "<w:lvlText w:val='" words "'/></w:lvl>"
#define LEVEL(n, format) LEVEL_OF(n, format, "%1.", "")
#define ITEM(list, level, words) \
    PARAGRAPH("<w:numPr><w:ilvl w:val='" level "'/><w:numId w:val='" list \
              "'/></w:numPr>", \
              words)
#define STYLED(id, words) PARAGRAPH("<w:pStyle w:val='" id "'/>", words)

static void check_styled(const char *body, const char *want)
{
    char all[8192];
    snprintf(all, sizeof(all), "<w:document><w:body>%s</w:body></w:document>", body);
    struct part parts[] = {
        {"_rels/.rels", RELS("x", "officeDocument", "w/main.xml")},
        {"w/main.xml", all},
        {"w/_rels/main.xml.rels",
         "<Relationships><Relationship Id='a' Type='x/styles' Target='s.xml'/>"
         "<Relationship Id='b' Type='x/numbering' Target='n.xml'/>"
         "<Relationship Id='l' Type='x/hyperlink' Target='http://h/?a&amp;b'/>"
         "<Relationship Id='m' Type='x/hyperlink' Target='f (1)'/></Relationships>"},
        {"w/s.xml",
         "<w:styles>" STYLE("1", "<w:name w:val='heading 1'/>")
             STYLE("Titre2", "<w:name w:val='heading 2'/>")
                 STYLE("mine", "<w:basedOn w:val='Titre2'/><w:name w:val='Mine'/>")
                     STYLE("far", "<w:basedOn w:val='mine'/>") STYLE(
                         "TOC",
                         "<w:basedOn w:val='1'/><w:pPr><w:outlineLvl w:val='9'/></w:pPr>")
                         STYLE("deep", "<w:pPr><w:outlineLvl w:val='3'/></w:pPr>") STYLE(
                             "a", "<w:basedOn w:val='b'/>")
                             STYLE("b", "<w:basedOn w:val='a'/>") STYLE(
                                 "dots", "<w:pPr><w:numPr><w:numId w:val='2'/></w:numPr>"
                                         "</w:pPr>") "</w:styles>"},
        {"w/n.xml",
         "<w:numbering><w:abstractNum w:abstractNumId='7'>" LEVEL("0", "decimal")
             LEVEL("1", "bullet")
                 LEVEL_OF("2", "lowerLetter", "%3)",
                          "") "</w:abstractNum>"
                              "<w:abstractNum w:abstractNumId='8'>" LEVEL(
                                  "0", "bullet") "</w:abstractNum>"
                                                 "<w:num w:numId='1'><w:abstractNumId "
                                                 "w:val='7'/></w:num>"
                                                 "<w:num w:numId='2'><w:abstractNumId "
                                                 "w:val='8'/></w:num>"
                                                 "<w:num w:numId='3'><w:abstractNumId "
                                                 "w:val='7'/><w:lvlOverride w:ilvl='0'>"
                                                 "<w:startOverride "
                                                 "w:val='5'/></w:lvlOverride></w:num></"
                                                 "w:numbering>"}};
    write_zip("a.docx", parts, 5);
    snprintf(all, sizeof(all), "%s\n", want);
    check_read(DOCREAD_DOCX, all);
}

TEST(docx_styles_and_lists)
{
    markdown = true;
    check_styled(STYLED("1", "One") STYLED("Titre2", "Two") STYLED("mine", "Mine")
                     STYLED("far", "Far") STYLED("TOC", "None") STYLED("deep", "Four")
                         STYLED("a", "round") STYLED("Heading 5", "Five")
                             STYLED("dots", "dot"),
                 "# One\n\n## Two\n\n## Mine\n\n## Far\n\nNone\n\n#### Four\n\nround\n\n"
                 "##### Five\n\n- dot\n");
    check_styled(ITEM("1", "0", "a") ITEM("1", "1", "b") ITEM("1", "2", "c")
                     ITEM("1", "2", "d") ITEM("1", "0", "e") ITEM("1", "2", "f"),
                 "1. a\n   - b\n      a) c\n      b) d\n2. e\n   a) f\n");
    check_styled(ITEM("3", "0", "five") ITEM("2", "8", "x") ITEM("2", "8", "y")
                     PARAGRAPH("", "text") ITEM("3", "0", "six"),
                 "5. five\n   - x\n   - y\n\ntext\n\n6. six\n");
    check_styled(
        PARAGRAPH("<w:pStyle w:val='dots'/><w:numPr><w:numId w:val='0'/></w:numPr>",
                  "no item") PARAGRAPH("<w:pPrChange><w:pPr><w:pStyle w:val='1'/></w:pPr>"
                                       "</w:pPrChange>",
                                       "no heading"),
        "no item\n\nno heading\n\n");
}

#define KIND(id, levels) \
    "<w:abstractNum w:abstractNumId='" id "'>" levels "</w:abstractNum>"
#define NUM(id, kind, inside) \
    "<w:num w:numId='" id "'><w:abstractNumId w:val='" kind "'/>" inside "</w:num>"
#define OVERRIDE(level, inside) \
    "<w:lvlOverride w:ilvl='" level "'>" inside "</w:lvlOverride>"
#define LEGAL \
    KIND("7", LEVEL_OF("0", "decimal", "%1.", "") LEVEL_OF("1", "decimal", "%1.%2", "") \
                  LEVEL_OF("2", "lowerRoman", "(%3)", ""))

static void check_numbered(const char *styles, const char *numbering, const char *body,
                           const char *want)
{
    char all[8192], list[8192], style[4096];
    snprintf(all, sizeof(all), "<w:document><w:body>%s</w:body></w:document>", body);
    snprintf(list, sizeof(list), "<w:numbering>%s</w:numbering>", numbering);
    snprintf(style, sizeof(style), "<w:styles>%s</w:styles>", styles);
    struct part parts[] = {
        {"_rels/.rels", RELS("x", "officeDocument", "w/main.xml")},
        {"w/main.xml", all},
        {"w/_rels/main.xml.rels",
         "<Relationships><Relationship Id='a' Type='x/styles' Target='s.xml'/>"
         "<Relationship Id='b' Type='x/numbering' Target='n.xml'/>"
         "<Relationship Id='c' Type='x/aFChunk' Target='/w/c.htm'/>"
         "<Relationship Id='d' Type='x/aFChunk' Target='d.txt'/>"
         "<Relationship Id='e' Type='x/aFChunk' Target='e.docx'/>"
         "<Relationship Id='f' Type='x/aFChunk' Target='f.rtf'/></Relationships>"},
        {"w/s.xml", style},
        {"w/n.xml", list},
        {"w/c.htm", "MIME x\n<html><body><h2>Head</h2><p>a <b>b</b></p></body></html>"},
        {"w/d.txt", "plain <text>"},
        {"w/e.docx", "PK\3\4..."},
        {"w/f.rtf", "{\\rtf1 rich}"}};
    markdown = true;
    write_zip("a.docx", parts, 9);
    snprintf(all, sizeof(all), "%s\n", want);
    check_read(DOCREAD_DOCX, all);
}

TEST(numbers_of_docx)
{
    check_numbered(
        "", LEGAL NUM("1", "7", ""),
        ITEM("1", "0", "a") ITEM("1", "1", "b") ITEM("1", "2", "c") ITEM("1", "2", "d")
            ITEM("1", "0", "e") ITEM("1", "1", "f") PARAGRAPH("", "text")
                ITEM("1", "1", "g") ITEM("1", "0", ""),
        "1. a\n   1.1 b\n      (i) c\n      (ii) d\n2. e\n   2.1 f\n\ntext\n\n2.2 g\n"
        "3.\n");
    check_numbered("",
                   KIND("1", LEVEL_OF("0", "upperRoman", "%1", "")
                                 LEVEL_OF("1", "upperLetter", "%1-%2.", "")
                                     LEVEL_OF("2", "decimalZero", "[%3]", "")
                                         LEVEL_OF("3", "ordinal", "%4", ""))
                       NUM("1", "1",
                           OVERRIDE("0", "<w:startOverride w:val='3999'/>")
                               OVERRIDE("1", "<w:startOverride w:val='26'/>")),
                   ITEM("1", "0", "a") ITEM("1", "1", "b") ITEM("1", "1", "c")
                       ITEM("1", "2", "d") ITEM("1", "3", "e") ITEM("1", "3", "f")
                           ITEM("1", "0", "g"),
                   "MMMCMXCIX a\n   MMMCMXCIX-Z. b\n   MMMCMXCIX-AA. c\n      [01] d\n   "
                   "      1st e\n"
                   "         2nd f\n4000 g\n");
    check_numbered("",
                   KIND("1", LEVEL_OF("0", "none", "Note:", "")
                                 LEVEL_OF("1", "decimal", "100% %9 §%2", "")
                                     LEVEL_OF("2", "bullet", "o", ""))
                       KIND("2", "<w:lvl w:ilvl='0'><w:numFmt w:val='decimal'/></w:lvl>")
                           NUM("1", "1", "") NUM("2", "2", ""),
                   ITEM("1", "0", "a") ITEM("1", "1", "b") ITEM("1", "2", "c")
                       ITEM("1", "2", "") ITEM("2", "0", "no text of a number"),
                   "Note: a\n   100% %9 §1 b\n      - c\nno text of a number\n");
}

TEST(numbers_of_docx_begin_again)
{
    /* Lists of a kind go on with its numbers; an override begins them again once. */
    check_numbered(
        "",
        LEGAL NUM("1", "7", "") NUM("2", "7", "")
            NUM("3", "7", OVERRIDE("0", "<w:startOverride w:val='7'/>"))
                NUM("4", "7", OVERRIDE("1", LEVEL_OF("1", "upperLetter", "<%2>", ""))),
        ITEM("1", "0", "a") ITEM("2", "0", "b") ITEM("3", "0", "c") ITEM("3", "1", "d")
            ITEM("3", "0", "e") ITEM("1", "0", "f") ITEM("4", "1", "g"),
        "1. a\n2. b\n7. c\n   7.1 d\n8. e\n9. f\n   <A> g\n");
    check_numbered(
        "",
        KIND("1",
             LEVEL_OF("0", "upperRoman", "%1.", "")
                 LEVEL_OF("1", "decimal", "%1.%2", "<w:lvlRestart w:val='0'/><w:isLgl/>")
                     LEVEL_OF("2", "lowerLetter", "%3)", "<w:lvlRestart w:val='1'/>"))
            NUM("1", "1", ""),
        ITEM("1", "0", "a") ITEM("1", "1", "b") ITEM("1", "2", "c") ITEM("1", "1", "d")
            ITEM("1", "2", "e") ITEM("1", "0", "f") ITEM("1", "1", "g")
                ITEM("1", "2", "h"),
        "I. a\n   1.1 b\n      a) c\n   1.2 d\n      b) e\nII. f\n   2.3 g\n"
        "      a) h\n");
    /* Levels above the first item have begun. */
    check_numbered("", LEGAL NUM("1", "7", ""),
                   ITEM("1", "1", "a") ITEM("1", "1", "b") ITEM("1", "0", "c"),
                   "1.1 a\n1.2 b\n2. c\n");
}

TEST(numbers_of_docx_by_styles)
{
    static const char styles[] = STYLE(
        "H1", "<w:name w:val='heading 1'/><w:numPr><w:numId w:val='1'/></w:numPr>")
        STYLE("H2", "<w:name w:val='heading 2'/><w:basedOn w:val='H1'/>"
                    "<w:numPr><w:ilvl w:val='1'/></w:numPr>")
            STYLE("App", "<w:basedOn w:val='H1'/><w:numPr><w:numId w:val='0'/></w:numPr>")
                STYLE("L", "<w:numPr><w:numId w:val='2'/></w:numPr>");
    check_numbered(styles, LEGAL NUM("1", "7", ""),
                   STYLED("H1", "Scope") STYLED("H2", "Terms") STYLED(
                       "H2", "Use") PARAGRAPH("", "text") STYLED("App", "Notes")
                       STYLED("H1", "Next") "<w:sdt><w:p><w:t>held</w:t></w:p>" STYLED(
                           "H2", "Held") "</w:sdt>",
                   "# 1. Scope\n\n## 1.1 Terms\n\n## 1.2 Use\n\ntext\n\n# Notes\n\n"
                   "# 2. Next\n\nheld\n\n## 2.1 Held\n\n");
    check_numbered(styles,
                   KIND("1", "<w:numStyleLink w:val='L'/>")
                       KIND("2", LEVEL_OF("0", "upperLetter", "Article %1:", ""))
                           NUM("1", "1", "") NUM("2", "2", ""),
                   STYLED("H1", "one") ITEM("1", "0", "two") STYLED("L", "three"),
                   "# Article A: one\n\nArticle B: two\nArticle C: three\n");
    check_numbered(
        STYLE("H1", "<w:name w:val='heading 1'/>"),
        KIND("1", LEVEL_OF("0", "bullet", "o", "")) NUM("1", "1", ""),
        PARAGRAPH("<w:pStyle w:val='H1'/><w:numPr><w:numId w:val='1'/></w:numPr>",
                  "no dot"),
        "# no dot\n\n");
}

TEST(numbers_of_docx_in_tables_and_boxes)
{
    check_numbered(
        "", LEGAL KIND("8", LEVEL("0", "bullet")) NUM("1", "7", "") NUM("2", "8", ""),
        "<w:tbl><w:tr><w:tc>" PARAGRAPH("", "No") "</w:tc><w:tc>" PARAGRAPH(
            "", "What") "</w:tc></w:tr><w:tr><w:tc>" ITEM("1", "0",
                                                          "") "</w:tc><w:tc>" ITEM("2",
                                                                                   "0",
                                                                                   "x")
            ITEM("2", "0", "y") "</w:tc></w:tr><w:tr><w:tc>" ITEM(
                "1", "0", "") "</w:tc></w:tr></w:tbl>" ITEM("1", "0", "after"),
        "| No | What |\n| --- | --- |\n| 1. | - x - y |\n| 2. |\n\n3. after\n");
    check_numbered(
        STYLE("H1", "<w:name w:val='heading 1'/>"), LEGAL NUM("1", "7", ""),
        "<w:p><w:pPr><w:pStyle w:val='H1'/></w:pPr><w:r><mc:AlternateContent><mc:Choice>"
        "<w:txbxContent>" ITEM(
            "1", "0",
            "in") "</w:txbxContent></mc:Choice><mc:Fallback>"
                  "<w:txbxContent>" ITEM(
                      "1", "0",
                      "twice") "</w:txbxContent></mc:Fallback>"
                               "</mc:AlternateContent><w:t>Head</w:t></w:r></w:p>" ITEM(
                                   "1", "0", "after"),
        "# Head\n\n1. in\n\n2. after\n");
    check_numbered("", LEGAL NUM("1", "7", ""),
                   ITEM("1", "0",
                        "a") "<w:p><w:pPr><w:numPr><w:numId w:val='1'/></w:numPr>"
                             "<w:rPr><w:del/></w:rPr></w:pPr><w:del><w:t>gone</w:t></"
                             "w:del></w:p>" ITEM("1", "0", "b"),
                   "1. a\n2. b\n");
}

TEST(docx_parts_in_other_formats)
{
    check_numbered("", "",
                   PARAGRAPH("", "a") "<w:altChunk r:id='c'/><w:altChunk r:id='d'/>"
                                      "<w:altChunk r:id='e'/><w:altChunk "
                                      "r:id='f'/><w:altChunk r:id='x'/>" PARAGRAPH("",
                                                                                   "b"),
                   "a\n\n## Head\n\na b\n\nplain <text>\n\n[a file in this one is not "
                   "shown]\n\nrich\n\nb\n\n");
}

#define LINK(id, words) \
    "<w:hyperlink r:id='" id "'><w:r><w:t>" words "</w:t></w:r></w:hyperlink>"

TEST(docx_links)
{
    markdown = true;
    check_styled(
        "<w:p>" LINK("l", "one") LINK("m", "two") LINK("l", "") LINK(
            "x", "three") "<w:hyperlink w:anchor='a'><w:t>four</w:t></w:hyperlink></w:p>"
                          "<w:tbl><w:tr><w:tc><w:p>" LINK(
                              "l", "five") "</w:p></w:tc></w:tr></w:tbl>",
        "[one](http://h/?a&b)[two](<f (1)>)threefour\n\n"
        "| [five](http://h/?a&b) |\n| --- |\n\n");
    check_styled("<w:hyperlink r:id='l'/><w:p><w:t>a</w:t></w:p><w:p>"
                 "<w:hyperlink r:id='l'><w:p><w:t>box</w:t></w:p></w:hyperlink></w:p>",
                 "a\n\nbox\n\n");
}

TEST(docx_tables_and_boxes)
{
    check_docx(
        "<w:p><w:r><w:t>before</w:t></w:r></w:p><w:tbl><w:tblPr/><w:tr><w:tc><w:p><w:r>"
        "<w:t>a</w:t></w:r></w:p><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc><w:tc><w:p/>"
        "</w:tc><w:tc><w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:tr><w:tr><w:tc><w:p>"
        "<w:r><w:t>d</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
        "<w:p><w:r><w:t>after</w:t></w:r></w:p>",
        "@@ Page 1 @@\nbefore\n\na b\t\tc\nd\n\n@@ Page 2 @@\nafter\n\n");
    check_docx(
        "<w:p><w:r><w:t>out</w:t><mc:AlternateContent><mc:Choice><w:txbxContent><w:p>"
        "<w:r><w:t>box</w:t></w:r></w:p></w:txbxContent></mc:Choice><mc:Fallback>"
        "<w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent>"
        "</mc:Fallback></mc:AlternateContent><w:t>side</w:t></w:r></w:p>"
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>held</w:t></w:r></w:p></w:sdtContent></"
        "w:sdt>",
        "@@ Page 1 @@\noutside\n\nbox\n\nheld\n\n");
}

#define SHAPE(t) \
    "<p:sp><p:txBody><a:p><a:r><a:t>" t "</a:t></a:r></a:p></p:txBody></p:sp>"
#define SLIDE(t) "<p:sld><p:cSld><p:spTree>" t "</p:spTree></p:cSld></p:sld>"

static void write_pptx(const char *one, const char *two)
{
    struct part parts[] = {
        {"_rels/.rels", RELS("x", "officeDocument", "/ppt/main.xml")},
        {"ppt/main.xml", "<p:presentation><p:sldMasterIdLst><p:sldMasterId r:id='m'/>"
                         "</p:sldMasterIdLst><p:sldIdLst><p:sldId id='256' r:id='b'/>"
                         "<p:sldId id='257' r:id='a'/></p:sldIdLst></p:presentation>"},
        {"ppt/_rels/main.xml.rels",
         "<Relationships><Relationship Id='a' Type='slide' Target='slides/s1.xml'/>"
         "<Relationship Target='../ppt/slides/s2.xml' Type='slide' "
         "Id='b'/></Relationships>"},
        {"ppt/slides/s1.xml", one},
        {"ppt/slides/s2.xml", two}};
    write_zip("a.pptx", parts, 5);
}

TEST(pptx)
{
    write_pptx(SLIDE(SHAPE("the second")),
               SLIDE(SHAPE("Hello") "<p:sp><p:spPr/></p:sp><p:pic/>" SHAPE("world")));
    check_read(DOCREAD_PPTX,
               "[Reading PowerPoint file from F]\n@@ Slide 1 @@\nHello\n\nworld\n"
               "@@ Slide 2 @@\nthe second\n");
    write_pptx(SLIDE(""), SLIDE("<p:grpSp>" SHAPE(
                              "in a group") "</p:grpSp><p:sp><p:txBody><a:p><a:r><a:t>a</"
                                            "a:t></a:r><a:br/><a:fld><a:t>b"
                                            "</a:t></a:fld></a:p><a:p><a:r><a:t>c</a:t></"
                                            "a:r></a:p></p:txBody></p:sp>"
                                            "<p:graphicFrame><a:tbl><a:tr><a:tc><a:p><a:"
                                            "t>1</a:t></a:p><a:p><a:t>2</a:t>"
                                            "</a:p></a:tc><a:tc><a:p><a:t>3</a:t></a:p></"
                                            "a:tc></a:tr></a:tbl>"
                                            "</p:graphicFrame>"));
    check_read(DOCREAD_PPTX,
               "[Reading PowerPoint file from F]\n@@ Slide 1 @@\nin a group\na\nb\nc\n"
               "1 2\t3\n@@ Slide 2 @@\n");
}

TEST(pptx_as_markdown)
{
    markdown = true;
    write_pptx(
        SLIDE(SHAPE("the second")),
        SLIDE(
            "<p:sp><p:nvSpPr><p:nvPr><p:ph type='ctrTitle'/></p:nvPr></p:nvSpPr>"
            "<p:txBody><a:p><a:t>Hello</a:t></a:p></p:txBody></p:sp>"
            "<p:sp><p:spPr/></p:sp>" SHAPE(
                "world") "<a:tbl><a:tr><a:tc><a:p>"
                         "<a:t>1</a:t></a:p></a:tc><a:tc><a:p><a:t>2|3</a:t></a:p></a:tc>"
                         "</a:tr><a:tr><a:tc><a:p><a:t>4</a:t></a:p></a:tc></a:tr></"
                         "a:tbl>"));
    check_read(DOCREAD_PPTX, "<!-- Slide number: 1 -->\n# Hello\nworld\n| 1 | 2\\|3 |\n"
                             "| --- | --- |\n| 4 |\n\n<!-- Slide number: 2 -->\n"
                             "the second\n");
    write_file("a.pptx", STR("nothing"));
    check_failed(DOCREAD_PPTX, ERR_INVALID, "cannot read F: not a zip archive");
    CHECK_INT(text.n, 0);
}

/* ---- Excel ---- */

#define SHEET(rows)             "<x:worksheet><x:sheetData>" rows "</x:sheetData></x:worksheet>"
#define CELL(attributes, value) "<x:c " attributes "><x:v>" value "</x:v></x:c>"

static void write_xlsx(const char *book, const char *one, const char *two)
{
    struct part parts[] = {
        {"_rels/.rels", RELS("x", "officeDocument", "xl/workbook.xml")},
        {"xl/workbook.xml", book},
        {"xl/_rels/workbook.xml.rels",
         "<Relationships><Relationship Id='a' Type='w' Target='sheets/1.xml'/>"
         "<Relationship Id='b' Type='w' Target='/xl/sheets/2.xml'/>"
         "<Relationship Id='c' Type='x/styles' Target='styles.xml'/>"
         "<Relationship Id='d' Type='x/sharedStrings' Target='strings.xml'/>"
         "</Relationships>"},
        {"xl/styles.xml",
         "<styleSheet><numFmts><numFmt numFmtId='164' formatCode='[$-409]yyyy\\-mm'/>"
         "<numFmt numFmtId='165' formatCode='&quot;days&quot; [Red]0.0_d'/>"
         "<numFmt numFmtId='166' formatCode='[hh]:mm'/></numFmts>"
         "<cellStyleXfs><xf numFmtId='14'/></cellStyleXfs><cellXfs> <xf numFmtId='0'/>"
         " <xf numFmtId='14'/><xf numFmtId='164'/><xf numFmtId='165'/>"
         "<xf numFmtId='166'/><xf numFmtId='46'/></cellXfs>"
         "</styleSheet>"},
        {"xl/strings.xml", "<sst><si><t>Name</t></si><si><r><t xml:space='preserve'>two "
                           "</t></r><r><t>parts &amp; more</t></r><rPh> <t>no</t></rPh>"
                           "</si></sst>"},
        {"xl/sheets/1.xml", one},
        {"xl/sheets/2.xml", two}};
    write_zip("a.xlsx", parts, 7);
}

#define BOOK(properties) \
    "<workbook>" properties "<sheets><sheet name='A &amp; B' r:id='b'/>" \
    "<sheet name='C' id='b' state='hidden' ns1:id='a'/></sheets></workbook>"

TEST(xlsx)
{
    markdown = true;
    write_xlsx(
        BOOK(""), SHEET("<x:row><x:c><x:v>1</x:v></x:c><x:c/>" CELL("", "3") "</x:row>"),
        SHEET("<x:row r='1'>" CELL("r='A1' t='s'", "0") CELL(
            "r='C1' t='s'",
            "1") "</x:row>"
                 "<x:row r='2'/><x:row r='3'>" CELL("r='B3' t='b'", "1")
                     CELL("r='C3' t='e'", "#N/A") CELL(
                         "t='str'",
                         "a\tb|_x000a_c_x20AC__x005F_x41_") "<x:c "
                                                            "t='inlineStr'><x:is><x:t>in<"
                                                            "/"
                                                            "x:t></x:is></x:c></x:row>"));
    check_read(
        DOCREAD_AUTO,
        "## A & B\n\n| Name |  | two parts & more |\n| --- | --- | --- "
        "|\n|  | TRUE | #N/A | a b\\| c€_x41_ | in |\n\n## C (hidden)\n\n| 1 |  | 3 "
        "|\n| --- | --- | --- |\n");
    markdown = false;
    CHECK_INT(read_as(DOCREAD_XLSX), 0);
    CHECK(str_starts(buf_str(&text), STR("[Reading Excel file from F]\n## A & B\n")));
}

static void check_numbers(const char *properties, const char *cells, const char *want)
{
    char book[1000], sheet[4000], all[1000];
    snprintf(book, sizeof(book), "<workbook>%s<sheet name='S' r:id='a'/></workbook>",
             properties);
    snprintf(sheet, sizeof(sheet), "<row>%s</row>", cells);
    snprintf(all, sizeof(all), "## S\n\n| %s |\n| --- |\n", want);
    write_xlsx(book, sheet, SHEET(""));
    check_read(DOCREAD_XLSX, all);
}

TEST(numbers_of_xlsx)
{
    markdown = true;
    check_numbers("", CELL("", "39.299999999999997"), "39.3");
    check_numbers("", CELL("", "0.30000000000000004"), "0.30000000000000004");
    check_numbers("", CELL("", "1E+20"), "1E+20");
    check_numbers("", CELL("", "words of 17 or more"), "words of 17 or more");
    check_numbers("", CELL("s='1'", "45000"), "2023-03-15");
    check_numbers("", CELL("s='2'", "45351.127835648149"), "2024-02-29 03:04:05");
    check_numbers("", CELL("s='1'", "0.25"), "06:00:00");
    check_numbers("", CELL("s='1'", "1"), "1900-01-01");
    check_numbers("", CELL("s='1'", "61"), "1900-03-01");
    check_numbers("<workbookPr date1904='1'/>", CELL("s='1'", "43538"), "2023-03-15");
    check_numbers("", CELL("s='4'", "1.25"), "30:00:00");
    check_numbers("", CELL("s='5'", "0.0007"), "0:01:00");
    check_numbers("", CELL("s='3'", "45000"), "45000");
    check_numbers("", CELL("s='0'", "45000"), "45000");
    check_numbers("", CELL("s='99'", "45000"), "45000");
    check_numbers("", CELL("s='1'", "1e300"), "1e300");
}

TEST(xlsx_that_cannot_be_read)
{
    struct part binary[] = {{"_rels/.rels", RELS("x", "officeDocument", "xl/w.bin")},
                            {"xl/w.bin", "x"}};
    write_zip("a.xlsb", binary, 2);
    check_failed(DOCREAD_AUTO, ERR_UNSUPPORTED,
                 "binary format (.xlsb): save it again as");
    write_xlsx("<w:document/>", SHEET(""), SHEET(""));
    check_failed(DOCREAD_XLSX, ERR_INVALID, "it has no sheets of an Excel workbook");
    write_xlsx("<workbook><sheet name='S'/></workbook>", SHEET(""), SHEET(""));
    check_failed(DOCREAD_XLSX, ERR_INVALID, "a sheet is missing");
    write_xlsx("<workbook><sheet", SHEET(""), SHEET(""));
    check_failed(DOCREAD_XLSX, ERR_INVALID, "its list of sheets is cut off");
    write_xlsx(BOOK(""), SHEET(""), "<worksheet><row>");
    check_failed(DOCREAD_XLSX, ERR_INVALID, "a sheet is cut off");
    struct part rels[] = {
        {"_rels/.rels", "<r/>"},
        {"xl/workbook.xml", "<workbook><sheet name='S' r:id='a'/></workbook>"},
        {"xl/_rels/workbook.xml.rels",
         "<r><Relationship Id='a' Target='s.xml'/>"
         "<Relationship Type='/sharedStrings' Target='n'/></r>"},
        {"xl/s.xml", "<row><c r='B1' t='s'><v>0</v></c><c r='A1'><v>1</v></c></row>"}};
    markdown = true;
    write_zip("a.xlsx", rels, 4); /* texts that are told of, and not there */
    check_read(DOCREAD_XLSX, "## S\n\n|  |  | 1 |\n| --- | --- | --- |\n");
    /* A few bytes that stand for thousands of cells: there is a limit. */
    struct buf wide = BUF_INIT(8 << 20);
    for (int i = 0; i < 4000; i++)
        buf_addz(&wide, "<row><c r='XFD1'><v>1</v></c></row>");
    rels[3].bytes = buf_z(&wide);
    write_zip("a.xlsx", rels, 4);
    check_failed(DOCREAD_XLSX, ERR_LIMIT, "its text is longer than 32 MiB");
    buf_release(&wide);
}

TEST(pptx_errors_are_said_as_the_reference_says_them)
{
    write_file("a.pptx", STR("nothing"));
    check_failed(DOCREAD_PPTX, ERR_INVALID, "cannot read F: not a zip archive");
    char want[1024];
    snprintf(want, sizeof(want),
             "[Reading PowerPoint file from F]\nError reading PowerPoint file: %s\n",
             err.text);
    CHECK_STR(buf_z(&text), want);
    CHECK_INT(unlink(path), 0);
    check_failed(DOCREAD_PPTX, ERR_NOTFOUND, "cannot read");
    CHECK(str_starts(buf_str(&text),
                     STR("[Reading PowerPoint file from F]\nError reading ")));
}

TEST(office_files_that_cannot_be_read)
{
    write_file("a.docx", STR("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and so on"));
    check_failed(DOCREAD_DOCX, ERR_UNSUPPORTED, "encrypted");
    CHECK_INT(text.n, 0);
    struct part none[] = {{"x", "y"}};
    write_zip("a.docx", none, 1);
    check_failed(DOCREAD_DOCX, ERR_NOTFOUND, "there is no _rels/.rels");
    write_docx("<w:p><w:r><w:t>cut");
    check_failed(DOCREAD_DOCX, ERR_INVALID, "cut off");
    struct part other[] = {{"_rels/.rels", RELS("x", "officeDocument", "w/main.xml")},
                           {"w/main.xml", "<x/>"}};
    write_zip("a.docx", other, 2);
    check_failed(DOCREAD_DOCX, ERR_INVALID, "no body of a Word document");
    write_pptx("<p:sld>", SLIDE(""));
    check_failed(DOCREAD_PPTX, ERR_INVALID, "a slide is cut off");
}

/* A compound file whose directory is in its second block of 512 bytes, after two others.
 */
static void check_compound(const char *stream, const char *part)
{
    char file[2048] = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
    file[30] = 9;
    file[48] = 1;
    memcpy(file + 1024, "R\0o\0o\0t", 7);
    memcpy(file + 1152, "1\0T\0", 4);
    for (size_t i = 0; stream[i]; i++)
        file[1280 + 2 * i] = stream[i];
    write_file("a.docx", str_n(file, sizeof(file)));
    check_failed(DOCREAD_AUTO, ERR_UNSUPPORTED, part);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    err = (struct err)ERR_INIT;
    CHECK_INT(docread_refuse(fd, &err), -1);
    CHECK(strstr(err.text, part));
    close(fd);
}

TEST(formats_that_are_known_and_not_read)
{
    check_compound("WordDocument",
                   "before 2007 (.doc): run soffice --headless --convert-to "
                   "docx, if LibreOffice is here, else save it as .docx");
    check_compound("Workbook", "(.xls): run soffice --headless --convert-to xlsx,");
    check_compound("Book", "(.xls)");
    check_compound("PowerPoint Document",
                   "(.ppt): run soffice --headless --convert-to pptx,");
    check_compound("EncryptedPackage",
                   "it is encrypted: save it again without a password");
    check_compound("__properties_version1.0", "a message of Outlook (.msg)");
    check_compound("Other", "it is encrypted, or of the format before 2007");
    struct part pages[] = {{"Index/Document.iwa", "x"}};
    write_zip("a.docx", pages, 1);
    check_failed(DOCREAD_AUTO, ERR_UNSUPPORTED,
                 "Apple's Pages, Numbers or Keynote: export");
    char book[100] = "";
    memcpy(book + 60, "BOOKMOBI", 8);
    write_file("a.epub", str_n(book, sizeof(book)));
    check_failed(DOCREAD_AUTO, ERR_UNSUPPORTED,
                 "for Kindle (.mobi, .azw): convert it to .epub");
    write_file("a", STR("short"));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK_INT(docread_refuse(fd, &err), 0);
    close(fd);
}

TEST(a_part_that_is_a_bomb)
{
    size_t n = 130 << 20;
    char *big = malloc(n + 1);
    CHECK(big != NULL);
    memset(big, ' ', n);
    big[n] = 0;
    struct part parts[] = {{"_rels/.rels", RELS("x", "officeDocument", "w/main.xml")},
                           {"w/main.xml", big}};
    write_zip("a.docx", parts, 2);
    free(big);
    check_failed(DOCREAD_DOCX, ERR_LIMIT, "unpack");
}

/* ---- XML ---- */

TEST(xml)
{
    struct str s = STR(
        "<?xml?><!DOCTYPE a [<!ENTITY x 'y'>]><a b='1' n:b=\"&lt;>\">t&amp;&x;"
        "<!-- <b> --><b/><![CDATA[<&amp;]]></a>");
    struct xml x = XML_INIT(s);
    struct buf b = BUF_INIT(100);
    CHECK_INT(xml_next(&x), XML_OPEN);
    CHECK(xml_is(&x, "a") && xml_attr_prefixed(&x, "b", &b));
    CHECK_STR(buf_z(&b), "<>");
    CHECK(!xml_attr_prefixed(&x, "x", &b) && xml_attr(&x, "b", &b));
    CHECK_STR(buf_z(&b), "<>1");
    CHECK_INT(xml_next(&x), XML_TEXT);
    buf_reset(&b);
    xml_text(&x, &b);
    CHECK_STR(buf_z(&b), "t&&x;");
    CHECK_INT(xml_next(&x), XML_OPEN);
    CHECK_INT(x.depth, 2);
    CHECK_INT(xml_next(&x), XML_CLOSE);
    CHECK(xml_is(&x, "b"));
    CHECK_INT(xml_next(&x), XML_TEXT);
    buf_reset(&b);
    xml_text(&x, &b);
    CHECK_STR(buf_z(&b), "<&amp;");
    CHECK_INT(xml_next(&x), XML_CLOSE);
    CHECK_INT(xml_next(&x), XML_END);
    buf_release(&b);
    for (size_t n = 1; n < s.n; n++) { /* cut off anywhere */
        x = (struct xml)XML_INIT(str_sub(s, 0, n));
        enum xml_kind k;
        while ((k = xml_next(&x)) != XML_END && k != XML_BAD)
            ;
        if ((k == XML_END) != (n == 7 || n == 37))
            T_FAIL("cut off after %zu: %d", n, k);
    }
}

/* ---- texts ---- */

static void check_latex(const char *tex, const char *want)
{
    char all[4096];
    write_file("a.tex", str_of(tex));
    snprintf(all, sizeof(all), "[Reading LaTex file from F]\n%s\n", want);
    check_read(DOCREAD_LATEX, all);
}

TEST(latex)
{
    check_latex(
        "\\documentclass{article}\n\\begin{document}\nHello, this is a test LaTeX "
        "document.\n\\end{document}\n",
        "Hello, this is a test LaTeX document.");
    check_latex("\\title{T}\\author{A \\& "
                "B}\\begin{document}\\maketitle\n\\section{One}\\label{x}"
                "Text% no\n more~here -- ``q'' \\emph{em} "
                "\\textbf{b\\textit{i}}\n\\end{document} no",
                "T\nA & B\n\n§ One\n\nTextmore here – “q” em bi");
    check_latex("\\'e\\\"{o}\\c{c}\\v s\\~{n} \\ss\\ \\O", "éöçšñ ß Ø");
    check_latex("$\\frac{a}{\\beta} \\le \\sqrt{x^2}$ \\[ \\sum_{i} \\]",
                "a/β ≤√(x^2) ∑_i");
    check_latex("\\begin{itemize}\n\\item a\n\\item[z] b\n\\end{itemize}",
                "  * a\n\n  z b");
    check_latex("\\begin{description}\\item[\\textbf{Term}] Meaning\\end{description}",
                "  Term Meaning");
    check_latex("\\begin{tabular}{l|r}a & b\\\\[2pt] c & d\\end{tabular}", "a\tb\nc\td");
    check_latex("\\begin{verbatim}\n\\x{ }%\n\\end{verbatim}\\verb|\\y|", "\\x{ }%\n\\y");
    check_latex("\\newcommand{\\a}[1]{no}\\def\\b#1{no}\\usepackage[x]{no}\\foo[opt]{yes}"
                "\\footnote{f}\\cite[1]{k} \\ref{r}",
                "yes[f]<cit.> <ref>");
    check_latex("{{{ \\textbf{", "");
    check_latex("% \\begin{document}\n\\title{T}\\begin{document} % and \\end{document}\n"
                "\\maketitle 5\\% \\begin{verbatim}\\end{document}%\n\\end{verbatim}"
                "x\\end{document} no",
                "T\n\n5%\n\\end{document}%\nx");
}

TEST(latex_in_each_other)
{
    struct buf deep = BUF_INIT(4 << 20);
    for (int i = 0; i < 100000; i++)
        buf_addz(&deep, "\\textbf{\\footnote{");
    write_file("a.tex", buf_str(&deep));
    buf_release(&deep);
    read_as(DOCREAD_LATEX);
}

static void check_html(const char *html, const char *want)
{
    char all[4096];
    write_file("a.html", str_of(html));
    snprintf(all, sizeof(all), "[Reading HTML file from F]\n%s\n", want);
    check_read(DOCREAD_HTML, all);
}

TEST(html)
{
    check_html(
        "<!DOCTYPE html><html><head><title>T</title><style>p{}</style></head><body>\n"
        "<h1>Head</h1><p>a\n  <b>b</b> c<br>d</p><script>if (a</b>) x('</p>')</script>e",
        "T\n\nHead\n\na b c\nd\n\ne");
    check_html("<ul><li>a</li><li><p>b</p><li>c</ul>d", "- a\n- b\n\n- c\nd");
    check_html("<table><tr><th>a<th>b</tr><tr><td>1</td><td></td><td>2</td></table>",
               "a\tb\n1\t\t2");
    check_html("<pre>  a\n b</pre>c", "  a\n b\n\nc");
    check_html("&lt;&eacute;&Ouml;&#8364;&#x41;&nbsp;&mdash;&unknown; a & b < c &amp",
               "<éÖ€A —&unknown; a & b < c &");
    check_html("&sum;&euro;&ETH;&frac34;&#147;&harr; a&nbspb&copy c &lt3 s&shy;t",
               "∑€Ð¾“↔ a b© c <3 st");
    check_html("<ol start=3><li>c<ul><li>x</ul><li>d<li value='7'>g</ol><ul><li>y</ul>",
               "3. c\n- x\n4. d\n7. g\n- y");
    check_html("<ol type=a start=26><li>c<ol type='I'><li>x<li value=4>y</ol><li>d</ol>",
               "z. c\nI. x\nIV. y\naa. d");
    check_html("<ol type=o><li>c<li value=4294967290>x</ol>", "1st. c\n-6. x");
    check_html("<li><input type=checkbox checked=''>on<li><input type='checkbox'/> off",
               "- ☒ on\n- ☐ off");
    check_html("a<img hidden src=a.png alt='a cat &amp; a mat'><img alt=''>b",
               "a[Image: a cat & a mat]b");
    check_html("a<!-- <p> -->b<a href='x>y' t=\"<\">c</a><", "abc<");
}

TEST(html_in_other_character_sets)
{
    check_html("<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2", "Привет");
    check_html("<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'>"
               "\x93\xfa\x96\x7b",
               "日本");
    check_html("<p>gr\xfc\xdf", "grüß");
    write_file("a.html", STR("\xff\xfe<\0p\0>\0\xfc\0"));
    check_read(DOCREAD_HTML, "[Reading HTML file from F]\nü\n");
}

TEST(notebooks)
{
    write_file(
        "a.ipynb",
        STR("{\"nbformat\":4,\"cells\":[{\"cell_type\":\"markdown\",\"source\":\"# T\"},"
            "{\"cell_type\":\"code\",\"source\":[\"a\\n\",\"b\"],\"outputs\":["
            "{\"output_type\":\"stream\",\"text\":[\"1\\n\"]},"
            "{\"output_type\":\"error\",\"ename\":\"E\",\"evalue\":\"v\"},"
            "{\"output_type\":\"display_data\",\"data\":{\"image/png\":\"AA\","
            "\"text/plain\":\"<F>\"}}]}]}"));
    check_read(DOCREAD_AUTO,
               "[Reading notebook file from F]\n@@ Cell 1 (markdown) @@\n# T\n\n"
               "@@ Cell 2 (code) @@\na\nb\nOutput:\n1\nE: v\n<F>\n[image/png]\n");
    write_file("a.ipynb", STR("{\"cells\":1}"));
    check_failed(DOCREAD_IPYNB, ERR_INVALID, "no cells");
    write_file("a.ipynb", STR("{"));
    check_failed(DOCREAD_IPYNB, ERR_INVALID, "cannot read F: ");
}

/* ---- pictures, sounds, films ---- */

static void check_facts(const char *name, struct str bytes, enum docread_kind kind,
                        const char *facts)
{
    write_file(name, bytes);
    if (read_as(kind) < 0)
        T_FAIL("%s: %s", name, err.text);
    const char *got = strchr(buf_z(&text), '\n');
    if (!got || strncmp(got + 1, facts, strlen(facts)) != 0)
        T_FAIL("%s: %.300s", name, buf_z(&text));
    CHECK(strstr(got, " needs a model") || strstr(got, " need a model"));
    CHECK(strstr(got, "\ndata:") && strstr(got, ";base64,"));
}

#define Z4  "\0\0\0\0"
#define Z16 Z4 Z4 Z4 Z4
#define Z72 Z16 Z16 Z16 Z16 Z4 Z4

TEST(pictures)
{
    check_facts("a.png", STR("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0"),
                DOCREAD_AUTO, "Type: image/png\nSize: 640 x 480 pixels\nBytes: 24\n");
    CHECK_INT(strncmp(buf_z(&text), "[Reading image file from F]\n", 28), 0);
    check_facts("a.gif", STR("GIF89a\x40\1\xf0\0"), DOCREAD_IMAGE,
                "Type: image/gif\nSize: 320 x 240 pixels\n");
    check_facts(
        "a.jpg",
        STR("\xff\xd8\xff\xe0\0\4xx\xff\xc4\0\2\xff\xc2\0\x11\x08\0\x30\0\x40\3..."),
        DOCREAD_IMAGE, "Type: image/jpeg\nSize: 64 x 48 pixels\n");
    check_facts("a.webp", STR("RIFF....WEBPVP8L....\x2f\x3f\xc0\x0b\0"), DOCREAD_IMAGE,
                "Type: image/webp\nSize: 64 x 48 pixels\n");
    check_facts("b.webp", STR("RIFF....WEBPVP8X........\x3f\0\0\x2f\0\0"), DOCREAD_IMAGE,
                "Type: image/webp\nSize: 64 x 48 pixels\n");
    check_facts("c.webp", STR("RIFF....WEBPVP8 .......\x9d\1\x2a\x40\0\x30\0"),
                DOCREAD_IMAGE, "Type: image/webp\nSize: 64 x 48 pixels\n");
    check_facts("a.svg", STR("<svg/>"), DOCREAD_IMAGE, "Type: image/svg+xml\nBytes: 6\n");
}

TEST(sounds)
{
    check_facts(
        "a.wav",
        STR("RIFF....WAVEfmt \x10\0\0\0\1\0\2\0\x40\x1f\0\0\x10\0\0\0\4\0\x10\0"
            "data\x10\0\0\0" Z16),
        DOCREAD_AUTO,
        "Type: audio/wav\nDuration: 1.0 s\nSound: 8000 Hz, 2 channels\nBytes: 60\n");
    CHECK_INT(strncmp(buf_z(&text), "[Transcribing audio file from F]\n", 33), 0);
    check_facts("a.flac", STR("fLaC\0\0\0\x22" Z4 Z4 "\0\0\x0a\xc4\x40\xf0\0\1\x58\x88"),
                DOCREAD_AUDIO,
                "Type: audio/flac\nDuration: 2.0 s\nSound: 44100 Hz, 1 channel\n");
    check_facts("a.opus",
                STR("OggS\0\2" Z16 Z4 "\1\x13OpusHead\1\2\0\0\x80\xbb\0\0\0\0\0"
                    "OggS\0\4\0\x77\1\0" Z4 Z16),
                DOCREAD_AUDIO,
                "Type: audio/ogg\nDuration: 2.0 s\nSound: 48000 Hz, 2 channels\n");
    char mp3[10 + 77 * 417] = "ID3\4\0\0\0\0\0\0"; /* 128 kbit/s: 417 bytes a frame */
    for (size_t i = 10; i < sizeof(mp3); i += 417)
        memcpy(mp3 + i, "\xff\xfb\x90\xc0", 4);
    check_facts("a.mp3", str_n(mp3, sizeof(mp3)), DOCREAD_AUDIO,
                "Type: audio/mpeg\nDuration: 2.0 s\nSound: 44100 Hz, 1 channel\n");
}

TEST(films)
{
    check_facts("a.mp4",
                STR("\0\0\0\x10"
                    "ftypisom" Z4 "\0\0\0\x88moov\0\0\0\x1cmvhd" Z4 Z4 Z4
                    "\0\0\3\xe8\0\0\x13\x88\0\0\0\x64trak\0\0\0\x5ctkhd" Z72 Z4
                    "\1\x40\0\0\0\xf0\0\0"),
                DOCREAD_AUTO,
                "Type: video/mp4\nSize: 320 x 240 pixels\nDuration: 5.0 s\n");
    CHECK_INT(strncmp(buf_z(&text),
                      "[Processing video file from F with frame interval 30]\n", 54),
              0);
    check_facts(
        "a.webm",
        STR("\x1a\x45\xdf\xa3\x87\x42\x82\x84webm\x18\x53\x80\x67\xa7\x15\x49\xa9\x66\x8e"
            "\x2a\xd7\xb1\x83\x0f\x42\x40\x44\x89\x84\x45\x1c\x40\0"
            "\x16\x54\xae\x6b\x8b\xae\x89\xe0\x87\xb0\x82\1\x40\xba\x81\xf0"),
        DOCREAD_VIDEO, "Type: video/webm\nSize: 320 x 240 pixels\nDuration: 2.5 s\n");
}

/* ---- kinds and files ---- */

TEST(kinds)
{
    CHECK_INT(docread_kind_of(STR("/a/b.PDF"), STR("")), DOCREAD_PDF);
    CHECK_INT(docread_kind_of(STR("b"), STR("%PDF-1.4")), DOCREAD_PDF);
    CHECK_INT(docread_kind_of(STR("b.docx"), STR("")), DOCREAD_DOCX);
    CHECK_INT(docread_kind_of(STR("b.pptx"), STR("")), DOCREAD_PPTX);
    CHECK_INT(docread_kind_of(STR("b.tex"), STR("")), DOCREAD_LATEX);
    CHECK_INT(docread_kind_of(STR("b.htm"), STR("")), DOCREAD_HTML);
    CHECK_INT(docread_kind_of(STR("b.mkv"), STR("")), DOCREAD_VIDEO);
    CHECK_INT(docread_kind_of(STR("b.txt"), STR("")), DOCREAD_AUTO);
    CHECK_INT(docread_kind_of(STR("b.DOCM"), STR("PK\3\4")), DOCREAD_DOCX);
    CHECK_INT(docread_kind_of(STR("b.ppsx"), STR("PK\3\4")), DOCREAD_PPTX);
    CHECK_INT(docread_kind_of(STR("b.xltm"), STR("PK\3\4")), DOCREAD_XLSX);
    CHECK_INT(docread_kind_of(STR("b.odg"), STR("PK\3\4")), DOCREAD_ODF);
    CHECK_INT(docread_kind_of(STR("b.x.ott"), STR("PK\3\4")), DOCREAD_ODF);
    CHECK_INT(docread_kind_of(STR("docm"), STR("PK\3\4")), DOCREAD_AUTO);
    /* What it is counts more than what it is called. */
    CHECK_INT(docread_kind_of(STR("b.doc"), STR("PK\3\4")), DOCREAD_DOCX);
    CHECK_INT(docread_kind_of(STR("b.xls"), STR("PK\3\4")), DOCREAD_XLSX);
    CHECK_INT(docread_kind_of(STR("b.xls"), STR("<table>")), DOCREAD_AUTO);
    CHECK_INT(docread_kind_of(STR("b.doc"), STR("{\\rtf1 x}")), DOCREAD_RTF);
    CHECK_INT(docread_kind_of(STR("b.docx"), STR("{\\rtf1 x}")), DOCREAD_RTF);
    CHECK_INT(docread_kind_of(STR("b.doc"), STR("%PDF-1.4")), DOCREAD_PDF);
    write_file("a.txt", STR("text"));
    check_failed(DOCREAD_AUTO, ERR_UNSUPPORTED, "its format is not one");
}

TEST(files_that_are_none)
{
    in("absent.pdf");
    check_failed(DOCREAD_PDF, ERR_NOTFOUND, "absent.pdf");
    snprintf(path, sizeof(path), "%s", t_dir());
    check_failed(DOCREAD_PDF, ERR_INVALID, "directory");
    CHECK_INT(mkfifo(in("pipe.docx"), 0600), 0);
    check_failed(DOCREAD_DOCX, ERR_UNSUPPORTED, "a pipe");
    snprintf(path, sizeof(path), "/dev/zero");
    check_failed(DOCREAD_IMAGE, ERR_UNSUPPORTED, "a device");
}

/* ---- notes, formulas and charts of office files ---- */

#define REL(id, type, target) \
    "<Relationship Id='" id "' Type='x/" type "' Target='" target "'/>"
#define RUN(look, words) "<w:r><w:rPr>" look "</w:rPr><w:t>" words "</w:t></w:r>"
#define NOTE(kind, attributes, words) \
    "<w:" kind " " attributes "><w:p><w:r><w:t>" words "</w:t></w:r></w:p></w:" kind ">"

TEST(docx_notes)
{
    struct part parts[] = {
        {"_rels/.rels", RELS("x", "officeDocument", "w/main.xml")},
        {"w/main.xml", "<w:document><w:body><w:p><w:t>a</w:t><w:footnoteReference "
                       "w:id='2'/><w:t>b</w:t>"
                       "<w:endnoteReference w:id='2'/><w:commentReference w:id='0'/>"
                       "<w:footnoteReference w:id='2'/></w:p></w:body></w:document>"},
        {"w/_rels/main.xml.rels",
         "<Relationships>" REL("a", "footnotes", "f.xml") REL("b", "endnotes", "e.xml")
             REL("c", "comments", "c.xml") REL("h", "header", "h1.xml")
                 REL("i", "header", "h2.xml") REL("j", "footer", "f1.xml")
                     REL("k", "hyperlink", "http://h/") "</Relationships>"},
        {"w/f.xml", "<w:footnotes>" NOTE("footnote", "w:id='-1'", "separator")
                        NOTE("footnote", "w:id='2'", "the foot") "</w:footnotes>"},
        {"w/e.xml",
         "<w:endnotes>" NOTE("endnote", "w:id='2'", "the end") "</w:endnotes>"},
        {"w/c.xml", "<w:comments>" NOTE("comment", "w:id='0' w:author='Ann'",
                                        "a remark") "</w:comments>"},
        {"w/h1.xml",
         "<w:hdr><w:p><w:hyperlink r:id='k'><w:t>Top</w:t></w:hyperlink></w:p>"
         "</w:hdr>"},
        {"w/h2.xml", "<w:hdr><w:p><w:t>Top</w:t></w:p></w:hdr>"},
        {"w/f1.xml", "<w:ftr><w:tbl><w:tr><w:tc><w:p><w:t>l</w:t></w:p></w:tc><w:tc><w:p>"
                     "<w:t>r</w:t></w:p></w:tc></w:tr></w:tbl></w:ftr>"}};
    write_zip("a.docx", parts, 9);
    check_read(DOCREAD_DOCX,
               "[Reading DOCX file from F]\n@@ Page 1 @@\na[^1]b[^2][^3][^1]\n\n"
               "[^1]: the foot\n\n[^2]: the end\n\n"
               "[^3]: Comment by Ann: a remark\n\n[Header] Top\n\n"
               "[Footer] l\tr\n\n\n");
    /* A part of notes that is missing or cut off is no error. */
    parts[3].bytes = "<w:footnotes><w:footnote w:id='2'><w:p><w:t>x";
    parts[4].name = "w/other.xml";
    write_zip("a.docx", parts, 6);
    check_read(DOCREAD_DOCX,
               "[Reading DOCX file from F]\n@@ Page 1 @@\na[^1]b[^2][^3][^1]\n\n"
               "[^3]: Comment by Ann: a remark\n\n\n");
}

TEST(docx_hidden_text_and_boxes)
{
    markdown = true;
    check_docx("<w:p>" RUN("", "see ") RUN("<w:vanish/>", "no") RUN("<w:vanish/>", "t")
                   RUN("<w:vanish w:val='0'/>", " this") "</w:p><w:p>" RUN(
                       "<w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange>", "was")
                       RUN("<w:vanish/>", "end") "</w:p>",
               "see [hidden: not] this\n\nwas[hidden: end]\n\n");
    check_docx(
        "<w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr><w:r><w:t>mark only</w:t></w:r>"
        "</w:p>",
        "mark only\n\n");
    check_docx(
        "<w:p><w:r><w:sym w:font='Wingdings' w:char='F0FE'/><w:t> on </w:t>"
        "<w:sym w:font='x' w:char='2610'/><w:sym w:font='x' w:char='F041'/></w:r></w:p>"
        "<w:p><w:r><w:fldChar><w:ffData><w:checkBox><w:default w:val='0'/><w:checked/>"
        "</w:checkBox></w:ffData></w:fldChar></w:r><w:r><w:t> old</w:t></w:r><w:r>"
        "<w:ffData><w:checkBox><w:default "
        "w:val='0'/></w:checkBox></w:ffData></w:r></w:p>",
        "☑ on ☐\xef\xbf\xbd\n\n☒ old☐\n\n");
}

#define MR(words)  "<m:r><m:t>" words "</m:t></m:r>"
#define E(inside)  "<m:e>" inside "</m:e>"
#define SUP(words) "<m:sup>" MR(words) "</m:sup>"
#define SUB(words) "<m:sub>" MR(words) "</m:sub>"

static void check_formula(const char *inside, const char *want)
{
    char body[4000], all[1000];
    snprintf(body, sizeof(body),
             "<w:p><m:oMathPara><m:oMath>%s</m:oMath></m:oMathPara></w:p>", inside);
    snprintf(all, sizeof(all), "%s\n\n", want);
    check_docx(body, all);
}

TEST(formulas_of_office)
{
    markdown = true;
    check_formula("<m:f><m:fPr><m:type m:val='bar'/></m:fPr><m:num>" MR(
                      "a+b") "</m:num><m:den>" MR("2") "</m:den></m:f>" MR("x"),
                  "(a+b)/2 x");
    check_formula("<m:sSubSup>" E(MR("x")) SUB("i")
                      SUP("2n") "</m:sSubSup><m:sSup>" E(MR("y")) SUP("n+1") "</m:sSup>",
                  "x_i^2n y^(n+1)");
    check_formula(
        "<m:rad><m:radPr><m:degHide m:val='1'/></m:radPr><m:deg/>" E(
            MR("x+1")) "</m:rad><m:rad><m:deg>" MR("3") "</m:deg>" E(MR("8")) "</m:rad>",
        "√(x+1) √[3]8");
    check_formula("<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr>" SUB("i=1") SUP("n") E(
                      MR("i")) "</m:nary><m:nary><m:sub/><m:sup/>" E(MR("f")) "</m:nary>",
                  "∑_(i=1)^n i ∫ f");
    check_formula(
        "<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=''/></m:dPr>" E(MR("a"))
            E(MR("b")) "</m:d><m:d>" E("<m:m><m:mr>" E(MR("1")) E(
                MR("2")) "</m:mr><m:mr>" E(MR("3")) E(MR("4")) "</m:mr></m:m>") "</m:d>",
        "[a|b ([1, 2; 3, 4])");
    check_formula("<m:func><m:fName><m:limLow>" E(MR("lim")) "<m:lim>" MR(
                      "x→0") "</m:lim></"
                             "m:limLow></"
                             "m:fName>" E(MR("f")) "</m:func><m:acc>" E(
                                 MR("v")) "</"
                                          "m:"
                                          "acc>"
                                          "<m:"
                                          "eqAr"
                                          "r"
                                          ">" E(MR("p")) E(MR("q")) "</m:eqArr>",
                  "lim_(x→0) f v\xcc\x82 p; q");
}

static const char chart[] =
    "<c:chartSpace><c:chart><c:title><a:t>Sales </a:t></c:title><c:plotArea><c:ser><c:tx>"
    "<c:strCache><c:pt "
    "idx='0'><c:v>2024</c:v></c:pt></c:strCache></c:tx><c:cat><c:strCache>"
    "<c:pt idx='0'><c:v>East</c:v></c:pt><c:pt "
    "idx='2'><c:v>West</c:v></c:pt></c:strCache>"
    "</c:cat><c:val><c:f>Sheet!A1</c:f><c:numCache><c:pt idx='0'><c:v>1.5</c:v></c:pt>"
    "<c:pt idx='2'><c:v>7</c:v></c:pt></c:numCache></c:val></c:ser><c:ser><c:tx><c:v>2025"
    "</c:v></c:tx><c:cat><c:pt idx='0'><c:v>East</c:v></c:pt><c:pt "
    "idx='2'><c:v>West</c:v>"
    "</c:pt></c:cat><c:val><c:pt "
    "idx='0'><c:v>2</c:v></c:pt></c:val></c:ser><c:valAx><c:title>"
    "<a:t>axis</a:t></c:title></c:valAx></c:plotArea></c:chart></c:chartSpace>";

TEST(pptx_notes_charts_and_formulas)
{
    struct part parts[] = {
        {"_rels/.rels", RELS("x", "officeDocument", "ppt/presentation.xml")},
        {"ppt/presentation.xml", "<p><sldId r:id='a'/></p>"},
        {"ppt/_rels/presentation.xml.rels", RELS("a", "slide", "slides/1.xml")},
        {"ppt/slides/1.xml",
         "<p:sld show='0'><p:sp><a:p><a:t>Title</a:t></a:p></p:sp><mc:AlternateContent>"
         "<mc:Choice><p:sp><a:p><a14:m><m:oMath><m:sSup>" E(MR("e"))
             SUP("x") "</m:sSup></m:oMath></a14:m></a:p></p:sp></"
                      "mc:Choice><mc:Fallback><p:sp><a:p><a:t>"
                      "twice</a:t></a:p></p:sp></mc:Fallback></"
                      "mc:AlternateContent><p:graphicFrame>"
                      "<c:chart r:id='c'/></p:graphicFrame></p:sld>"},
        {"ppt/slides/_rels/1.xml.rels",
         "<Relationships>" REL("n", "notesSlide", "../notes/1.xml")
             REL("c", "chart", "../charts/1.xml") "</Relationships>"},
        {"ppt/notes/1.xml",
         "<p:notes><p:sp><p:nvPr><p:ph "
         "type='sldNum'/></p:nvPr><a:p><a:t>1</a:t></a:p></p:sp>"
         "<p:sp><p:nvPr><p:ph "
         "type='body'/></p:nvPr><a:p><a:t>Speak</a:t></a:p><a:p><a:t>slowly"
         "</a:t></a:p></p:sp></p:notes>"},
        {"ppt/charts/1.xml", chart}};
    write_zip("a.pptx", parts, 7);
    check_read(
        DOCREAD_PPTX,
        "[Reading PowerPoint file from F]\n@@ Slide 1 @@\n[hidden slide]\nTitle\ne^x\n"
        "Chart: Sales\n\tEast\t\tWest\n2024\t1.5\t\t7\n2025\t2\n\n"
        "Notes: Speak\nslowly\n");
    markdown = true;
    check_read(DOCREAD_PPTX,
               "<!-- Slide number: 1 -->\n[hidden slide]\nTitle\ne^x\nChart: Sales\n\n"
               "|  | East |  | West |\n| --- | --- | --- | --- |\n| 2024 | 1.5 |  | 7 |\n"
               "| 2025 | 2 |\n\n\n### Notes\n\nSpeak\nslowly\n");
}

#define RUN_OF(properties, t) "<a:r><a:rPr>" properties "</a:rPr><a:t>" t "</a:t></a:r>"

TEST(links_of_pptx)
{
    struct part parts[] = {
        {"_rels/.rels", RELS("x", "officeDocument", "ppt/presentation.xml")},
        {"ppt/presentation.xml", "<p><sldId r:id='a'/></p>"},
        {"ppt/_rels/presentation.xml.rels", RELS("a", "slide", "slides/1.xml")},
        {"ppt/slides/1.xml",
         "<p:sld><p:sp><p:cNvPr><a:hlinkClick r:id='l'/></p:cNvPr><a:p>" RUN_OF(
             "", "see ") RUN_OF("<a:hlinkClick r:id='l' tooltip='t'/>", "one")
             RUN_OF("", " or ") RUN_OF("<a:hlinkClick r:id='s'/>", "two")
                 RUN_OF("<a:hlinkClick r:id=''/>",
                        "!") "<a:endParaRPr><a:hlinkClick "
                             "r:id='l'/></a:endParaRPr></"
                             "a:p><a:p>" RUN_OF("", "three") "</a:p></p:sp></p:sld>"},
        {"ppt/slides/_rels/1.xml.rels",
         "<r><Relationship Id='l' Type='x/hyperlink' Target='mailto:a@b?c&amp;d' "
         "TargetMode='External'/><Relationship Id='s' Type='x/slide' "
         "Target='2.xml'/></r>"}};
    markdown = true;
    write_zip("a.pptx", parts, 5);
    check_read(DOCREAD_PPTX,
               "<!-- Slide number: 1 -->\nsee [one](mailto:a@b?c&d) or two!\n"
               "three\n");
    markdown = false;
    check_read(
        DOCREAD_PPTX,
        "[Reading PowerPoint file from F]\n@@ Slide 1 @@\nsee one or two!\nthree\n");
}

TEST(docx_charts)
{
    struct part parts[] = {
        {"_rels/.rels", RELS("x", "officeDocument", "w/main.xml")},
        {"w/main.xml",
         "<w:document><w:body><w:p><w:t>Look:</w:t><c:chart r:id='c'/></w:p>"
         "</w:body></w:document>"},
        {"w/_rels/main.xml.rels", RELS("c", "chart", "c.xml")},
        {"w/c.xml", chart}};
    write_zip("a.docx", parts, 4);
    check_read(DOCREAD_DOCX,
               "[Reading DOCX file from F]\n@@ Page 1 @@\nLook:\n\nChart: Sales\n"
               "\tEast\t\tWest\n2024\t1.5\t\t7\n2025\t2\n\n\n");
}

static const char diagram[] =
    "<dgm:dataModel><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>Plan &amp; </a:t></a:r><a:r>"
    "<a:t>do</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt><dgm:t><a:p/></dgm:t></dgm:pt>"
    "<dgm:pt><dgm:t><a:p><a:t>Check</a:t></a:p></dgm:t></dgm:pt></dgm:ptLst>"
    "</dgm:dataModel>";

TEST(diagrams_and_texts_for_pictures)
{
    struct part docx[] = {
        {"_rels/.rels", RELS("x", "officeDocument", "w/main.xml")},
        {"w/main.xml",
         "<w:document><w:body><w:p><w:drawing><wp:docPr id='1' descr='a cat'/></w:drawing>"
         "<w:t> sits</w:t><dgm:relIds r:lo='x' r:dm='c'/></w:p></w:body></w:document>"},
        {"w/_rels/main.xml.rels", RELS("c", "diagramData", "c.xml")},
        {"w/c.xml", diagram}};
    struct part pptx[] = {
        {"_rels/.rels", RELS("x", "officeDocument", "ppt/presentation.xml")},
        {"ppt/presentation.xml", "<p><sldId r:id='a'/></p>"},
        {"ppt/_rels/presentation.xml.rels", RELS("a", "slide", "slides/1.xml")},
        {"ppt/slides/1.xml", "<p:sld><p:pic><p:cNvPr descr='a cat'/></p:pic>"
                             "<p:graphicFrame><dgm:relIds r:dm='c'/></p:graphicFrame>"
                             "</p:sld>"},
        {"ppt/slides/_rels/1.xml.rels", RELS("c", "diagramData", "../d.xml")},
        {"ppt/d.xml", diagram}};
    markdown = true;
    write_zip("a.docx", docx, 4);
    check_read(DOCREAD_DOCX, "[Image: a cat] sits\n\n- Plan & do\n- Check\n\n\n");
    write_zip("a.pptx", pptx, 6);
    check_read(DOCREAD_PPTX, "<!-- Slide number: 1 -->\n[Image: a cat]\n- Plan & do\n"
                             "- Check\n");
}

TEST(docx_merged_cells_and_readings)
{
    markdown = true;
    check_docx("<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>"
               "<w:p><w:t>wide</w:t></w:p></w:tc><w:tc><w:p><w:t>c</w:t></w:p></w:tc>"
               "</w:tr><w:tr><w:trPr><w:gridBefore w:val='1'/></w:trPr><w:tc><w:p><w:t>b"
               "</w:t></w:p></w:tc><w:tc><w:p><w:t>c2</w:t></w:p></w:tc></w:tr></w:tbl>",
               "| wide |  | c |\n| --- | --- | --- |\n|  | b | c2 |\n\n");
    check_docx("<w:p><w:r><w:t>left</w:t><w:ptab w:alignment='right'/><w:t>right</w:t>"
               "<w:ruby><w:rt><w:r><w:t>kana</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>K"
               "</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>",
               "left\trightK\n\n");
    markdown = false;
}

TEST(comments_of_xlsx)
{
    struct part parts[] = {
        {"_rels/.rels", RELS("x", "officeDocument", "xl/workbook.xml")},
        {"xl/workbook.xml", "<workbook><sheet name='S' r:id='a'/></workbook>"},
        {"xl/_rels/workbook.xml.rels", RELS("a", "worksheet", "sheets/1.xml")},
        {"xl/sheets/1.xml", SHEET("<row><c><v>1</v></c></row>")},
        {"xl/sheets/_rels/1.xml.rels", RELS("c", "comments", "../comments1.xml")},
        {"xl/comments1.xml",
         "<comments><authors><author>Ann</author></authors><commentList><comment ref='A2' "
         "authorId='0'><text><r><t>see\n</t></r><r><t>below</t></r></text></comment>"
         "<comment ref='B7'><text><t>so</t></text></comment></commentList></comments>"}};
    markdown = true;
    write_zip("a.xlsx", parts, 6);
    check_read(DOCREAD_XLSX, "## S\n\n| 1 |\n| --- |\n\nComment at A2: see below\n\n"
                             "Comment at B7: so\n");
}

TEST(links_and_headers_of_xlsx)
{
    struct part parts[] = {
        {"_rels/.rels", RELS("x", "officeDocument", "xl/workbook.xml")},
        {"xl/workbook.xml", "<workbook><sheet name='S' r:id='a'/></workbook>"},
        {"xl/_rels/workbook.xml.rels", RELS("a", "worksheet", "sheets/1.xml")},
        {"xl/sheets/1.xml",
         "<worksheet><row><c><v>1</v></c></row><hyperlinks><hyperlink ref='A1' r:id='l' "
         "tooltip='t'/><hyperlink ref='B1' location='S!A1'/></hyperlinks><headerFooter> "
         "<oddHeader>&amp;L&amp;\"Arial,Bold\"&amp;12Left&amp;C&amp;KFF0000A &amp;&amp; "
         "B&amp;R"
         "Page &amp;P</oddHeader><firstFooter>&amp;Cend&amp;</firstFooter></headerFooter>"
         "</worksheet>"},
        {"xl/sheets/_rels/1.xml.rels",
         "<r><Relationship Id='l' Type='x/hyperlink' "
         "TargetMode='External' Target='https://h/?a&amp;b'/></r>"}};
    markdown = true;
    write_zip("a.xlsx", parts, 5);
    check_read(DOCREAD_XLSX, "## S\n\n| 1 |\n| --- |\n\nLink at A1: https://h/?a&b\n\n"
                             "[Header] Left\tA & B\tPage \n\n[Footer] \tend\n");
}

TEST(formulas_of_xlsx)
{
    markdown = true;
    write_xlsx(
        BOOK(""), SHEET(""),
        SHEET("<row r='1'><c r='A1'><f>B1+1</f><v/></c><c><f>SUM(1)</f><v>7</v></c>"
              "<c t='str'><f>\"\"</f><v></v></c><c><f>\"a|\"&amp;B1</f></c></row>"
              "<row r='2'><c r='A2'><f t='shared' si='3'>A$1+LOG10(A1)+'S A1'!$B1+\"A1\""
              "</f></c></row><row r='3'><c r='A3'/><c r='B3'><f t='shared' si='3'/></c>"
              "<c><f t='shared' si='9'/></c></row>"));
    check_read(DOCREAD_AUTO,
               "## A & B\n\n| =B1+1 | 7 |  | =\"a\\|\"&B1 |\n| --- | --- | --- | --- |\n"
               "| =A$1+LOG10(A1)+'S A1'!$B1+\"A1\" |\n"
               "|  | =B$1+LOG10(B2)+'S A1'!$B2+\"A1\" |\n\n## C (hidden)\n\n");
}

/* ---- OpenDocument ---- */

#define STYLES(inside) "<office:automatic-styles>" inside "</office:automatic-styles>"

static void write_odf(const char *name, const char *styles, const char *kind,
                      const char *body, const char *extra)
{
    char content[8192];
    snprintf(
        content, sizeof(content),
        "<office:document-content>%s<office:body><office:%s>%s</office:%s></office:body>"
        "</office:document-content>",
        styles, kind, body, kind);
    struct part parts[] = {
        {"content.xml", content},
        {"styles.xml",
         "<office:document-styles><style:master-page><style:header><text:p>Top</text:p>"
         "</style:header><style:header-left><text:p>Top</text:p></style:header-left>"
         "<style:footer><text:p>Page <text:page-number>1</text:page-number></text:p>"
         "</style:footer><style:header-style/></style:master-page></"
         "office:document-styles>"},
        {"Object 1/content.xml", extra}};
    write_zip(name, parts, 3);
}

static void check_odt(const char *styles, const char *body, const char *want)
{
    char all[8192];
    write_odf("a.odt", styles, "text", body, "<x/>");
    snprintf(all, sizeof(all), "%s[Header] Top\n\n[Footer] Page 1\n\n", want);
    check_read(DOCREAD_AUTO, all);
}

TEST(odt)
{
    markdown = true;
    check_odt(
        "",
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
        "<text:h text:outline-level='2'>Head</text:h><text:p> a  <text:span>b</text:span>"
        "<text:s text:c='2'/>c<text:tab/>d<text:line-break/>&amp;\n e</text:p><text:p/>"
        "<text:p><text:a xlink:href='http://h/'>link</text:a><text:a xlink:href='#x'>in"
        "</text:a></text:p>",
        "## Head\n\na b  c\td\n& e\n\n[link](http://h/)in\n\n");
    check_odt(
        "",
        "<text:p>x<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>foot</text:p></text:note-body></"
        "text:note>y<office:annotation><dc:creator>"
        "Ann</dc:creator><dc:date>2024</dc:date><text:p>remark</text:p>"
        "</office:annotation></text:p>",
        "x[^1]y[^2]\n\n[^1]: foot\n\n[^2]: Comment by Ann: remark\n\n");
    check_odt(
        STYLES("<style:style style:name='T1' style:family='text'><style:text-properties "
               "text:display='none'/></style:style>"),
        "<text:p>see <text:span text:style-name='T1'>not</text:span> this "
        "<text:hidden-text text:string-value='nor'/></text:p><text:section "
        "text:display='none'><text:p>that</text:p></text:section>",
        "see [hidden: not] this [hidden: nor]\n\n[hidden: that]\n\n");
    check_odt(
        "",
        "<office:forms><form:form><form:checkbox form:id='c1' form:label='Yes' "
        "form:current-state='checked'/><form:text form:id='c2' form:current-value='Bob'/>"
        "</form:form></office:forms><text:p><draw:control draw:control='c1'/> by "
        "<draw:control draw:control='c2'/></text:p>",
        "☒ Yes by Bob\n\n");
    markdown = false;
    write_odf("a.odt", "", "text", "<text:p>x</text:p>", "<x/>");
    CHECK_INT(read_as(DOCREAD_AUTO), 0);
    CHECK(str_starts(buf_str(&text), STR("[Reading OpenDocument file from F]\nx\n")));
}

#define ITEM_ODT(words) "<text:list-item><text:p>" words "</text:p></text:list-item>"

TEST(odt_lists_tables_and_boxes)
{
    markdown = true;
    check_odt(STYLES(
                  "<text:list-style style:name='L1'><text:list-level-style-number "
                  "text:level='1' style:num-format='1' "
                  "style:num-suffix='.'/><text:list-level-style-bullet text:level='2'/>"
                  "</text:list-style>"),
              "<text:list text:style-name='L1'>" ITEM_ODT(
                  "a") "<text:list-item><text:p>b"
                       "</text:p><text:p>more</text:p><text:list>" ITEM_ODT(
                           "in") "</text:list>"
                                 "</text:list-item></text:list><text:p>after</text:p>",
              "1. a\n2. b\n   more\n   - in\n\nafter\n\n");
    check_odt(
        "",
        "<table:table><table:table-header-rows><table:table-row><table:table-cell><text:"
        "p>"
        "h|1</text:p></table:table-cell><table:table-cell><text:p>x</text:p><text:p>y"
        "</text:p></table:table-cell></table:table-row></table:table-header-rows>"
        "<table:table-row><table:covered-table-cell/><table:table-cell><table:table>"
        "<table:table-row><table:table-cell><text:p>p</text:p></table:table-cell>"
        "<table:table-cell><text:p>q</text:p></table:table-cell></table:table-row>"
        "</table:table></table:table-cell></table:table-row></table:table>",
        "| h\\|1 | x y |\n| --- | --- |\n|  | p q |\n\n");
    check_odt("",
              "<text:p>one<draw:frame><draw:text-box><text:p>box</text:p></draw:text-box>"
              "<svg:title>not</svg:title></draw:frame> two</text:p>",
              "one two\n\nbox\n\n");
    check_odt(
        "",
        "<text:p>see <draw:frame><draw:image><text:p/></draw:image><svg:desc>a\n cat"
        "</svg:desc></draw:frame>.</text:p><draw:frame><svg:desc>alone</svg:desc>"
        "</draw:frame><draw:frame><svg:desc/></draw:frame>",
        "see [Image: a cat].\n\n[Image: alone]\n\n");
}

#define NUMBER_ODT(level, format, more) \
    "<text:list-level-style-number text:level='" level "' style:num-format='" format \
    "' " more "/>"
#define HEAD_ODT(level, words) "<text:h text:outline-level='" level "'>" words "</text:h>"

TEST(numbers_of_odt)
{
    static const char levels[] = "<text:list-style style:name='L'>" NUMBER_ODT(
        "1", "1", "style:num-suffix=')' text:start-value='3'")
        NUMBER_ODT("2", "a",
                   "style:num-prefix='(' style:num-suffix=')' text:display-levels='2'")
            NUMBER_ODT("3", "I", "loext:num-list-format='%1%-%3%:'")
                NUMBER_ODT("4", "", "style:num-prefix='Note'") "</text:list-style>";
    static const char deep[] =
        "<list style-name='L'><list-item><p>a</p></list-item><list-item><p>b</p>"
        "<list><list-item><p>c</p></list-item><list-item><p>d</p>"
        "<list><list-item><p>e</p></list-item><list-item>"
        "<list><list-item><p>f</p></list-item></list></list-item></list></list-item>"
        "</list></list-item></list><p>text</p>"
        "<list continue-numbering='true' style-name='L'><list-item><p>g</p></list-item>"
        "<list-item start-value='9'><p>h</p></list-item></list>"
        "<list style-name='L'><list-item><p>i</p></list-item></list>";
    char styles[2000];
    markdown = true;
    snprintf(styles, sizeof(styles), STYLES("%s"), levels);
    check_odt(styles, deep,
              "3) a\n4) b\n   (4.a) c\n   (4.b) d\n      4-I: e\n         Note f\n\n"
              "text\n\n5) g\n9) h\n\n3) i\n\n");
    check_odt(
        STYLES("<text:outline-style><text:outline-level-style text:level='1' "
               "style:num-format='1'/><text:outline-level-style text:level='2' "
               "style:num-format='1' text:display-levels='2'/></text:outline-style>"),
        HEAD_ODT("1", "A")
            HEAD_ODT("2", "B") "<text:h text:outline-level='1' "
                               "text:is-list-header='true'>C</text:h>" HEAD_ODT("1", "D")
                                   HEAD_ODT("3", "E"),
        "# 1 A\n\n## 1.1 B\n\n# C\n\n# 2 D\n\n### E\n\n");
    char far[2000] = "<list>", *p = far + 6;
    for (int i = 0; i < 11; i++)
        p += sprintf(p, "<list-item><list>");
    p += sprintf(p, "<list-item><p>far</p></list-item>");
    for (int i = 0; i < 11; i++)
        p += sprintf(p, "</list></list-item>");
    sprintf(p, "</list>");
    check_odt("", far, "                                 - far\n\n");
    check_odt(STYLES("<text:list-style style:name='L'>" NUMBER_ODT("1", "1", "")
                         NUMBER_ODT("2", "1", "text:display-levels='2'") "</text:list-"
                                                                         "style>"),
              "<list style-name='L'><list-item><h outline-level='1'>A</h>"
              "<list><list-item><h outline-level='2'>B</h></list-item></list></list-item>"
              "</list><table><table-row><table-cell><list continue-list='x' "
              "style-name='L'><list-item><p/></list-item></list></table-cell>"
              "<table-cell><p>c</p></table-cell></table-row></table>",
              "# 1 A\n\n## 1.1 B\n\n| 2 | c |\n| --- | --- |\n\n");
}

TEST(ods)
{
    markdown = true;
    write_odf(
        "a.ods",
        STYLES(
            "<style:style style:name='ta2' style:family='table'><style:table-properties "
            "table:display='false'/></style:style>"),
        "spreadsheet",
        "<table:content-validations><table:help-message><text:p>pick</text:p>"
        "</table:help-message></table:content-validations><table:table "
        "table:name='One'><table:table-row><table:table-cell "
        "office:value='1.25'>"
        "<text:p>1.3</text:p></table:table-cell><table:table-cell "
        "table:number-columns-repeated='2'/><table:table-cell "
        "table:number-columns-repeated='2'><text:p>z</text:p></table:table-cell>"
        "<table:table-cell table:number-columns-repeated='16000'/></table:table-row>"
        "<table:table-row table:number-rows-repeated='2'><table:table-cell "
        "office:value='7'/><table:table-cell "
        "table:formula='of:=[.A1]+SUM([.B1:.C2])*1.5'/>"
        "</table:table-row><table:table-row table:number-rows-repeated='1048000'>"
        "<table:table-cell table:number-columns-repeated='16384'/></table:table-row>"
        "</table:table><table:table table:name='Two' "
        "table:style-name='ta2'><table:table-row>"
        "<table:table-cell><text:p>s</text:p></table:table-cell></table:table-row>"
        "</table:table>",
        "<x/>");
    check_read(
        DOCREAD_AUTO,
        "## One\n\n| 1.3 |  |  | z | z |\n| --- | --- | --- | --- | --- |\n"
        "| 7 | =A1+SUM(B1:C2)*1.5 |\n| 7 | =A1+SUM(B1:C2)*1.5 |\n\n## Two (hidden)\n\n"
        "| s |\n| --- |\n[Header] Top\n\n[Footer] Page 1\n\n");
    /* A cell that is repeated too often is an error, not half of a text. */
    write_odf("a.ods", "", "spreadsheet",
              "<table:table><table:table-row table:number-rows-repeated='1048576'>"
              "<table:table-cell table:number-columns-repeated='16384'><text:p>x</text:p>"
              "</table:table-cell></table:table-row></table:table>",
              "<x/>");
    check_failed(DOCREAD_AUTO, ERR_LIMIT, "longer than 32 MiB");
}

TEST(odp)
{
    markdown = true;
    write_odf(
        "a.odp",
        STYLES("<style:style style:name='dp1' style:family='drawing-page'>"
               "<style:drawing-page-properties presentation:visibility='hidden'/>"
               "</style:style>"),
        "presentation",
        "<draw:page><draw:frame presentation:class='title'><draw:text-box><text:p>Title"
        "</text:p></draw:text-box></draw:frame><draw:custom-shape><text:p>shape</text:p>"
        "</draw:custom-shape><draw:frame><draw:object xlink:href='./Object "
        "1'/><draw:image>"
        "<text:p/></draw:image></draw:frame><presentation:notes><draw:page-thumbnail/>"
        "<draw:frame presentation:class='notes'><draw:text-box><text:p>Speak</text:p>"
        "</draw:text-box></draw:frame><draw:frame presentation:class='page-number'>"
        "<draw:text-box><text:p>1</text:p></draw:text-box></draw:frame>"
        "</presentation:notes></draw:page><draw:page draw:style-name='dp1'/>",
        "<o><chart:chart><chart:title><text:p>Sales</text:p></chart:title><chart:axis>"
        "<chart:title><text:p>axis</text:p></chart:title></chart:axis><table:table>"
        "<table:table-row><table:table-cell><text:p>East</text:p></table:table-cell>"
        "<table:table-cell><text:p>7</text:p></table:table-cell></table:table-row>"
        "</table:table></chart:chart></o>");
    check_read(
        DOCREAD_AUTO,
        "<!-- Slide number: 1 -->\n# Title\n\nshape\n\nChart: Sales\n\n"
        "| East | 7 |\n| --- | --- |\n\n### Notes\n\nSpeak\n\n"
        "<!-- Slide number: 2 -->\n[hidden slide]\n[Header] Top\n\n[Footer] Page 1\n\n");
}

TEST(odf_formulas)
{
    static const char mathml[] =
        "<math><semantics><mrow><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</"
        "mn>"
        "</mfrac><mi>x</mi><msqrt><mi>y</mi><mo>-</mo><mn>1</mn></"
        "msqrt><munderover><mo>∑</mo>"
        "<mi>i</mi><mi>n</mi></munderover><msubsup><mi>z</mi><mi>k</mi><mn>2</mn></"
        "msubsup>"
        "<mfenced open='[' "
        "close=']'><mi>p</mi><mi>q</mi></mfenced><mtable><mtr><mtd><mn>1</mn>"
        "</mtd><mtd><mn>2</mn></mtd></mtr></mtable><mroot><mi>r</mi><mn>3</mn></mroot></"
        "mrow>"
        "<annotation>over</annotation></semantics></math>";
    char all[2000];
    markdown = true;
    write_odf(
        "a.odt", "", "text",
        "<text:p>f = <draw:frame><draw:object xlink:href='./Object 1/'/></draw:frame>."
        "</text:p>",
        mathml);
    check_read(DOCREAD_AUTO, "f = (a+b)/2 x√(y-1) ∑_i^n z_k^2 [p,q] [1, 2] √[3]r.\n\n"
                             "[Header] Top\n\n[Footer] Page 1\n\n");
    snprintf(all, sizeof(all), "<p>f = %s.</p>", mathml);
    write_file("a.html", str_of(all));
    check_read(DOCREAD_HTML, "f = (a+b)/2 x√(y-1) ∑_i^n z_k^2 [p,q] [1, 2] √[3]r.\n");
}

TEST(odf_that_cannot_be_read)
{
    char deep[100000];
    size_t n = 0;
    markdown = true;
    struct part locked[] = {{"META-INF/manifest.xml", "<m:encryption-data/>"},
                            {"content.xml", "<x/>"}};
    write_zip("a.odt", locked, 2);
    check_failed(DOCREAD_AUTO, ERR_UNSUPPORTED, "encrypted");
    write_zip("a.odt", locked, 1);
    check_failed(DOCREAD_AUTO, ERR_UNSUPPORTED, "encrypted");
    struct part cut[] = {{"content.xml", "<o><p>text"}};
    write_zip("a.odt", cut, 1);
    check_failed(DOCREAD_AUTO, ERR_INVALID, "cut off");
    /* Nesting is bounded: what is deeper is left out. */
    for (int i = 0; i < 12000; i++)
        n += (size_t)snprintf(deep + n, sizeof(deep) - n, "<l>");
    cut[0].bytes = deep;
    write_zip("a.odt", cut, 1);
    check_failed(DOCREAD_AUTO, ERR_INVALID, "cut off");
}

/* ---- EPUB ---- */

TEST(epub)
{
    struct part parts[] = {
        {"META-INF/container.xml", "<container><rootfiles><rootfile "
                                   "full-path='OPS/book.opf'/></rootfiles></container>"},
        {"OPS/book.opf",
         "<package><manifest><item id='b' href='text/b%20c.xhtml'/><item id='a' "
         "href='a.xhtml'/>"
         "<item id='x' href='absent.xhtml'/></manifest><spine><itemref idref='a'/>"
         "<itemref idref='x'/><itemref idref='b'/><itemref "
         "idref='none'/></spine></package>"},
        {"OPS/a.xhtml",
         "<html><head><title>not</title></head><body><h1>One</h1><p>1&nbsp;2</p>"
         "</body></html>"},
        {"OPS/text/b c.xhtml", "<html><body><p>Two</p><ul><li>a<ol><li>b</li></ol></li>"
                               "<li>c</li></ul><h3><a>Sub</a></h3></body></html>"},
        {"META-INF/encryption.xml",
         "<e Algorithm='http://www.idpf.org/2008/embedding'/>"}};
    markdown = true;
    write_zip("a.epub", parts, 5);
    check_read(DOCREAD_AUTO, "# One\n\n1 2\n\nTwo\n\n- a\n   1. b\n- c\n\n### Sub\n\n");
    parts[4].bytes = "<e Algorithm='http://www.w3.org/2001/04/xmlenc#aes256-cbc'/>";
    write_zip("a.epub", parts, 5);
    check_failed(DOCREAD_AUTO, ERR_UNSUPPORTED, "encrypted");
    parts[0].bytes = "<container/>";
    write_zip("a.epub", parts, 4);
    check_failed(DOCREAD_AUTO, ERR_INVALID, "package document");
}

/* ---- RTF ---- */

static void check_rtf(const char *inside, const char *want)
{
    char all[8192];
    snprintf(all, sizeof(all), "{\\rtf1\\ansi %s}", inside);
    write_file("a.rtf", str_of(all));
    check_read(DOCREAD_AUTO, want);
}

TEST(rtf)
{
    markdown = true;
    check_rtf("{\\fonttbl{\\f0\\fswiss Arial;}}{\\colortbl;\\red0;}{\\*\\generator x;}"
              "{\\info{\\title no}}One \\b two\\b0\\line "
              "three\\par\r\nfo\r\nur\\tab\\{5\\}\\par",
              "One two\nthree\n\nfour\t{5}\n\n");
    check_rtf("{\\stylesheet{\\s1\\outlinelevel1 Head;}{\\s2 Body;}}\\pard\\s1 Two\\par"
              "\\pard\\outlinelevel0 One\\par\\pard\\s2 text",
              "## Two\n\n# One\n\ntext\n\n");
    /* Properties of paragraphs are those of their group; names of styles count. */
    check_rtf(
        "{\\stylesheet{\\s1\\outlinelevel0\\f7 Head;}{\\s2\\f1\\b Heading 3;}{\\s3 "
        "Text;}}"
        "\\pard\\s1{\\listtext\\pard\\plain 1.\\tab}One\\par\\pard\\s2 Three\\par"
        "{\\pard\\s1 Two\\par}\\pard\\s3 text\\par{\\pard\\s1 no\\par}\\pard\\s2 end",
        "# 1. One\n\n### Three\n\n# Two\n\ntext\n\n# no\n\n### end\n\n");
    check_rtf("{\\footnote no}", "[^1]\n\n[^1]: no\n\n");
    check_rtf(
        "a{\\footnote\\pard {\\super 1} foot\\par}b{\\*\\atnid x}{\\*\\atnauthor Ann}"
        "{\\*\\annotation{\\*\\atndate 1}remark}{\\header\\pard Top\\par}"
        "{\\headerl Top}{\\footer {\\field{\\*\\fldinst PAGE}{\\fldrslt 1}}}c",
        "a[^1]b[^2]c\n\n[^1]: 1 foot\n\n[^2]: Comment by Ann: remark\n\n"
        "[Header] Top\n\n[Footer] 1\n\n");
    check_rtf("see {\\v not} this{\\deleted gone}\\plain\\v{} end\\v0 x",
              "see [hidden: not] "
              "this[hidden:  end]x\n\n");
    check_rtf("{\\field{\\*\\fldinst{HYPERLINK \"http://h/\"}}{\\fldrslt{\\ul link}}}"
              "{\\field{\\*\\fldinst HYPERLINK \\\\l \"x\"}{\\fldrslt in}}",
              "[link](http://h/)in\n\n");
    markdown = false;
    CHECK_INT(read_as(DOCREAD_RTF), 0);
    CHECK(str_starts(buf_str(&text), STR("[Reading RTF file from F]\n[link]")));
}

TEST(rtf_characters)
{
    markdown = true;
    check_rtf(
        "caf\\'e9 \\u8364?\\'80 \\uc2\\u1046??\\uc0\\u-10179\\u-8704 \\emdash\\rquote x",
        "café €€ Ж😀—’x\n\n");
    check_rtf(
        "{\\fonttbl{\\f1\\fcharset204 A;}{\\f2\\fcharset128 B;}{\\f3\\fcharset2 C;}}"
        "{\\f1 \\'c6\\'f3\\'ea} {\\f2 \\'8a\\'bf\\'8e\\'9a}{\\f2\\'83A} {\\f3\\u-3913 "
        "\\'b7}",
        "Жук 漢字ア •\n\n");
    check_rtf("\\ansicpg1250 \\'9e\\~x\\-y\\_z{\\pict\\bin4 }}}}ab}", "ž xy-z\n\n");
    check_rtf("\\u55357?x", "x\n\n");
}

TEST(rtf_tables_and_formulas)
{
    markdown = true;
    check_rtf(
        "\\trowd\\pard\\intbl a|b\\cell c\\par d\\cell\\row\\trowd\\intbl \\cell e\\cell"
        "\\row\\pard after\\par",
        "| a\\|b | c d |\n| --- | --- |\n|  | e |\n\nafter\n\n");
    check_rtf("\\trowd\\pard\\intbl{\\listtext\\pard "
              "1.\\tab}a\\par\\pard\\intbl{\\listtext\\pard "
              "2.\\tab}b{\\footnote\\pard x}\\par c\\cell\\row",
              "| 1. a 2. b[^1] c |\n| --- |\n\n[^1]: x\n\n");
    check_rtf("{\\listtext\\pard 1.\\tab}one\\par{\\pntext\\u8226 \\'95\\tab}two",
              "1. one\n\n• two\n\n");
    check_rtf("{\\mmath{\\*\\moMath{\\mf{\\mfPr{\\mctrlPr no}}{\\mnum{\\mr "
              "a+b}}{\\mden{\\mr 2}}}}}",
              "(a+b)/(2)\n\n");
    check_rtf(
        "{\\mmath{\\*\\moMath{\\mrad{\\mradPr{\\mdegHide 1}}{\\mdeg}{\\me x}}{\\md{\\mdPr"
        "{\\mbegChr (}}{\\me p}}{\\mnary{\\mnaryPr{\\mchr \\u8721?}}{\\msub i}{\\me "
        "q}}}}",
        "√x(p)∑_(i)q\n\n");
}

TEST(rtf_that_is_hostile)
{
    struct buf b = BUF_INIT(8 << 20);
    markdown = true;
    write_file("a.rtf", STR("{\\rtx"));
    check_failed(DOCREAD_RTF, ERR_INVALID, "{\\rtf");
    check_rtf("}}}} x {{{", "x\n\n");
    check_rtf("\\bin2147483647 lost", "");
    check_rtf("\\f-1\\s99999999\\uc-5\\outlinelevel99 x\\'4", "x4\n\n");
    buf_addz(&b, "{\\rtf1 a");
    for (int i = 0; i < 100000; i++)
        buf_addz(&b, "{\\footnote ");
    buf_addz(&b, "deep");
    for (int i = 0; i < 100000; i++)
        buf_addc(&b, '}');
    buf_addz(&b, "b}");
    write_file("a.rtf", buf_str(&b));
    check_read(DOCREAD_AUTO, "a[^1]b\n\n[^1]: \n\n");
    buf_release(&b);
}

/* ---- in a helper ---- */

static struct loop *loop;
static int dones;

static void on_done(void *arg, struct str got, const struct err *e)
{
    CHECK(arg == &dones);
    dones++;
    err = *e;
    buf_reset(&text);
    buf_adds(&text, got);
    loop_stop(loop);
}

static void run_helper(struct docread_spec spec)
{
    loop = loop_new();
    dones = 0;
    if (!docread_start(loop, &spec, on_done, &dones, &err))
        T_FAIL("%s", err.text);
    CHECK_INT(loop_run(loop), 0);
    CHECK_INT(dones, 1);
    loop_free(loop);
}

TEST(helper)
{
    struct docread_spec spec = {.file = {.path = "a.tex", .kind = DOCREAD_AUTO}};
    write_file("a.tex", STR("x"));
    spec.cwd = t_dir();
    run_helper(spec);
    CHECK_INT(err.code, ERR_NONE);
    CHECK_STR(buf_z(&text), "[Reading LaTex file from a.tex]\nx\n");

    spec.file.path = "absent.pptx";
    run_helper(spec);
    CHECK_INT(err.code, ERR_NOTFOUND);
    CHECK_INT(text.n, 0);

    /* What the function prints with an error comes too. */
    write_file("bad.pptx", STR("x"));
    spec.file.path = "bad.pptx";
    run_helper(spec);
    CHECK_INT(err.code, ERR_INVALID);
    CHECK(
        strstr(buf_z(&text), "\nError reading PowerPoint file: cannot read bad.pptx: "));
}

TEST(helper_gives_long_texts)
{
    struct buf b = BUF_INIT(8 << 20);
    for (int i = 0; i < 300000; i++)
        buf_addf(&b, "line %d\n", i);
    write_file("a.tex", buf_str(&b));
    run_helper((struct docread_spec){.file = {.path = path}});
    CHECK_INT(err.code, ERR_NONE);
    struct str got = buf_str(&text);
    str_cut(&got, '\n');
    CHECK(str_eq(got, buf_str(&b)));
    buf_release(&b);
}

TEST(helper_as_another_user)
{
    if (geteuid() != 0)
        T_SKIP("only root becomes somebody else");
    write_file("a.tex", STR("x"));
    run_helper((struct docread_spec){
        .file = {.path = path}, .as_user = true, .uid = 65534, .gid = 65534});
    CHECK_INT(err.code, ERR_DENIED);
}

T_MAIN
