/* SPDX-License-Identifier: MIT */
/*
 * A file as text: its encoding, its line ends, and how a change of the text becomes a
 * change of the bytes. Only the changed part is encoded again; line ends of the rest
 * stay, even if they are of several kinds.
 */
#include "base/log.h"
#include "base/utf8.h"
#include "edit/own.h"
#include "file/files.h"
#include "os/file.h"

#include <sys/stat.h>

static const unsigned char mark_utf8[] = {0xef, 0xbb, 0xbf}, mark_le[] = {0xff, 0xfe},
                           mark_be[] = {0xfe, 0xff};

/* Private characters, the last of Unicode, that stand for the bytes 0x80 to 0xff. */
enum { BYTE_CHARS = 0x10ff80 };

void doc_init(struct edit_doc *d)
{
    *d = (struct edit_doc){.bytes = BUF_INIT(EDIT_FILE_MAX),
                           .decoded = BUF_INIT(EDIT_TEXT_MAX),
                           .plain = BUF_INIT(EDIT_TEXT_MAX)};
}

void doc_release(struct edit_doc *d)
{
    buf_release(&d->bytes);
    buf_release(&d->decoded);
    buf_release(&d->plain);
}

struct str doc_plain(const struct edit_doc *d)
{
    return d->ends ? buf_str(&d->plain) : d->text;
}

static bool is_utf8(enum edit_charset charset)
{
    return charset == EDIT_UTF8 || charset == EDIT_UTF8_BOM;
}

void doc_take(struct edit_doc *d, struct buf *out)
{
    struct buf *from = d->ends               ? &d->plain
                       : is_utf8(d->charset) ? &d->bytes
                                             : &d->decoded;
    if (from == &d->bytes)
        buf_consume(from, from->n - d->text.n);
    buf_release(out);
    *out = *from;
    buf_init(from, from->max);
}

/* ---- encodings ---- */

/*
 * Decodes a character. Returns its bytes; 0 if the first byte stands for itself: it is
 * not UTF-8, or begins a character that stands for a byte.
 */
static size_t good_char(struct str s)
{
    uint32_t cp = 0;
    int n = utf8_decode(s, &cp);
    return n > 0 && cp < BYTE_CHARS ? (size_t)n : 0;
}

/* Whether bytes that are not UTF-8 are fewer than the letters beyond ASCII. */
static bool is_mixed(struct str bytes)
{
    size_t good = 0, bad = 0;
    for (size_t at = 0, n; at < bytes.n; at += n ? n : 1) {
        n = good_char(str_sub(bytes, at, 4));
        good += n > 1;
        bad += n == 0;
    }
    return good >= bad;
}

static enum edit_charset charset_of(struct str bytes)
{
    if (str_starts(bytes, str_n(mark_le, sizeof(mark_le))))
        return EDIT_UTF16_LE;
    if (str_starts(bytes, str_n(mark_be, sizeof(mark_be))))
        return EDIT_UTF16_BE;
    if (!utf8_valid(bytes))
        return is_mixed(bytes) ? EDIT_MIXED : EDIT_LATIN1;
    bool mark = str_starts(bytes, str_n(mark_utf8, sizeof(mark_utf8)));
    return mark ? EDIT_UTF8_BOM : EDIT_UTF8;
}

static int add_char(struct buf *out, uint32_t cp)
{
    char c[4];
    return buf_add(out, c, (size_t)utf8_encode(cp, c));
}

static int from_latin1(struct str bytes, struct buf *out)
{
    char *to = buf_reserve(out, 2 * bytes.n);
    size_t n = 0;
    for (size_t i = 0; to && i < bytes.n; i++)
        n += (size_t)utf8_encode((unsigned char)bytes.p[i], to + n);
    if (to)
        buf_commit(out, n);
    return to ? 0 : -1;
}

/* Each byte that is not UTF-8 becomes a character that stands for it. */
static int from_mixed(struct str bytes, struct buf *out)
{
    int rc = 0;
    for (size_t at = 0, n; at < bytes.n && rc == 0; at += n ? n : 1) {
        n = good_char(str_sub(bytes, at, 4));
        rc = n ? buf_add(out, bytes.p + at, n)
               : add_char(out, BYTE_CHARS + (unsigned char)bytes.p[at] - 0x80);
    }
    return rc;
}

static uint32_t unit_at(struct str bytes, size_t at, bool big)
{
    unsigned char a = (unsigned char)bytes.p[at], b = (unsigned char)bytes.p[at + 1];
    return big ? (uint32_t)a << 8 | b : (uint32_t)b << 8 | a;
}

/* RFC 2781 2.2. Returns -1 also for a NUL, which a text does not have. */
static int from_utf16(struct str bytes, bool big, struct buf *out)
{
    if (bytes.n % 2)
        return -1;
    for (size_t i = sizeof(mark_le); i < bytes.n; i += 2) {
        uint32_t cp = unit_at(bytes, i, big);
        if (cp >= 0xd800 && cp < 0xe000) {
            uint32_t low = i + 2 < bytes.n ? unit_at(bytes, i + 2, big) : 0;
            if (cp >= 0xdc00 || low < 0xdc00 || low >= 0xe000)
                return -1;
            cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
            i += 2;
        }
        if (cp == 0 || add_char(out, cp) < 0)
            return -1;
    }
    return 0;
}

/* Returns the character at *at, and moves *at past it. The text is valid. */
static uint32_t take_char(struct str text, size_t *at)
{
    uint32_t cp = 0;
    int n = utf8_decode(str_sub(text, *at, text.n), &cp);
    *at += n > 0 ? (size_t)n : 1;
    return cp;
}

static int to_latin1(struct str text, struct buf *out)
{
    char *to = buf_reserve(out, text.n);
    size_t n = 0;
    for (size_t at = 0; to && at < text.n;) {
        uint32_t cp = take_char(text, &at);
        if (cp > 0xff) {
            buf_commit(out, 0);
            return -1;
        }
        to[n++] = (char)cp;
    }
    if (to)
        buf_commit(out, n);
    return to ? 0 : -1;
}

static int to_mixed(struct str text, struct buf *out)
{
    int rc = 0;
    for (size_t at = 0; at < text.n && rc == 0;) {
        size_t from = at;
        uint32_t cp = take_char(text, &at);
        rc = cp < BYTE_CHARS ? buf_add(out, text.p + from, at - from)
                             : buf_addc(out, (char)(cp - BYTE_CHARS + 0x80));
    }
    return rc;
}

static int add_unit(struct buf *out, uint32_t unit, bool big)
{
    char high = (char)(unit >> 8), low = (char)(unit & 0xff);
    char c[2] = {big ? high : low, big ? low : high};
    return buf_add(out, c, sizeof(c));
}

static int to_utf16(struct str text, bool big, struct buf *out)
{
    int rc = add_unit(out, 0xfeff, big);
    for (size_t at = 0; at < text.n && rc == 0;) {
        uint32_t cp = take_char(text, &at);
        if (cp >= 0x10000) {
            rc = add_unit(out, 0xd800 + ((cp - 0x10000) >> 10), big);
            cp = 0xdc00 + ((cp - 0x10000) & 0x3ff);
        }
        if (rc == 0)
            rc = add_unit(out, cp, big);
    }
    return rc;
}

/* Encodes the decoded text into the file's bytes; UTF-8 is moved there. */
static int encode(struct edit_doc *d)
{
    if (d->charset == EDIT_UTF16_LE || d->charset == EDIT_UTF16_BE)
        return to_utf16(d->text, d->charset == EDIT_UTF16_BE, &d->bytes);
    if (d->charset == EDIT_MIXED)
        return to_mixed(d->text, &d->bytes);
    if (d->charset == EDIT_LATIN1 && to_latin1(d->text, &d->bytes) == 0)
        return 0;
    buf_release(&d->bytes);
    if (d->charset != EDIT_UTF8_BOM) {
        d->charset = EDIT_UTF8;
        d->bytes = d->decoded;
        buf_init(&d->decoded, EDIT_TEXT_MAX);
        return 0;
    }
    if (buf_add(&d->bytes, mark_utf8, sizeof(mark_utf8)) < 0 ||
        buf_adds(&d->bytes, d->text) < 0)
        return -1;
    d->text = str_sub(buf_str(&d->bytes), sizeof(mark_utf8), d->bytes.n);
    return 0;
}

/* ---- reading ---- */

static int not_text(struct edit_failure *f, const char *path)
{
    f->why = EDIT_BINARY;
    return err_set(&f->e, ERR_UNSUPPORTED,
                   "cannot edit %s: it is binary, or its encoding is not supported",
                   path);
}

/* Finds out which line ends the text has. */
static int find_ends(struct edit_doc *d)
{
    d->ends = str_chr(d->text, '\r') >= 0;
    if (d->ends && buf_adds(&d->plain, d->text) < 0)
        return -1;
    files_newlines(&d->plain);
    return 0;
}

int doc_decode(struct edit_doc *d, struct edit_failure *f, const char *path)
{
    struct str bytes = buf_str(&d->bytes);
    int rc = 0;
    d->charset = charset_of(bytes);
    bool wide = d->charset == EDIT_UTF16_LE || d->charset == EDIT_UTF16_BE;
    if (wide)
        rc = from_utf16(bytes, d->charset == EDIT_UTF16_BE, &d->decoded);
    else if (files_is_binary(bytes))
        rc = -1;
    else if (d->charset == EDIT_LATIN1)
        rc = from_latin1(bytes, &d->decoded);
    else if (d->charset == EDIT_MIXED)
        rc = from_mixed(bytes, &d->decoded);
    size_t mark = d->charset == EDIT_UTF8_BOM ? sizeof(mark_utf8) : 0;
    d->text = is_utf8(d->charset) ? str_sub(bytes, mark, bytes.n) : buf_str(&d->decoded);
    return rc < 0 || find_ends(d) < 0 ? not_text(f, path) : 0;
}

int doc_load(struct edit_doc *d, const char *path, struct edit_failure *f)
{
    struct stat st;
    if (file_read(path, EDIT_FILE_MAX, &d->bytes, &f->e) < 0) {
        bool large = f->e.code == ERR_LIMIT && stat(path, &st) == 0 &&
                     st.st_size > EDIT_FILE_MAX;
        f->why = large ? EDIT_TOO_LARGE : EDIT_FILE;
        f->size = large ? (uint64_t)st.st_size : 0;
        return -1;
    }
    return doc_decode(d, f, path);
}

int edit_read(const char *path, struct buf *out, struct edit_failure *f)
{
    struct edit_doc d;
    doc_init(&d);
    int rc = doc_load(&d, path, f);
    if (rc == 0 && out->n == 0) {
        doc_take(&d, out);
    } else if (rc == 0 && buf_adds(out, doc_plain(&d)) < 0) {
        f->why = EDIT_FILE;
        rc = err_set(&f->e, ERR_LIMIT, "cannot read %s: its text is too large", path);
    }
    doc_release(&d);
    return rc;
}

/* ---- changing ---- */

/* Returns the offset in the text with its own line ends of an offset in the plain one. */
static size_t own_place(struct str text, size_t plain)
{
    size_t at = 0;
    while (plain > 0) {
        const char *cr = at < text.n ? memchr(text.p + at, '\r', text.n - at) : NULL;
        size_t run = cr ? (size_t)(cr - text.p) - at : text.n - at;
        if (run >= plain || !cr)
            return at + (run < plain ? run : plain);
        at += run + 1;
        at += at < text.n && text.p[at] == '\n';
        plain -= run + 1;
    }
    return at;
}

/* Returns the most frequent line end of a text. */
static struct str usual_end(struct str text)
{
    size_t lf = 0, cr = 0, both = 0;
    for (size_t i = 0; i < text.n; i++) {
        bool after = i > 0 && text.p[i - 1] == '\r';
        lf += text.p[i] == '\n' && !after;
        both += text.p[i] == '\n' && after;
        cr += text.p[i] == '\r';
    }
    cr -= both;
    if (both > lf && both >= cr)
        return STR("\r\n");
    return cr > lf ? STR("\r") : STR("\n");
}

/* Appends lines; a \r\n in them is one line end too. */
static int add_lines(struct buf *out, struct str text, struct str end)
{
    while (text.n > 0) {
        long n = str_chr(text, '\n');
        struct str line = str_sub(text, 0, n < 0 ? text.n : (size_t)n);
        text = str_sub(text, n < 0 ? text.n : (size_t)n + 1, text.n);
        if (n > 0 && end.n == 2 && line.p[line.n - 1] == '\r')
            line.n--;
        if (buf_adds(out, line) < 0 || (n >= 0 && buf_adds(out, end) < 0))
            return -1;
    }
    return 0;
}

/* Builds the text with its own line ends and the places replaced. */
static int splice_own(const struct edit_doc *d, const struct doc_place *p, size_t n,
                      struct buf *out)
{
    struct str all = d->text, end = d->ends ? usual_end(all) : STR("\n");
    size_t at = 0, plain = 0; /* the same place in both texts */
    for (size_t i = 0; i < n; i++) {
        ASSERT(p[i].from >= plain && p[i].to >= p[i].from); /* ascending and apart */
        struct str rest = str_sub(all, at, all.n);
        size_t before = p[i].from - plain, behind = p[i].to - plain;
        size_t a = d->ends ? own_place(rest, before) : before;
        size_t b = d->ends ? own_place(rest, behind) : behind;
        if (buf_adds(out, str_sub(rest, 0, a)) < 0 || add_lines(out, p[i].text, end) < 0)
            return -1;
        at += b;
        plain = p[i].to;
    }
    return buf_adds(out, str_sub(all, at, all.n));
}

static int splice_plain(const struct edit_doc *d, const struct doc_place *p, size_t n,
                        struct buf *out)
{
    struct str all = doc_plain(d);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        ASSERT(p[i].from >= at && p[i].to >= p[i].from && p[i].to <= all.n);
        if (buf_adds(out, str_sub(all, at, p[i].from - at)) < 0 ||
            buf_adds(out, p[i].text) < 0)
            return -1;
        at = p[i].to;
    }
    return buf_adds(out, str_sub(all, at, all.n));
}

static bool adds_returns(const struct doc_place *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_chr(p[i].text, '\r') >= 0)
            return true;
    return false;
}

/*
 * In a text with mixed line ends, an added \n can follow a \r, and two line ends would
 * become one. Then all of them become the usual one.
 */
static int mend_ends(const struct edit_doc *d, struct str wanted, struct edit_doc *now)
{
    if (str_eq(wanted, doc_plain(now)))
        return 0;
    buf_reset(&now->decoded);
    buf_reset(&now->plain);
    int rc = add_lines(&now->decoded, wanted, usual_end(d->text));
    now->text = buf_str(&now->decoded);
    return rc < 0 ? -1 : find_ends(now);
}

int doc_splice(const struct edit_doc *d, const struct doc_place *p, size_t n,
               struct edit_doc *now)
{
    struct buf wanted = BUF_INIT(EDIT_TEXT_MAX);
    int rc = splice_own(d, p, n, &now->decoded);
    bool returns = adds_returns(p, n);
    buf_init(&now->bytes, EDIT_TEXT_MAX);
    now->charset = d->charset;
    now->text = buf_str(&now->decoded);
    if (rc == 0 && (d->ends || returns))
        rc = find_ends(now);
    if (rc == 0 && d->ends && !returns) {
        rc = splice_plain(d, p, n, &wanted);
        if (rc == 0)
            rc = mend_ends(d, buf_str(&wanted), now);
    }
    buf_release(&wanted);
    return rc < 0 ? -1 : encode(now);
}

/* ---- lines ---- */

int64_t edit_count_lines(struct str text)
{
    bool open = text.n > 0 && text.p[text.n - 1] != '\n';
    return (int64_t)str_count(text, '\n') + open;
}

int64_t edit_line_of(struct str text, size_t at)
{
    return (int64_t)str_count(str_sub(text, 0, at), '\n') + 1;
}

struct str edit_lines(struct str text, int64_t from, int64_t to)
{
    size_t begin = 0, end;
    int64_t line = 1;
    for (; line < from && begin < text.n; line++) {
        long n = str_chr(str_sub(text, begin, text.n), '\n');
        begin = n < 0 ? text.n : begin + (size_t)n + 1;
    }
    for (end = begin; line <= to && end < text.n; line++) {
        long n = str_chr(str_sub(text, end, text.n), '\n');
        end = n < 0 ? text.n : end + (size_t)n + 1;
    }
    return str_sub(text, begin, end - begin);
}
