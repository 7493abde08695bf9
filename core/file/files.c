/* SPDX-License-Identifier: MIT */
/* The kind of a file's bytes, and its lines. */
#include "file/files.h"

#include "base/enc.h"
#include "base/mime.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- reading ---- */

bool files_is_binary(struct str bytes)
{
    struct str head = str_sub(bytes, 0, FILES_HEAD);
    size_t controls = 0;
    bool odd = false;
    for (size_t i = 0; i < head.n; i++) {
        unsigned char c = (unsigned char)head.p[i];
        bool space = c >= '\b' && c <= '\r' && c != '\v';
        controls += (c < ' ' && !space) || c == 0x7f || c == 0xff;
        odd = odd || c == 0;
    }
    /* A character that is cut by the end of the head is not an error. */
    if (!odd && utf8_valid(str_sub(head, 0, utf8_cut(head, head.n))))
        return false;
    return odd || controls * 10 > head.n * 3;
}

bool files_invented(int fd)
{
    static const unsigned long types[] = {
        0x9fa0,     /* proc */
        0x62656572, /* sysfs */
        0x27e0eb,   /* cgroup */
        0x63677270, /* cgroup2 */
        0x64626720, /* debugfs */
        0x74726163, /* tracefs */
        0xcafe4a11, /* bpf */
        0x1cd1      /* devpts */
    };
    struct statfs s;
    if (fstatfs(fd, &s) < 0)
        return false;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if ((unsigned long)s.f_type == types[i])
            return true;
    }
    return false;
}

/* ---- lines ---- */

void files_newlines(struct buf *text)
{
    char *cr = text->n ? memchr(text->p, '\r', text->n) : NULL;
    if (!cr)
        return;
    const char *end = text->p + text->n;
    char *to = cr;
    for (const char *from = cr; from < end; from++) {
        bool both = *from == '\r' && from + 1 < end && from[1] == '\n';
        from += both;
        *to++ = *from == '\r' ? '\n' : *from;
    }
    buf_truncate(text, (size_t)(to - text->p));
}

/* Where line `line` begins; the end of the text when there are fewer. */
static size_t line_at(struct str text, int64_t line)
{
    size_t at = 0;
    while (line-- > 0 && at < text.n) {
        long n = str_chr(str_sub(text, at, text.n), '\n');
        at = n < 0 ? text.n : at + (size_t)n + 1;
    }
    return at;
}

static int64_t count_lines(struct str text)
{
    int64_t n = text.n > 0 && text.p[text.n - 1] != '\n';
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

struct str files_slice_lines(struct str text, int64_t start, int64_t end)
{
    int64_t n = count_lines(text);
    if (end == -1)
        return str_sub(text, line_at(text, clamp(start, 0, n)), text.n);
    int64_t begin = clamp(start, 0, n > 2 ? n - 2 : 0);
    int64_t stop = end < n ? end : n;
    stop = stop > begin ? stop : begin + 1;
    size_t from = line_at(text, begin);
    return str_sub(text, from, line_at(text, stop) - from);
}

/* Where Python's text[:line] ends and text[line:] begins. */
static size_t slice_at(struct str text, int64_t line)
{
    return line_at(text, line < 0 ? count_lines(text) + line : line);
}

int files_splice_lines(struct buf *out, struct str old, struct str text, int64_t start,
                       int64_t end)
{
    size_t before = out->n;
    struct str head = str_sub(old, 0, start == 0 ? 0 : slice_at(old, start));
    struct str tail = str_sub(old, end == -1 ? old.n : slice_at(old, end), old.n);
    bool open = head.n > 0 && head.p[head.n - 1] != '\n';
    if (buf_adds(out, head) == 0 && (!open || buf_addc(out, '\n') == 0) &&
        buf_adds(out, text) == 0 && buf_addc(out, '\n') == 0 && buf_adds(out, tail) == 0)
        return 0;
    buf_truncate(out, before);
    return -1;
}

/* ---- pictures and films ---- */

const char *files_media_type(struct str name)
{
    static const char *const ends[] = {".png", ".jpg", ".jpeg", ".bmp", ".gif",
                                       ".pdf", ".mp4", ".webm", ".ogg"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct str end = str_of(ends[i]);
        if (name.n >= end.n && strncasecmp(name.p + name.n - end.n, end.p, end.n) == 0)
            return mime_of_name(name);
    }
    return NULL;
}

int files_data_url(struct buf *out, const char *type, struct str bytes)
{
    size_t before = out->n;
    if (buf_addf(out, "data:%s;base64,", type) == 0 && enc_base64(out, bytes) == 0)
        return 0;
    buf_truncate(out, before);
    return -1;
}
