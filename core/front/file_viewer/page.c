/* SPDX-License-Identifier: MIT */
/* The helper of the file viewer: the client, the file, and its page. */
#include "front/file_viewer/own.h"

#include "base/enc.h"
#include "base/mime.h"
#include "base/utf8.h"
#include "document/document.h"
#include "io/job.h"
#include "os/file.h"
#include "os/tcpowner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 48 << 10 /* bytes of a picture at once; a multiple of three */ };

/* ---- HTML ---- */

static int add_text(struct buf *out, struct str s)
{
    int rc = 0;
    for (size_t i = 0; i < s.n && rc == 0; i++) {
        char c = s.p[i];
        rc = c == '&'   ? buf_addz(out, "&amp;")
             : c == '<' ? buf_addz(out, "&lt;")
             : c == '>' ? buf_addz(out, "&gt;")
             : c == '"' ? buf_addz(out, "&quot;")
                        : buf_addc(out, c);
    }
    return rc;
}

int file_viewer_add_path(struct buf *out, const char *path)
{
    struct buf text = BUF_INIT(4 * PATH_MAX);
    int rc = utf8_repair(&text, str_of(path), true);
    rc = rc < 0 ? rc : add_text(out, buf_str(&text));
    buf_release(&text);
    return rc;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- the helper: the page of one file ---- */

static int put(const struct job_child *c, struct buf *b, struct err *e)
{
    int rc = job_put(c, buf_str(b)) < 0 ? err_set(e, ERR_IO, "cannot hand over the page")
                                        : 0;
    buf_reset(b);
    return rc;
}

static int put_head(const struct job_child *c, const char *path, struct err *e)
{
    struct buf b = BUF_INIT(64 << 10);
    buf_addz(&b, "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
                 "<title>File Viewer - ");
    file_viewer_add_path(&b, base_of(path));
    buf_addz(&b, "</title><style>html,body{margin:0;background:#eee;font:14px "
                 "sans-serif}#viewer-container{display:flex;flex-direction:column;"
                 "align-items:center}img{max-width:100%}canvas{width:816px;height:1056px;"
                 "margin:8px;background:#fff}</style></head>\n"
                 "<body><div id=\"viewer-container\">\n");
    int rc = put(c, &b, e);
    buf_release(&b);
    return rc;
}

/* An open file: name is that of its descriptor, path the requested one. */
struct source {
    const char *name, *path;
};

static int put_image(const struct job_child *c, const struct source *s, const char *type,
                     struct err *e)
{
    struct buf bytes = BUF_INIT(VIEWER_IMAGE_MAX), out = BUF_INIT(2 * PIECE + 4096);
    int rc = file_read(s->name, VIEWER_IMAGE_MAX, &bytes, e);
    if (rc < 0 && e->code == ERR_LIMIT)
        err_set(e, ERR_LIMIT, "the picture is larger than %d MiB",
                VIEWER_IMAGE_MAX >> 20);
    rc = rc < 0 ? rc : put_head(c, s->path, e);
    if (rc == 0) {
        buf_addz(&out, "<img alt=\"");
        file_viewer_add_path(&out, base_of(s->path));
        buf_addf(&out, "\" src=\"data:%s;base64,", type);
        rc = put(c, &out, e);
    }
    struct str all = buf_str(&bytes);
    for (size_t at = 0; rc == 0 && at < all.n; at += PIECE) {
        enc_base64(&out, str_sub(all, at, PIECE));
        rc = put(c, &out, e);
    }
    if (rc == 0) {
        buf_addz(&out, "\">\n</div></body></html>\n");
        rc = put(c, &out, e);
    }
    buf_release(&bytes);
    buf_release(&out);
    return rc;
}

/* "@@ Page 3 @@", as document/document.h's text has it before each page. */
static bool is_mark(struct str line)
{
    return str_starts(line, STR("@@ Page ")) && str_ends(line, STR(" @@"));
}

/* The text's first line is about the file and belongs to no page. */
static int put_pages(const struct job_child *c, struct str text, struct err *e)
{
    struct buf out = BUF_INIT(VIEWER_PAGE_MAX);
    bool page = false;
    int rc = buf_addz(&out, "<p>Drawn from the text of the document: its fonts and "
                            "pictures are not shown.</p>\n");
    str_cut(&text, '\n');
    while (text.n && rc == 0) {
        struct str line = str_cut(&text, '\n');
        if (is_mark(line)) {
            buf_addz(&out, page ? "</pre></canvas>\n" : "");
            rc = put(c, &out, e);
            line = str_sub(line, 3, line.n - 6);
            buf_addf(&out, "<canvas title=\"%.*s\"><pre>", STR_ARG(line));
            page = true;
        } else if (page) {
            rc = add_text(&out, line) < 0 || buf_addc(&out, '\n') < 0;
        }
    }
    buf_addz(&out, page ? "</pre></canvas>\n" : "<p>It has no pages.</p>");
    buf_addz(&out, "</div><script src=\"/viewer.js\"></script></body></html>\n");
    rc = rc ? rc : put(c, &out, e);
    buf_release(&out);
    return rc ? -1 : 0;
}

static int put_pdf(const struct job_child *c, const struct source *s, struct err *e)
{
    struct buf text = BUF_INIT(DOCREAD_TEXT_MAX);
    struct docread_file f = {.kind = DOCREAD_PDF, .path = s->name, .shown = s->path};
    int rc = docread_text(&f, &text, e);
    rc = rc < 0 ? rc : put_head(c, s->path, e);
    rc = rc < 0 ? rc : put_pages(c, buf_str(&text), e);
    buf_release(&text);
    return rc;
}

/* ---- the client ---- */

/*
 * Every user of this machine can reach the port: the page is only for those who could
 * read the file anyway, and for root.
 */
static int check_asker(const struct viewer_ask *a, struct err *e)
{
    uid_t uid;
    if (tcpowner_uid(&a->peer, &a->own, &uid) < 0)
        return err_set(
            e, ERR_DENIED,
            "The client cannot be identified: %s. Files are shown to programs of "
            "this machine that keep their connection open.",
            strerror(errno));
    if (uid == 0 || uid == geteuid())
        return 0;
    return err_set(e, ERR_DENIED,
                   "Files are shown to programs of the user with the uid %u and of root; "
                   "this one's uid is %u.",
                   (unsigned)geteuid(), (unsigned)uid);
}

/* ---- the file ---- */

/* Removes ".", ".." and doubled slashes, by the text alone. */
static void normalize(const char *path, char out[PATH_MAX])
{
    struct str rest = str_of(path);
    size_t n = 0;
    while (rest.n > 0) {
        struct str part = str_cut(&rest, '/');
        if (part.n == 0 || str_eq(part, STR(".")))
            continue;
        if (str_eq(part, STR(".."))) {
            while (n > 0 && out[--n] != '/')
                ;
            continue;
        }
        if (n + 1 + part.n >= PATH_MAX)
            break;
        out[n++] = '/';
        memcpy(out + n, part.p, part.n);
        n += part.n;
    }
    if (n == 0)
        out[n++] = '/';
    out[n] = 0;
}

/* Is path below folder, which is not "/"? */
static bool is_below(const char *path, struct str folder)
{
    return folder.n > 1 && str_starts(str_of(path), folder) && path[folder.n] == '/';
}

/*
 * A link may lead below the folder of the path, such as one to the newest of several
 * pictures, and below the working directory, whose path may have links itself. Elsewhere,
 * the name would not show which file it is.
 */
static bool stays(const struct viewer_ask *a, const char *real)
{
    char named[PATH_MAX], cwd[PATH_MAX];
    normalize(a->path, named);
    struct str folder = str_n(named, (size_t)(strrchr(named, '/') - named));
    return strcmp(named, real) == 0 || is_below(real, folder) ||
           (a->cwd[0] && realpath(a->cwd, cwd) && is_below(real, str_of(cwd)));
}

static int check_kind(mode_t mode, struct err *e)
{
    if (S_ISDIR(mode))
        return err_set(e, ERR_INVALID, "it is a folder");
    return S_ISREG(mode) ? 0 : err_set(e, ERR_UNSUPPORTED, "it is not a regular file");
}

/* Sets *e from errno, but never DENIED, which is for clients and links. */
static int fail(struct err *e, const char *path)
{
    err_sys(e, errno, "cannot view %.1000s", path);
    if (e->code == ERR_DENIED)
        e->code = ERR_IO;
    return -1;
}

/*
 * Opens the file so that the one judged is the one read: first without an effect on it,
 * then again by its descriptor. Fills name with a path to it that no rename changes.
 */
static int open_file(const struct viewer_ask *a, char name[32], struct err *e)
{
    char real[PATH_MAX];
    struct stat st;
    int fd = open(a->path, O_PATH | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail(e, a->path);
    if (check_kind(st.st_mode, e) < 0)
        return -1;
    snprintf(name, 32, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, real, sizeof(real) - 1);
    if (n < 0)
        return fail(e, a->path);
    real[n] = 0;
    if (!stays(a, real))
        return err_set(e, ERR_DENIED,
                       "A link leads out of its folder, and not into the working "
                       "directory; name the file itself.");
    int file = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0)
        return fail(e, a->path);
    close(fd);
    snprintf(name, 32, "/proc/self/fd/%d", file);
    return file;
}

/* ---- its page ---- */

/* Returns the type by the first bytes, as anybody can name a file anything; NULL if it is
 * not shown. */
static const char *type_of(int file)
{
    static const char *const types[] = {"application/pdf", "image/png", "image/jpeg",
                                        "image/gif", "image/webp"};
    char head[MIME_HEAD];
    ssize_t n = pread(file, head, sizeof(head), 0);
    const char *type = n > 0 ? mime_of(STR(""), str_n(head, (size_t)n)) : "";
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(type, types[i]) == 0)
            return types[i];
    }
    return NULL;
}

int file_viewer_make_page(void *arg, const struct job_child *c, struct err *e)
{
    const struct viewer_ask *a = arg;
    char name[32];
    if (check_asker(a, e) < 0)
        return -1;
    int file = open_file(a, name, e);
    if (file < 0)
        return -1;
    struct source s = {.name = name, .path = a->path};
    const char *type = type_of(file);
    if (!type)
        return err_set(e, ERR_UNSUPPORTED,
                       "Unsupported file type: it does not begin as a PDF, PNG, JPEG, "
                       "GIF or WebP file does");
    int rc = strcmp(type, "application/pdf") == 0 ? put_pdf(c, &s, e)
                                                  : put_image(c, &s, type, e);
    if (rc < 0 && (e->code == ERR_INVALID || e->code == ERR_DENIED))
        e->code = ERR_UNSUPPORTED;
    return rc;
}
