/* SPDX-License-Identifier: MIT */
/* Server-sent events: WHATWG HTML 9.2.5. */
#include "http/sse.h"

/* Returns the offset of the first CR or LF, or s.n. */
static size_t line_end(struct str s)
{
    const char *lf = s.n ? memchr(s.p, '\n', s.n) : NULL;
    size_t n = lf ? (size_t)(lf - s.p) : s.n;
    const char *cr = n ? memchr(s.p, '\r', n) : NULL;
    return cr ? (size_t)(cr - s.p) : n;
}

static int add_line(struct buf *out, const char *name, struct str value)
{
    return buf_addz(out, name) < 0 || buf_adds(out, value) < 0 ? -1 : buf_addc(out, '\n');
}

/* Appends a line for each line of text, at least one. */
static int add_lines(struct buf *out, const char *name, struct str text)
{
    for (;;) {
        size_t n = line_end(text);
        if (add_line(out, name, str_sub(text, 0, n)) < 0)
            return -1;
        if (n == text.n)
            return 0;
        bool both = text.p[n] == '\r' && n + 1 < text.n && text.p[n + 1] == '\n';
        text = str_sub(text, n + (both ? 2 : 1), text.n);
    }
}

static bool is_one_line(struct str s) { return line_end(s) == s.n; }

int sse_add_event(struct buf *out, const struct sse_event *e)
{
    size_t before = out->n;
    if (!is_one_line(e->id) || !is_one_line(e->type) || str_chr(e->id, '\0') >= 0)
        return -1;
    if ((e->id.p && add_line(out, "id: ", e->id) < 0) ||
        (e->type.p && add_line(out, "event: ", e->type) < 0) ||
        add_lines(out, "data: ", e->data) < 0 || buf_addc(out, '\n') < 0) {
        buf_truncate(out, before);
        return -1;
    }
    return 0;
}

int sse_add_comment(struct buf *out, struct str text)
{
    size_t before = out->n;
    if (add_lines(out, text.n ? ": " : ":", text) < 0 || buf_addc(out, '\n') < 0) {
        buf_truncate(out, before);
        return -1;
    }
    return 0;
}
