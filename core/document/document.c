/* SPDX-License-Identifier: MIT */
#include "document/document.h"

#include "base/log.h"
#include "base/mime.h"
#include "base/xalloc.h"
#include "document/package.h"
#include "document/pdf/pdf.h"
#include "os/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

enum { JOB_NICE = 5, FRAME_INTERVAL = 30 };

int docread_too_long(const struct buf *out, struct err *e)
{
    if (buf_room(out) > 4096)
        return err_set(e, ERR_LIMIT, "there is no memory for its text");
    return err_set(e, ERR_LIMIT, "its text is longer than %zu MiB", out->max >> 20);
}

const char *docread_word(const char *table, struct str word)
{
    bool one = word.n && !memchr(word.p, 0, word.n);
    for (const char *p = table; one && (p = strchr(p, 1)) != NULL && p[1];) {
        if (strncmp(++p, word.p, word.n) == 0 && p[word.n] == 2)
            return p + word.n + 1;
    }
    return strchr(table, 0);
}

/* ---- kinds ---- */

struct document_kind {
    const char *type; /* of base/mime.h */
    enum docread_kind kind;
};

static const struct document_kind kinds[] = {
    {"application/pdf", DOCREAD_PDF},
    {"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
     DOCREAD_DOCX},
    {"application/vnd.openxmlformats-officedocument.presentationml.presentation",
     DOCREAD_PPTX},
    {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", DOCREAD_XLSX},
    {"application/vnd.oasis.opendocument.text", DOCREAD_ODF},
    {"application/vnd.oasis.opendocument.spreadsheet", DOCREAD_ODF},
    {"application/vnd.oasis.opendocument.presentation", DOCREAD_ODF},
    {"application/epub+zip", DOCREAD_EPUB},
    {"application/rtf", DOCREAD_RTF},
    {"text/x-tex", DOCREAD_LATEX},
    {"text/html", DOCREAD_HTML},
    {"application/xhtml+xml", DOCREAD_HTML},
    {"application/x-ipynb+json", DOCREAD_IPYNB},
};

/*
 * Other names of such files: with macros (.docm), templates (.dotx, .ott), shows (.ppsx),
 * drawings (.odg), those of the formats before 2007 (.doc).
 */
static enum docread_kind other_kind(struct str name)
{
    static const char names[] =
        "\1.doc\0022\1.ppt\0023\1.xls\0024\1.docm\0022\1.dotx\0022\1.dotm\0022\1."
        "pptm\0023\1.potx\0023\1.potm\0023"
        "\1.ppsx\0023\1.ppsm\0023\1.xlsm\0024\1.xlsb\0024\1.xltx\0024\1.xltm\0024"
        "\1.odg\0025\1.ott\0025\1.ots\0025\1.otp\0025\1";
    _Static_assert(DOCREAD_DOCX == 2 && DOCREAD_ODF == 5, "the names have these numbers");
    char ending[8] = "";
    for (size_t i = 0, n = name.n < 5 ? name.n : 5; i < n; i++)
        ending[i] = (char)tolower((unsigned char)name.p[name.n - n + i]);
    const char *dot = strchr(ending, '.');
    const char *found = docread_word(names, str_of(dot ? dot : ""));
    return *found ? (enum docread_kind)(*found - '0') : DOCREAD_AUTO;
}

enum docread_kind docread_kind_of(struct str name, struct str head)
{
    struct str type = str_of(mime_of(name, head));
    if (str_starts(head, STR("{\\rtf")))
        return DOCREAD_RTF;
    if (str_starts(head, STR("%PDF-")))
        return DOCREAD_PDF;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (str_eq(type, str_of(kinds[i].type)))
            return kinds[i].kind;
    }
    if (str_starts(type, STR("image/")))
        return DOCREAD_IMAGE;
    if (str_starts(type, STR("audio/")))
        return DOCREAD_AUDIO;
    return str_starts(type, STR("video/"))   ? DOCREAD_VIDEO
           : str_starts(head, STR("PK\3\4")) ? other_kind(name)
                                             : DOCREAD_AUTO;
}

/* Appends the first line, as OpenHands' parse_ functions print it. */
static int first_line(const struct docread_file *f, enum docread_kind kind,
                      struct buf *out)
{
    /* In the order of the kinds. */
    static const char words[] =
        "Reading PDF file\0Reading DOCX file\0Reading PowerPoint file\0Reading Excel "
        "file\0"
        "Reading OpenDocument file\0Reading EPUB file\0Reading RTF file\0"
        "Reading LaTex file\0Reading HTML file\0Reading notebook file\0Reading image "
        "file\0"
        "Transcribing audio file\0Processing video file";
    const char *word = words;
    for (int i = DOCREAD_PDF; i < (int)kind; i++)
        word += strlen(word) + 1;
    const char *shown = f->shown ? f->shown : f->path;
    if (kind != DOCREAD_VIDEO)
        return buf_addf(out, "[%s from %s]\n", word, shown);
    return buf_addf(out, "[%s from %s with frame interval %d]\n", word, shown,
                    f->frame_interval ? f->frame_interval : FRAME_INTERVAL);
}

/* ---- reading ---- */

static int open_document(const char *path, struct err *e)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? err_sys(e, errno, "cannot read %s", path) : fd;
}

int docread_row(struct buf *out, struct str cells, bool first)
{
    size_t columns = 0;
    int rc = buf_addc(out, '|');
    do {
        struct str cell = str_cut(&cells, '\t');
        rc = rc < 0 ? rc : buf_addc(out, ' ');
        for (size_t i = 0; i < cell.n && rc == 0; i++) {
            if (cell.p[i] == '|')
                rc = buf_addc(out, '\\');
            rc = rc < 0 ? rc : buf_addc(out, cell.p[i] == '\n' ? ' ' : cell.p[i]);
        }
        rc = rc < 0 ? rc : buf_addz(out, " |");
        columns++;
    } while (cells.n > 0);
    rc = rc < 0 ? rc : buf_addc(out, '\n');
    if (first && rc == 0)
        rc = buf_addc(out, '|');
    for (; first && rc == 0 && columns > 0; columns--)
        rc = buf_addz(out, columns > 1 ? " --- |" : " --- |\n");
    return rc;
}

static bool is_package(enum docread_kind kind)
{
    return kind >= DOCREAD_DOCX && kind <= DOCREAD_EPUB;
}

enum docread_kind docread_package_kind(struct str type)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (is_package(kinds[i].kind) && type.n == strlen(kinds[i].type) &&
            strncasecmp(type.p, kinds[i].type, type.n) == 0)
            return kinds[i].kind;
    }
    return DOCREAD_AUTO;
}

int docread_package(int fd, enum docread_kind kind, bool markdown, struct buf *out,
                    struct err *e)
{
    switch (kind) {
    case DOCREAD_DOCX:
        return docread_docx(fd, markdown, out, e);
    case DOCREAD_PPTX:
        return docread_pptx(fd, markdown, out, e);
    case DOCREAD_XLSX:
        return docread_xlsx(fd, out, e);
    case DOCREAD_ODF:
        return docread_odf(fd, out, e);
    default:
        return docread_epub(fd, out, e);
    }
}

/* Reads an office file in place, entry by entry. */
static int read_package(const struct docread_file *f, enum docread_kind kind,
                        struct buf *out, struct err *e)
{
    int fd = open_document(f->path, e);
    if (fd < 0)
        return -1;
    int rc = docread_package(fd, kind, f->markdown, out, e);
    close(fd);
    return rc;
}

static int read_bytes(const struct docread_file *f, enum docread_kind kind,
                      struct str bytes, struct buf *out, struct err *e)
{
    switch (kind) {
    case DOCREAD_PDF:
        return docread_pdf(bytes, f->markdown, out, e);
    case DOCREAD_RTF:
        return docread_rtf(bytes, out, e);
    case DOCREAD_LATEX:
        return docread_latex(bytes, out, e);
    case DOCREAD_HTML:
        return docread_html(bytes, false, out, e);
    case DOCREAD_IPYNB:
        return docread_ipynb(bytes, out, e);
    default:
        return docread_media(kind, str_of(f->path), bytes, f->markdown, out, e);
    }
}

/* Puts what was tried before a reader's error. */
static int name_it(const struct docread_file *f, struct err *e)
{
    struct err why = *e;
    return err_set(e, why.code, "cannot read %.200s: %.300s",
                   f->shown ? f->shown : f->path, why.text);
}

/*
 * The text gets no line about the error, except for a PowerPoint file, as by parse_pptx.
 */
static int fail(const struct docread_file *f, enum docread_kind kind, struct buf *out,
                size_t before, const struct err *e)
{
    buf_truncate(out, before);
    buf_resume(out);
    if (kind == DOCREAD_PPTX && !f->markdown && first_line(f, kind, out) == 0)
        buf_addf(out, "Error reading PowerPoint file: %s\n", e->text);
    return -1;
}

int docread_text(const struct docread_file *f, struct buf *out, struct err *e)
{
    struct buf bytes = BUF_INIT(DOCREAD_FILE_MAX);
    enum docread_kind kind = f->kind;
    size_t before = out->n;
    int rc = file_read(f->path, DOCREAD_FILE_MAX, &bytes, e);
    if (rc < 0) {
        buf_release(&bytes);
        return fail(f, kind, out, before, e);
    }
    if (kind == DOCREAD_AUTO)
        kind = docread_kind_of(str_of(f->path), buf_str(&bytes));
    if (kind == DOCREAD_AUTO) {
        buf_release(&bytes);
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot read %.300s: its format is not one that od reads",
                       f->path);
    }
    rc = !f->markdown && first_line(f, kind, out) < 0 ? docread_too_long(out, e) : 0;
    if (rc == 0 && is_package(kind)) {
        buf_release(&bytes);
        rc = read_package(f, kind, out, e);
    } else if (rc == 0) {
        rc = read_bytes(f, kind, buf_str(&bytes), out, e);
    }
    buf_release(&bytes);
    if (rc == 0)
        return 0;
    name_it(f, e);
    return fail(f, kind, out, before, e);
}

/* ---- the helper ---- */

struct document_reading {
    docread_done_fn *done;
    void *arg;
    struct buf text;
};

static int child(void *arg, const struct job_child *c, struct err *e)
{
    struct buf out = BUF_INIT(DOCREAD_TEXT_MAX);
    int rc = docread_text(arg, &out, e);
    /* After an error too: PowerPoint's has text of its own. */
    if (job_put(c, buf_str(&out)) < 0 && rc == 0)
        rc = err_sys(e, errno, "cannot hand over the text of a document");
    buf_release(&out);
    return rc;
}

static void on_data(struct job *j, struct buf *in)
{
    struct document_reading *r = job_owner(j);
    buf_adds(&r->text, buf_str(in));
    buf_consume(in, in->n);
}

static void on_done(struct job *j, const struct err *e)
{
    struct document_reading *r = job_owner(j);
    struct err full = ERR_INIT;
    if (buf_full(&r->text) && !e->code) {
        docread_too_long(&r->text, &full);
        e = &full;
    }
    r->done(r->arg, buf_str(&r->text), e);
}

static void on_gone(void *owner)
{
    struct document_reading *r = owner;
    buf_release(&r->text);
    free(r);
}

static const struct job_events events = {on_data, NULL, NULL, on_done, on_gone};

struct job *docread_start(struct loop *l, const struct docread_spec *spec,
                          docread_done_fn *done, void *arg, struct err *e)
{
    struct document_reading *r = xnew(struct document_reading);
    struct docread_file file = spec->file;
    char what[256];
    snprintf(what, sizeof(what), "reading %.200s", file.path);
    r->done = done;
    r->arg = arg;
    buf_init(&r->text, DOCREAD_TEXT_MAX);
    struct job_spec js = {.what = what,
                          .fn = child,
                          .arg = &file,
                          .memory = (size_t)DOCREAD_FILE_MAX + DOCREAD_TEXT_MAX +
                                    DOCREAD_MEMORY,
                          .cpu_s = DOCREAD_CPU_S,
                          .nice = JOB_NICE,
                          .as_user = spec->as_user,
                          .uid = spec->uid,
                          .gid = spec->gid,
                          .groups = spec->groups,
                          .groups_n = spec->groups_n,
                          .cwd = spec->cwd,
                          .ev = &events,
                          .owner = r};
    struct job *j = job_start(l, &js, e);
    if (!j) {
        buf_release(&r->text);
        free(r);
    }
    return j;
}
