/* SPDX-License-Identifier: MIT */
/* Server-sent events: WHATWG HTML 9.2.5 (the format), 9.2.6 (its reading). */
#include "http/sse.h"

#include "base/utf8.h"

/* The first CR or LF, or s.n. */
static size_t line_end(struct str s)
{
    const char *lf = s.n ? memchr(s.p, '\n', s.n) : NULL;
    size_t n = lf ? (size_t)(lf - s.p) : s.n;
    const char *cr = n ? memchr(s.p, '\r', n) : NULL;
    return cr ? (size_t)(cr - s.p) : n;
}

/* ---- writing ---- */

static int add_line(struct buf *out, const char *name, struct str value)
{
    return buf_addz(out, name) < 0 || buf_adds(out, value) < 0 ? -1 : buf_addc(out, '\n');
}

/* A line for each of text's, of which there is one at least. */
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

/* ---- reading ---- */

void sse_init(struct sse *s, size_t event_max)
{
    *s = (struct sse){0};
    buf_init(&s->line, event_max);
    buf_init(&s->data, event_max + 1); /* a LF is after each line at first */
    buf_init(&s->type, event_max);
    buf_init(&s->id, event_max);
    buf_init(&s->last_id, event_max);
}

void sse_release(struct sse *s)
{
    buf_release(&s->line);
    buf_release(&s->data);
    buf_release(&s->type);
    buf_release(&s->id);
    buf_release(&s->last_id);
}

struct str sse_last_id(const struct sse *s) { return buf_str(&s->last_id); }

static int set(struct buf *b, struct str value)
{
    buf_reset(b);
    return utf8_repair(b, value, false);
}

static int take_field(struct sse *s, struct str name, struct str value)
{
    if (str_eq(name, STR("data")))
        return utf8_repair(&s->data, value, false) < 0 ? -1 : buf_addc(&s->data, '\n');
    if (str_eq(name, STR("event")))
        return set(&s->type, value);
    if (str_eq(name, STR("id")))
        return str_chr(value, '\0') >= 0 ? 0 : set(&s->id, value);
    if (str_eq(name, STR("retry")) && str_to_u64(value, &s->retry_ms) == 0)
        s->has_retry = true;
    return 0;
}

/* An empty line. 1: there is an event. */
static int dispatch(struct sse *s, struct sse_event *e)
{
    if (set(&s->last_id, buf_str(&s->id)) < 0)
        return -1;
    s->told = true;
    if (s->data.n == 0)
        return 0;
    buf_truncate(&s->data, s->data.n - 1);
    e->id = buf_str(&s->last_id);
    e->type = s->type.n ? buf_str(&s->type) : STR("message");
    e->data = buf_str(&s->data);
    return 1;
}

static int take_line(struct sse *s, struct str line, struct sse_event *e)
{
    if (!s->begun && str_starts(line, STR("\xef\xbb\xbf")))
        line = str_sub(line, 3, line.n);
    s->begun = true;
    if (s->told) { /* what was handed out is over now */
        buf_reset(&s->data);
        buf_reset(&s->type);
        s->told = false;
    }
    if (line.n == 0)
        return dispatch(s, e);
    struct str value = line, name = str_cut(&value, ':');
    if (str_starts(value, STR(" ")))
        value = str_sub(value, 1, value.n);
    return take_field(s, name, value);
}

int sse_read(struct sse *s, struct str *in, struct sse_event *e)
{
    while (in->n > 0) {
        if (s->skip_lf && in->p[0] == '\n')
            *in = str_sub(*in, 1, in->n);
        s->skip_lf = false;
        size_t n = line_end(*in);
        bool ended = n < in->n;
        struct str line = str_sub(*in, 0, n);
        if (!ended || s->line.n) { /* else it is taken where it lies */
            if (buf_adds(&s->line, line) < 0)
                return -1;
            line = buf_str(&s->line);
        }
        if (!ended) {
            *in = str_sub(*in, in->n, 0);
            return 0;
        }
        s->skip_lf = in->p[n] == '\r';
        *in = str_sub(*in, n + 1, in->n);
        int got = line.n > s->line.max ? -1 : take_line(s, line, e);
        buf_reset(&s->line);
        if (got != 0)
            return got;
    }
    return 0;
}
