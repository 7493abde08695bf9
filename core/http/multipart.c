/* SPDX-License-Identifier: MIT */
#include "http/multipart.h"

#include "base/buf.h"
#include "base/xalloc.h"
#include "http/http.h"

#include <stdlib.h>
#include <strings.h>

enum multipart_state { PREAMBLE, BOUNDARY_END, HEAD, DATA, EPILOGUE, BROKEN };

struct multipart {
    const struct multipart_events *ev;
    void *arg;
    enum multipart_state state;
    char mark[MULTIPART_BOUNDARY_MAX + 5]; /* CR LF - - boundary */
    size_t mark_n;
    int parts;
    struct buf held;           /* what may be the beginning of a mark, or a part's head */
    struct buf name, filename; /* of the part, unquoted */
};

static bool same_word(struct str s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* ---- parameters: RFC 9110 5.6.6, RFC 7578 4.2 ---- */

/* Cuts "; name=value" off, with the value unquoted into out. Returns false at the end. */
static bool next_param(struct str *rest, struct str *name, struct buf *out)
{
    *rest = str_trim(*rest);
    while (rest->n > 0 && rest->p[0] == ';')
        *rest = str_trim(str_sub(*rest, 1, rest->n));
    size_t i = 0;
    while (i < rest->n && rest->p[i] != '=' && rest->p[i] != ';')
        i++;
    *name = str_trim(str_sub(*rest, 0, i));
    buf_reset(out);
    if (name->n == 0)
        return false;
    *rest = str_sub(*rest, i, rest->n);
    if (rest->n == 0 || rest->p[0] != '=')
        return true;
    *rest = str_sub(*rest, 1, rest->n);
    if (rest->n == 0 || rest->p[0] != '"') {
        for (i = 0; i < rest->n && rest->p[i] != ';'; i++)
            ;
        buf_adds(out, str_trim(str_sub(*rest, 0, i)));
        *rest = str_sub(*rest, i, rest->n);
        return true;
    }
    for (i = 1; i < rest->n && rest->p[i] != '"'; i++) {
        /* Browsers escape a quote as %22 and nothing by \; names of Windows hold \. */
        if (rest->p[i] == '\\' && i + 1 < rest->n &&
            (rest->p[i + 1] == '"' || rest->p[i + 1] == '\\'))
            i++;
        buf_addc(out, rest->p[i]);
    }
    *rest = str_sub(*rest, i + 1, rest->n);
    return true;
}

/* CHARSET'LANGUAGE'percent-encoded (RFC 8187 3.2); what is not stays as it came. */
static void take_extended(struct buf *out, struct str v)
{
    str_cut(&v, '\'');
    str_cut(&v, '\'');
    buf_reset(out);
    if (http_decode(out, v, false) < 0)
        buf_adds(out, v);
}

/* ---- life ---- */

struct multipart *multipart_new(struct str content_type,
                                const struct multipart_events *ev, void *arg,
                                struct err *e)
{
    struct str rest = content_type, type = str_cut(&rest, ';'), name;
    struct buf value = BUF_INIT(256);
    struct multipart *m = NULL;
    bool found = false;
    if (!same_word(str_trim(type), "multipart/form-data")) {
        err_set(e, ERR_INVALID,
                "the request's Content-Type is not multipart/form-data, so there is no "
                "form to read");
        return NULL;
    }
    while (!found && next_param(&rest, &name, &value))
        found = same_word(name, "boundary");
    bool fits = found && value.n > 0 && value.n <= MULTIPART_BOUNDARY_MAX;
    for (size_t i = 0; fits && i < value.n; i++)
        fits = value.p[i] >= ' ' && value.p[i] < 0x7f;
    if (fits) {
        m = xnew(struct multipart);
        m->ev = ev;
        m->arg = arg;
        memcpy(m->mark, "\r\n--", 4);
        memcpy(m->mark + 4, value.p, value.n);
        m->mark_n = value.n + 4;
        buf_init(&m->held, MULTIPART_HEAD_MAX);
        buf_init(&m->name, MULTIPART_HEAD_MAX);
        buf_init(&m->filename, MULTIPART_HEAD_MAX);
        /* The first boundary may stand at the very beginning. */
        buf_addz(&m->held, "\r\n");
    } else {
        err_set(e, ERR_INVALID,
                "the form's boundary is missing, or not 1 to %d printable letters",
                MULTIPART_BOUNDARY_MAX);
    }
    buf_release(&value);
    return m;
}

void multipart_free(struct multipart *m)
{
    if (!m)
        return;
    buf_release(&m->held);
    buf_release(&m->name);
    buf_release(&m->filename);
    free(m);
}

/* ---- parts ---- */

static void take_line(struct multipart *m, struct str line, struct multipart_part *p)
{
    struct str value = line, name = str_trim(str_cut(&value, ':')), key;
    value = str_trim(value);
    if (same_word(name, "Content-Type"))
        p->type = value;
    if (!same_word(name, "Content-Disposition"))
        return;
    struct buf v = BUF_INIT(MULTIPART_HEAD_MAX);
    bool extended = false;
    str_cut(&value, ';');
    while (next_param(&value, &key, &v)) {
        if (same_word(key, "name")) {
            buf_reset(&m->name);
            buf_adds(&m->name, buf_str(&v));
        } else if (same_word(key, "filename*")) {
            take_extended(&m->filename, buf_str(&v));
            extended = true;
        } else if (same_word(key, "filename") && !extended) {
            buf_reset(&m->filename);
            buf_adds(&m->filename, buf_str(&v));
        } else {
            continue;
        }
        p->name = m->name.n ? buf_str(&m->name) : p->name;
        if (!same_word(key, "name"))
            p->filename = str_n(buf_z(&m->filename), m->filename.n);
    }
    buf_release(&v);
}

static int begin_part(struct multipart *m, struct str head, struct err *e)
{
    struct multipart_part p = {.name = STR("")};
    buf_reset(&m->name);
    buf_reset(&m->filename);
    if (++m->parts > MULTIPART_PARTS_MAX)
        return err_set(e, ERR_LIMIT, "the form has more than %d parts",
                       MULTIPART_PARTS_MAX);
    while (head.n > 0) {
        struct str line = str_cut(&head, '\n');
        take_line(m, str_trim(line), &p);
    }
    m->state = DATA;
    return m->ev->on_part(m->arg, &p);
}

/* ---- bytes ---- */

/* How much of the end of s could be the beginning of the mark. */
static size_t maybe_mark(const struct multipart *m, struct str s)
{
    size_t n = s.n < m->mark_n - 1 ? s.n : m->mark_n - 1;
    for (; n > 0; n--) {
        if (memcmp(s.p + s.n - n, m->mark, n) == 0)
            return n;
    }
    return 0;
}

static int give(struct multipart *m, struct str data)
{
    return m->state == DATA && data.n > 0 ? m->ev->on_data(m->arg, data) : 0;
}

/* Up to the next mark in `in`, all of which is data when there is none. */
static int take_data(struct multipart *m, struct str *in)
{
    /* First, bytes that were held back, and as many new ones as may complete a mark. */
    while (m->held.n > 0 && in->n > 0) {
        struct str mark = str_n(m->mark, m->mark_n);
        struct str held = buf_str(&m->held);
        if (held.n < mark.n && in->p[0] == mark.p[held.n]) {
            buf_addc(&m->held, in->p[0]);
            *in = str_sub(*in, 1, in->n);
        } else {
            /* Not a mark; but a shorter end of it may be the beginning of one. */
            size_t keep = maybe_mark(m, str_sub(held, 1, held.n));
            int r = give(m, str_sub(held, 0, held.n - keep));
            buf_consume(&m->held, held.n - keep);
            if (r < 0)
                return -1;
        }
        if (m->held.n == m->mark_n)
            break;
    }
    if (m->held.n < m->mark_n) {
        if (in->n == 0)
            return 0;
        long at = str_find(*in, str_n(m->mark, m->mark_n));
        size_t n = at >= 0 ? (size_t)at : in->n - maybe_mark(m, *in);
        struct str data = str_sub(*in, 0, n);
        *in = str_sub(*in, at >= 0 ? n + m->mark_n : n, in->n);
        if (at < 0) {
            buf_adds(&m->held, *in);
            *in = str_sub(*in, in->n, 0);
        }
        if (give(m, data) < 0)
            return -1;
        if (at < 0)
            return 0;
    }
    buf_reset(&m->held);
    bool ends = m->state == DATA;
    m->state = BOUNDARY_END;
    return ends ? m->ev->on_part_end(m->arg) : 0;
}

/* After a boundary: `--` for the last one, else blanks and the end of the line. */
static int take_boundary_end(struct multipart *m, struct str *in, struct err *e)
{
    while (in->n > 0 && m->state == BOUNDARY_END) {
        char c = in->p[0];
        *in = str_sub(*in, 1, in->n);
        if (buf_addc(&m->held, c) < 0)
            return err_set(e, ERR_INVALID, "a line of the form is too long");
        struct str s = buf_str(&m->held);
        if (str_eq(s, STR("--")))
            m->state = EPILOGUE;
        else if (c == '\n' && str_trim(s).n == 0)
            m->state = HEAD;
        else if (c != ' ' && c != '\t' && c != '\r' && !str_eq(s, STR("-")))
            return err_set(e, ERR_INVALID, "a boundary of the form is malformed");
    }
    if (m->state != BOUNDARY_END)
        buf_reset(&m->held);
    return 0;
}

/* A part's header lines, up to an empty one. */
static int take_head(struct multipart *m, struct str *in, struct err *e)
{
    while (in->n > 0) {
        const char *nl = memchr(in->p, '\n', in->n);
        struct str piece = str_sub(*in, 0, nl ? (size_t)(nl - in->p) + 1 : in->n);
        if (buf_adds(&m->held, piece) < 0)
            return err_set(e, ERR_LIMIT, "a part's header is longer than %d bytes",
                           MULTIPART_HEAD_MAX);
        *in = str_sub(*in, piece.n, in->n);
        struct str s = buf_str(&m->held);
        if (str_eq(s, STR("\r\n")) || str_ends(s, STR("\n\r\n"))) {
            int r = begin_part(m, s, e);
            buf_reset(&m->held);
            return r;
        }
    }
    return 0;
}

int multipart_feed(struct multipart *m, struct str in, struct err *e)
{
    int r = 0;
    while (r == 0 && in.n > 0 && m->state != EPILOGUE && m->state != BROKEN) {
        if (m->state == PREAMBLE || m->state == DATA)
            r = take_data(m, &in);
        else if (m->state == BOUNDARY_END)
            r = take_boundary_end(m, &in, e);
        else
            r = take_head(m, &in, e);
    }
    if (r < 0)
        m->state = BROKEN;
    return m->state == BROKEN ? -1 : 0;
}

int multipart_finish(const struct multipart *m, struct err *e)
{
    if (m->state == EPILOGUE)
        return 0;
    return err_set(e, ERR_INVALID, "the form ends before its last boundary");
}
