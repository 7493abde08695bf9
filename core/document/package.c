/* SPDX-License-Identifier: MIT */
#include "document/package.h"

#include "archive/zip.h"
#include "document/xml.h"

#include <unistd.h>

enum { BLOCK = 64 << 10, ENTRIES_MAX = 100000 };

int docread_refuse(int fd, struct err *e)
{
    /* MS-CFB 2.6: older formats and files with a password are compound files. */
    static const char streams[] =
        "\1WordDocument\2doc\1Workbook\2xls\1Book\2xls\1PowerPoint Document\2ppt"
        "\1EncryptedPackage\2E\1__properties_version1.0\2M\1";
    unsigned char b[4096] = "";
    char name[33] = "";
    const char *is = "", *what = NULL;
    ssize_t n = pread(fd, b, sizeof(b), 0);
    if (memcmp(b, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8) == 0) {
        off_t sector = b[48] | b[49] << 8 | b[50] << 16 | (off_t)b[51] << 24;
        n = pread(fd, b, sizeof(b), (sector + 1) << (b[30] & 15));
        for (ssize_t at = 0; at + 128 <= n && !*is; at += 128) {
            for (int i = 0; i < 32; i++)
                name[i] = (char)b[at + 2 * i];
            is = docread_word(streams, str_of(name));
        }
        what = *is == 'E' ? "it is encrypted: save it again without a password"
               : *is == 'M'
                   ? "it is a message of Outlook (.msg): save it as text or HTML"
                   : "it is encrypted, or of the format before 2007: save it again "
                     "without a password, as .docx, .pptx or .xlsx";
    } else if (memcmp(b + 60, "BOOKMOBI", 8) == 0) {
        what = "it is a book for Kindle (.mobi, .azw): convert it to .epub, as Calibre's "
               "ebook-convert does";
    } else if (n > 0 && memmem(b, (size_t)n, ".iwa", 4) &&
               memmem(b, (size_t)n, "Index/", 6)) {
        what = "it is a document of Apple's Pages, Numbers or Keynote: export it as "
               ".docx, .xlsx, .pptx or .pdf";
    }
    if (*is < 'a')
        return what ? err_set(e, ERR_UNSUPPORTED, "%s", what) : 0;
    return err_set(e, ERR_UNSUPPORTED,
                   "it is of the format before 2007 (.%.3s): run soffice --headless "
                   "--convert-to %.3sx, if LibreOffice is here, else save it as .%.3sx",
                   is, is, is);
}

static int read_entry(struct package *p, struct zip_reader *r, struct buf *out,
                      struct err *e)
{
    if (zip_read_begin(r, e) < 0)
        return -1;
    for (;;) {
        char *to = buf_reserve(out, BLOCK);
        if (!to || p->left < BLOCK)
            return err_set(e, ERR_LIMIT, "its parts unpack to more than a document has");
        ssize_t n = zip_read(r, to, BLOCK, e);
        buf_commit(out, n > 0 ? (size_t)n : 0);
        if (n <= 0)
            return (int)n;
        p->left -= (uint64_t)n;
    }
}

int package_read(struct package *p, struct str name, struct buf *out, struct err *e)
{
    struct zip_limits limits = {.entries = ENTRIES_MAX, .total = PACKAGE_ALL_MAX};
    struct zip_entry x;
    buf_reset(out);
    if (docread_refuse(p->fd, e) < 0)
        return -1;
    struct zip_reader *r = zip_open(p->fd, &limits, e);
    if (!r)
        return -1;
    int rc;
    while ((rc = zip_next(r, &x, e)) > 0) {
        if (!str_eq(x.name, name))
            continue;
        rc = read_entry(p, r, out, e);
        zip_close(r);
        return rc;
    }
    zip_close(r);
    return rc < 0 ? -1
                  : err_set(e, ERR_NOTFOUND, "there is no %.*s in it", STR_ARG(name));
}

static int package_rels_name(struct str part, struct buf *out)
{
    size_t slash = part.n;
    while (slash > 0 && part.p[slash - 1] != '/')
        slash--;
    buf_reset(out);
    return buf_addf(out, "%.*s_rels/%.*s.rels", (int)slash, part.p, (int)(part.n - slash),
                    part.p + slash);
}

void package_rels(struct package *p, struct str part, struct buf *rels)
{
    struct buf name = BUF_INIT(4096 + 16);
    struct err none = ERR_INIT;
    if (package_rels_name(part, &name) < 0 ||
        package_read(p, buf_str(&name), rels, &none) < 0)
        buf_reset(rels);
    buf_release(&name);
}

int package_join(struct str from, struct str target, struct buf *out)
{
    buf_reset(out);
    if (str_starts(target, STR("/")))
        return buf_adds(out, str_sub(target, 1, target.n));
    while (from.n && from.p[from.n - 1] != '/')
        from.n--;
    while (str_starts(target, STR("../"))) {
        target = str_sub(target, 3, target.n);
        from.n -= from.n > 0;
        while (from.n && from.p[from.n - 1] != '/')
            from.n--;
    }
    return buf_adds(out, from) < 0 ? -1 : buf_adds(out, target);
}

bool package_target(struct str rels, struct str from, struct str id, const char *type,
                    struct buf *out)
{
    struct xml x = XML_INIT(rels);
    struct buf value = BUF_INIT(4096);
    bool found = false;
    while (!found && xml_open(&x)) {
        if (!xml_is(&x, "Relationship"))
            continue;
        buf_reset(&value);
        if (id.n)
            found = xml_attr(&x, "Id", &value) && str_eq(buf_str(&value), id);
        else
            found = xml_attr(&x, "Type", &value) &&
                    str_ends(buf_str(&value), str_of(type));
        buf_reset(&value);
        if (found)
            found = xml_attr(&x, "Target", &value) &&
                    package_join(xml_attr_is(&x, "TargetMode", "External") ? STR("")
                                                                           : from,
                                 buf_str(&value), out) == 0;
    }
    buf_release(&value);
    return found;
}

bool package_follow(struct package *p, struct str rels, struct str from, struct str id,
                    const char *type, struct buf *part)
{
    struct buf name = BUF_INIT(4096);
    struct err none = ERR_INIT;
    bool read = package_target(rels, from, id, type, &name) &&
                package_read(p, buf_str(&name), part, &none) == 0;
    buf_release(&name);
    return read;
}

int package_main(struct package *p, const char *usual, struct buf *name, struct buf *main,
                 struct buf *rels, struct err *e)
{
    if (package_read(p, STR("_rels/.rels"), main, e) < 0)
        return -1;
    if (!package_target(buf_str(main), STR(""), STR(""), "/officeDocument", name))
        buf_addz(name, usual);
    package_rels(p, buf_str(name), rels);
    return package_read(p, buf_str(name), main, e);
}
