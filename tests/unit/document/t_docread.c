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
#define LEVEL(n, format) \
    "<w:lvl w:ilvl='" n "'><w:start w:val='1'/><w:numFmt w:val='" format "'/></w:lvl>"
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
             LEVEL("1", "bullet") LEVEL(
                 "2", "lowerLetter") "</w:abstractNum>"
                                     "<w:abstractNum w:abstractNumId='8'>" LEVEL(
                                         "0",
                                         "bullet") "</w:abstractNum>"
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
                 "1. a\n   - b\n      1. c\n      2. d\n2. e\n   1. f\n");
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
    check_read(DOCREAD_AUTO,
               "## A & B\n\n| Name |  | two parts & more |\n| --- | --- | --- "
               "|\n|  | TRUE | #N/A | a b\\| c€_x41_ | in |\n\n## C\n\n| 1 |  | 3 "
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
                "  * a\n\n  * b");
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
               "<éÖ€A —&unknown; a & b < c &amp");
    check_html("a<!-- <p> -->b<a href='x>y' t=\"<\">c</a><", "abc<");
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
