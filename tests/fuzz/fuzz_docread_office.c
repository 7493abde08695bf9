/* SPDX-License-Identifier: MIT */
/*
 * Word, PowerPoint, Excel, OpenDocument and EPUB: the input is the XML of the main part,
 * of a slide, or of a sheet, texts, formats, styles and lists, notes and charts, in an
 * archive that is sound (fuzz_zip has the others). The first byte chooses.
 */
#include "archive/zip.h"
#include "base/log.h"
#include "document/package.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int put(void *arg, struct str bytes, struct err *e)
{
    const int *fd = arg;
    (void)e;
    return write(*fd, bytes.p, bytes.n) == (ssize_t)bytes.n ? 0 : -1;
}

static void entry(struct zip_writer *w, const char *name, struct str bytes)
{
    struct zip_meta m = {.name = str_of(name), .size = bytes.n};
    struct err e;
    BUG_ON(zip_begin(w, &m, &e) < 0 || (bytes.n && zip_add(w, bytes, &e) < 0) ||
           zip_end(w, &e) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC), kind = n ? data[0] & 3 : 0;
    bool markdown = n && data[0] & 4;
    struct zip_writer *w = zip_writer_new(put, &fd, -1);
    struct err e = ERR_INIT;
    struct str s = str_n(data + 1, n ? n - 1 : 0);
    struct buf out = BUF_INIT(1 << 20);
    entry(w, "_rels/.rels", kind == 0 ? s : STR("<a/>"));
    entry(w, "word/document.xml", s);
    entry(w, "word/_rels/document.xml.rels",
          kind == 2
              ? s
              : STR("<r><Relationship Id='a' Type='/numbering' Target='/ppt/s.xml'/>"
                    "<Relationship Id='b' Type='/styles' Target='../ppt/s.xml'/>"
                    "<Relationship Id='f' Type='/footnotes' Target='/ppt/s.xml'/>"
                    "<Relationship Id='c' Type='/comments' Target='/ppt/s.xml'/>"
                    "<Relationship Id='h' Type='/header' Target='/ppt/s.xml'/></r>"));
    entry(w, "ppt/_rels/s.xml.rels",
          STR("<r><Relationship Id='a' Type='/notesSlide' Target='s.xml'/></r>"));
    entry(w, "content.xml", s);
    entry(w, "styles.xml", kind == 1 ? s : STR("<a/>"));
    entry(w, "Object 1/content.xml", s);
    entry(w, "META-INF/container.xml",
          kind == 3 ? s : STR("<rootfile full-path='content.xml'/>"));
    entry(w, "ppt/presentation.xml",
          kind == 1 ? s : STR("<p><sldId r:id='a'/><sldId r:id='a'/></p>"));
    entry(w, "ppt/_rels/presentation.xml.rels",
          kind == 2 ? s : STR("<r><Relationship Id='a' Target='s.xml'/></r>"));
    entry(w, "ppt/s.xml", s);
    entry(w, "xl/workbook.xml",
          kind == 1 ? s
                    : STR("<w><workbookPr date1904='1'/><sheet name='a' r:id='a'/></w>"));
    entry(w, "xl/_rels/workbook.xml.rels",
          kind == 2 ? s
                    : STR("<r><Relationship Id='a' Type='/sharedStrings' Target='s.xml'/>"
                          "<Relationship Id='b' Type='/styles' Target='s.xml'/></r>"));
    entry(w, "xl/s.xml", s);
    BUG_ON(fd < 0 || zip_finish(w, &e) < 0);
    zip_writer_free(w);
    BUG_ON(docread_docx(fd, markdown, &out, &e) < 0 && !e.text[0]);
    e = (struct err)ERR_INIT;
    BUG_ON(docread_pptx(fd, markdown, &out, &e) < 0 && !e.text[0]);
    e = (struct err)ERR_INIT;
    BUG_ON(docread_xlsx(fd, &out, &e) < 0 && !e.text[0]);
    e = (struct err)ERR_INIT;
    BUG_ON(docread_odf(fd, &out, &e) < 0 && !e.text[0]);
    e = (struct err)ERR_INIT;
    BUG_ON(docread_epub(fd, &out, &e) < 0 && !e.text[0]);
    buf_release(&out);
    close(fd);
    return 0;
}
