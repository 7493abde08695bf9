/* SPDX-License-Identifier: MIT */
#include "webpage/webbody.h"

#include "archive/zip_gz.h"
#include "archive/zip_inflate.h"
#include "base/mime.h"
#include "base/utf8.h"
#include "document/document.h"
#include "document/pdf/pdf.h"
#include "os/file.h"
#include "text/webcharset.h"
#include "webpage/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_MAX = 5000, INDENT_MAX = 64, TYPE_MAX = 100 };

static int too_long(struct err *e)
{
    return err_set(e, ERR_LIMIT,
                   "cannot show the page: unpacked it is longer than %d MiB",
                   WEBBODY_PLAIN_MAX >> 20);
}

/* ---- packed: RFC 9110 8.4.1 ---- */

static ssize_t from_memory(void *arg, void *p, size_t n, struct err *e)
{
    struct str *rest = arg;
    (void)e;
    n = n < rest->n ? n : rest->n;
    memcpy(p, rest->p, n);
    *rest = str_sub(*rest, n, rest->n);
    return (ssize_t)n;
}

static int unzip(struct str packed, struct buf *out, struct err *e)
{
    struct gunzip *g = gunzip_new(from_memory, &packed, e);
    ssize_t n = g ? 1 : -1;
    while (n > 0) {
        char *p = buf_reserve(out, 64 << 10);
        if (!p) {
            n = too_long(e);
            break;
        }
        n = gunzip_read(g, p, 64 << 10, e);
        buf_commit(out, n > 0 ? (size_t)n : 0);
    }
    gunzip_free(g);
    return n < 0 ? -1 : 0;
}

int webbody_unpack(const struct webbody *b, struct buf *out, struct str *plain,
                   struct err *e)
{
    struct str how = str_trim(b->encoding);
    *plain = b->bytes;
    if (!how.n || webpage_is_word(how, "identity") || !b->bytes.n)
        return 0;
    int rc;
    if (webpage_is_word(how, "gzip") || webpage_is_word(how, "x-gzip")) {
        rc = unzip(b->bytes, out, e);
    } else if (webpage_is_word(how, "deflate")) {
        rc = zip_inflate(b->bytes, out);
        if (rc < 0)
            too_long(e);
        else if (rc > 0)
            rc = err_set(e, ERR_INVALID,
                         "cannot show the page: its deflated bytes are "
                         "damaged or cut off");
    } else {
        rc = err_set(e, ERR_UNSUPPORTED,
                     "cannot show the page: its Content-Encoding is \"%.*s\"; only gzip "
                     "and deflate "
                     "are supported, and were asked for",
                     how.n < 40 ? (int)how.n : 40, how.p);
    }
    *plain = buf_str(out);
    return rc;
}

/* ---- JSON ---- */

static int new_line(struct buf *out, int depth)
{
    int rc = buf_addc(out, '\n');
    for (int i = 0; rc == 0 && i < depth && i < INDENT_MAX; i++)
        rc = buf_addz(out, "  ");
    return rc;
}

/* Appends valid JSON with its lines broken and indented. */
static int add_indented(struct buf *out, struct str s)
{
    int depth = 0, rc = 0;
    bool quoted = false;
    for (size_t i = 0; i < s.n && rc == 0; i++) {
        char c = s.p[i];
        if (quoted || c == '"') {
            if (c == '"')
                quoted = !quoted;
            rc = buf_addc(out, c);
            if (rc == 0 && quoted && c == '\\' && i + 1 < s.n)
                rc = buf_addc(out, s.p[++i]);
            continue;
        }
        if (strchr(" \t\r\n", c))
            continue;
        bool empty = (c == '}' || c == ']') && out->n &&
                     (out->p[out->n - 1] == '{' || out->p[out->n - 1] == '[');
        if (c == '}' || c == ']') {
            depth--;
            rc = empty ? 0 : new_line(out, depth);
        }
        rc = rc < 0 ? rc : buf_addc(out, c);
        if (c == '{' || c == '[')
            depth++;
        bool next_ends = i + 1 < s.n && (s.p[i + 1] == '}' || s.p[i + 1] == ']');
        if (rc == 0 && (c == '{' || c == '[') && !next_ends)
            rc = new_line(out, depth);
        else if (rc == 0 && c == ',')
            rc = new_line(out, depth);
        else if (rc == 0 && c == ':')
            rc = buf_addc(out, ' ');
    }
    return rc;
}

static int show_json(struct webpage *p, struct str text)
{
    struct json *j = json_parse(text, NULL);
    if (!j)
        return buf_adds(&p->text, text);
    json_free(j);
    return add_indented(&p->text, text) < 0 ? -1 : buf_addc(&p->text, '\n');
}

/* ---- by type ---- */

static bool has_word(struct str type, const char *word)
{
    return str_find(type, str_of(word)) >= 0;
}

static struct str charset_of(struct str type)
{
    while (type.n) {
        struct str part = str_cut(&type, ';');
        struct str name = str_trim(str_cut(&part, '='));
        part = str_trim(part);
        if (webpage_is_word(name, "charset")) {
            if (part.n > 1 && *part.p == '"')
                part = str_sub(part, 1, part.n - 2);
            return part;
        }
    }
    return (struct str){0};
}

static int show_text(const struct webbody *b, struct webpage *p, struct str plain,
                     struct str type, bool html, struct err *e)
{
    char unknown[40];
    struct buf text = BUF_INIT(WEBBODY_PLAIN_MAX);
    int rc = webcharset_read(plain, charset_of(b->type), html, &text, unknown);
    int strange = rc;
    if (rc < 0)
        too_long(e);
    else if (html)
        rc = webpage_html(p, buf_str(&text), b->url, e);
    else
        rc = has_word(type, "json") ? show_json(p, buf_str(&text))
                                    : buf_adds(&p->text, buf_str(&text));
    if (rc < 0 && !e->code)
        err_set(e, ERR_LIMIT, "cannot show the page: its text is longer than %d MiB",
                WEBPAGE_TEXT_MAX >> 20);
    if (rc >= 0 && strange > 0)
        buf_addf(
            &p->text,
            "\n(The page is in %s, which text mode does not support: characters outside "
            "of ASCII could not be read.)\n",
            unknown);
    buf_release(&text);
    return rc < 0 ? -1 : 0;
}

/* Shows the facts of a picture, sound or film, without its bytes. */
static int show_media(struct webpage *p, enum docread_kind kind, struct str name,
                      struct str plain, struct err *e)
{
    struct buf text = BUF_INIT(DOCREAD_TEXT_MAX);
    int rc = docread_media(kind, name, plain, true, &text, e);
    long end = str_find(buf_str(&text), STR("["));
    if (rc == 0)
        rc = buf_adds(&p->text,
                      str_sub(buf_str(&text), 0, end < 0 ? text.n : (size_t)end));
    buf_release(&text);
    return rc;
}

static bool is_vague(struct str type)
{
    return !type.n || webpage_is_word(type, "application/octet-stream") ||
           webpage_is_word(type, "text/plain") || webpage_is_word(type, "*/*");
}

bool webbody_is_document(struct str type, struct str url)
{
    struct str rest = type, kind = str_trim(str_cut(&rest, ';'));
    url = str_cut(&url, '#');
    url = str_cut(&url, '?');
    bool vague = is_vague(kind) || webpage_is_word(kind, "application/zip");
    if (vague && !webpage_is_word(kind, "text/plain"))
        kind = str_of(mime_of(url, STR("")));
    return webpage_is_word(kind, "application/pdf") ||
           docread_package_kind(kind) != DOCREAD_AUTO;
}

/* Reads an office file or book from a temporary file, as its readers need one. */
static int show_office(struct webpage *p, enum docread_kind kind, struct str plain,
                       struct err *e)
{
    int fd = file_of_text("od-document", plain);
    if (fd < 0)
        return err_sys(e, errno, "cannot make a file of the document");
    int rc = docread_package(fd, kind, true, &p->text, e);
    close(fd);
    return rc;
}

static bool looks_html(struct str s)
{
    s = str_sub(s, 0, MIME_HEAD);
    while (s.n && strchr(" \t\r\n\xEF\xBB\xBF", *s.p) && *s.p)
        s = str_sub(s, 1, s.n);
    struct str five = str_sub(s, 0, 5), nine = str_sub(s, 0, 9);
    return webpage_is_word(five, "<html") || webpage_is_word(nine, "<!doctype") ||
           webpage_is_word(five, "<head") || webpage_is_word(five, "<body");
}

/*
 * Returns the type in small letters, in `small`; by the name and the first bytes if none
 * is given.
 */
static struct str type_of(const struct webbody *b, struct str plain, char small[TYPE_MAX])
{
    struct str rest = b->type, type = str_trim(str_cut(&rest, ';'));
    struct str path = str_cut(&(struct str){b->url.p, b->url.n}, '?');
    bool given = type.n > 0, zip = webpage_is_word(type, "application/zip");
    size_t n = 0;
    if ((is_vague(type) || zip) && !(given && has_word(type, "text/")))
        type = str_of(mime_of(path, str_sub(plain, 0, MIME_HEAD)));
    for (; n < type.n && n + 1 < TYPE_MAX; n++)
        small[n] = type.p[n] >= 'A' && type.p[n] <= 'Z' ? (char)(type.p[n] + 32)
                                                        : type.p[n];
    small[n] = '\0';
    return str_n(small, n);
}

static bool is_text(struct str type)
{
    return str_starts(type, STR("text/")) || has_word(type, "json") ||
           has_word(type, "xml") || has_word(type, "javascript");
}

bool webbody_is_shown(const struct webbody *b)
{
    char small[TYPE_MAX];
    bool packed = str_trim(b->encoding).n > 0;
    struct str type = type_of(b, packed ? STR("") : b->bytes, small);
    return has_word(type, "html") || is_text(type) ||
           docread_package_kind(type) != DOCREAD_AUTO ||
           str_eq(type, STR("application/pdf")) || str_starts(type, STR("image/")) ||
           str_starts(type, STR("audio/")) || str_starts(type, STR("video/"));
}

static int show(const struct webbody *b, struct webpage *p, struct str plain,
                struct err *e)
{
    char small[TYPE_MAX];
    struct str type = type_of(b, plain, small);
    struct str path = str_cut(&(struct str){b->url.p, b->url.n}, '?');
    bool given = str_trim(b->type).n > 0;
    if (docread_package_kind(type) != DOCREAD_AUTO)
        return show_office(p, docread_package_kind(type), plain, e);
    if (has_word(type, "html") || (!given && looks_html(plain)))
        return show_text(b, p, plain, type, true, e);
    if (is_text(type))
        return show_text(b, p, plain, type, false, e);
    if (str_eq(type, STR("application/pdf")))
        return docread_pdf(plain, false, &p->text, e);
    if (str_starts(type, STR("image/"))) {
        buf_adds(&p->picture, plain);
        return show_media(p, DOCREAD_IMAGE, path, plain, e);
    }
    if (str_starts(type, STR("audio/")))
        return show_media(p, DOCREAD_AUDIO, path, plain, e);
    if (str_starts(type, STR("video/")))
        return show_media(p, DOCREAD_VIDEO, path, plain, e);
    buf_addf(&p->text, "Type: %s\nBytes: %zu\n(This is not text.)\n", small, plain.n);
    return 0;
}

int webbody_read(const struct webbody *b, struct webpage *p, struct err *e)
{
    struct buf out = BUF_INIT(WEBBODY_PLAIN_MAX);
    struct str plain;
    int rc = webbody_unpack(b, &out, &plain, e);
    if (rc == 0)
        rc = show(b, p, plain, e);
    buf_release(&out);
    return rc;
}

/* ---- files ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_escaped(struct buf *out, const char *s)
{
    int rc = 0;
    for (; *s && rc == 0; s++)
        rc = strchr("<>&\"'", *s) ? buf_addf(out, "&#%d;", *s) : buf_addc(out, *s);
    return rc;
}

static int add_reference(struct buf *out, const char *s)
{
    int rc = 0;
    for (; *s && rc == 0; s++)
        rc = strchr("<>&\"'%?#: \\", *s) ? buf_addf(out, "%%%02X", *s)
                                         : buf_addc(out, *s);
    return rc;
}

static int add_entry(struct buf *html, int fd, const char *name)
{
    struct stat st;
    bool there = fstatat(fd, name, &st, 0) == 0;
    const char *slash = there && S_ISDIR(st.st_mode) ? "/" : "";
    if (buf_addz(html, "<li><a href=\"./") < 0 || add_reference(html, name) < 0 ||
        buf_addf(html, "%s\">", slash) < 0 || add_escaped(html, name) < 0 ||
        buf_addf(html, "%s</a>", slash) < 0)
        return -1;
    if (there && S_ISREG(st.st_mode))
        return buf_addf(html, " %lld bytes", (long long)st.st_size);
    return 0;
}

static int show_folder(DIR *d, const char *path, struct str url, struct webpage *p,
                       struct err *e)
{
    char **names = calloc(ENTRIES_MAX, sizeof(*names));
    struct buf html = BUF_INIT(16 << 20), base = BUF_INIT(64 << 10);
    size_t n = 0, more = 0;
    for (struct dirent *one; names && (one = readdir(d)) != NULL;) {
        if (strcmp(one->d_name, ".") == 0)
            continue;
        if (n < ENTRIES_MAX && (names[n] = strdup(one->d_name)) != NULL)
            n++;
        else
            more++;
    }
    if (names)
        qsort(names, n, sizeof(*names), by_name);
    buf_addz(&html, "<title>");
    add_escaped(&html, path);
    buf_addz(&html, "</title><h1>");
    add_escaped(&html, path);
    buf_addz(&html, "</h1><ul>");
    for (size_t i = 0; i < n; i++) {
        add_entry(&html, dirfd(d), names[i]);
        free(names[i]);
    }
    if (more)
        buf_addf(&html, "</ul><p>And %zu more.", more);
    free(names);
    int rc = buf_adds(&base, url);
    if (rc == 0 && !str_ends(url, STR("/")))
        rc = buf_addc(&base, '/');
    struct buf text = BUF_INIT(32 << 20);
    rc = rc < 0 ? rc : utf8_repair(&text, buf_str(&html), true);
    rc = rc < 0 ? err_set(e, ERR_LIMIT, "cannot show %s: its names are too long", path)
                : webpage_html(p, buf_str(&text), buf_str(&base), e);
    buf_release(&text);
    buf_release(&html);
    buf_release(&base);
    return rc;
}

static int read_whole(int fd, const char *path, struct buf *out, struct err *e)
{
    for (;;) {
        char *room = buf_reserve(out, 64 << 10);
        ssize_t n = room ? read(fd, room, 64 << 10) : -1;
        if (!room)
            return err_set(e, ERR_LIMIT, "cannot show %s: it is larger than %d MiB", path,
                           WEBBODY_MAX >> 20);
        buf_commit(out, n > 0 ? (size_t)n : 0);
        if (n < 0)
            return err_sys(e, errno, "cannot read %s", path);
        if (n == 0)
            return 0;
    }
}

int webbody_file(const char *path, struct str url, struct webpage *p, struct err *e)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0) {
        err_sys(e, errno, "cannot open %s", path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (S_ISDIR(st.st_mode)) {
        DIR *d = fdopendir(fd);
        int rc = d ? show_folder(d, path, url, p, e)
                   : err_sys(e, errno, "cannot list %s", path);
        if (d)
            closedir(d);
        else
            close(fd);
        return rc;
    }
    struct buf bytes = BUF_INIT(WEBBODY_MAX);
    int rc = S_ISREG(st.st_mode)
                 ? read_whole(fd, path, &bytes, e)
                 : err_set(e, ERR_UNSUPPORTED, "cannot show %s: it is not a regular file",
                           path);
    close(fd);
    const char *type = mime_of(str_of(path), str_sub(buf_str(&bytes), 0, MIME_HEAD));
    struct webbody b = {.bytes = buf_str(&bytes), .type = str_of(type), .url = url};
    if (rc == 0)
        rc = webbody_read(&b, p, e);
    buf_release(&bytes);
    return rc;
}
