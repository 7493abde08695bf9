/* SPDX-License-Identifier: MIT */
/*
 * HTTP from a peer. The first byte chooses: a head, or a chunked body. Either is
 * the same whether it comes at once or byte by byte, all its slices lie in what
 * came, and what is accepted breaks no rule that two servers could read in two
 * ways. Queries and ranges take what they are given.
 */
#include "base/log.h"
#include "http/http.h"

#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void within(struct str s, struct str in)
{
    BUG_ON(s.n > 0 && (s.p < in.p || s.p + s.n > in.p + in.n));
}

static int count(const struct http_head *h, const char *name)
{
    int n = 0;
    for (int i = 0; i < h->nfields; i++)
        n += h->fields[i].name.n == strlen(name) &&
             strncasecmp(h->fields[i].name.p, name, strlen(name)) == 0;
    return n;
}

/* No byte that could end or begin a line. */
static void is_plain(struct str s)
{
    BUG_ON(s.n > 0 &&
           (memchr(s.p, '\r', s.n) || memchr(s.p, '\n', s.n) || memchr(s.p, 0, s.n)));
}

static void look(const struct http_head *h, struct str in, size_t used)
{
    struct buf b = BUF_INIT(64 << 10);
    uint64_t from = 0, n = 0;
    BUG_ON(used > in.n || used > HTTP_HEAD_MAX || used < 16);
    BUG_ON(memcmp(in.p + used - 4, "\r\n\r\n", 4) != 0);
    within(h->method, in);
    within(h->query, in);
    within(h->host, in);
    BUG_ON(h->method.n == 0 || h->path.n == 0 || (h->path.p[0] != '/' && h->path.n > 1));
    BUG_ON(h->nfields > HTTP_FIELDS_MAX);
    for (int i = 0; i < h->nfields; i++) {
        within(h->fields[i].name, in);
        within(h->fields[i].value, in);
        is_plain(h->fields[i].name);
        is_plain(h->fields[i].value);
        BUG_ON(h->fields[i].name.n == 0 ||
               h->fields[i].name.p[h->fields[i].name.n] != ':');
    }
    int lengths = count(h, "Content-Length"), codings = count(h, "Transfer-Encoding");
    BUG_ON(lengths + codings > 1);
    BUG_ON(h->chunked != (codings > 0) || h->has_length != (lengths > 0));
    BUG_ON(h->chunked && h->minor == 0);
    BUG_ON(count(h, "Host") > 1 || (count(h, "Host") == 0 && h->minor > 0));
    BUG_ON(http_decode(&b, h->path, false) == 0 && b.n > 0 && memchr(b.p, 0, b.n));
    buf_reset(&b);
    http_query(h->query, "a", &b);
    int r = http_range(http_field(h, "Range"), 100, &from, &n);
    BUG_ON(r > 0 && (n == 0 || from >= 100 || n > 100 - from));
    buf_release(&b);
}

static void head(struct str in)
{
    static struct http_head whole, part;
    struct http_error e, early;
    size_t used = 0, used_part = 0;
    int r = http_parse_head(in, &whole, &used, &e);
    if (r > 0)
        look(&whole, in, used);
    BUG_ON(r < 0 && (e.status < 400 || e.status > 505 || !e.why));
    int got = 0;
    for (size_t i = 0; i <= in.n && got == 0; i++) {
        got = http_parse_head(str_sub(in, 0, i), &part, &used_part, &early);
        BUG_ON(got > 0 && i < used_part);
    }
    /* A limit may be found on the way or at the end; else it is the same. */
    BUG_ON(got != r);
    BUG_ON(r > 0 && (used != used_part || whole.nfields != part.nfields ||
                     whole.length != part.length || whole.chunked != part.chunked ||
                     !str_eq(whole.path, part.path) || !str_eq(whole.host, part.host)));
}

/* Feeds pieces of at most `step` bytes. Returns what the last call said. */
static int unchunk(struct str in, size_t step, struct buf *out, int *state)
{
    struct http_chunks c = {0};
    size_t at = 0, end = 0;
    int r = 0;
    while (r == 0 && c.state != CHUNK_DONE && (at < in.n || end < in.n)) {
        end = end + step < in.n ? end + step : in.n;
        size_t used = 1;
        while (r == 0 && used > 0 && at < end && c.state != CHUNK_DONE) {
            struct str data, have = str_sub(in, at, end - at);
            r = http_chunk(&c, have, &data, &used);
            if (r < 0)
                break;
            within(data, have);
            BUG_ON(used > have.n || data.n > used || buf_adds(out, data) < 0);
            at += used;
        }
        if (end == in.n)
            break;
    }
    *state = r < 0 ? -1 : (int)c.state;
    return r;
}

static void chunks(struct str in)
{
    struct buf whole = BUF_INIT(in.n + 1), parts = BUF_INIT(in.n + 1);
    int a, b;
    int r = unchunk(in, in.n ? in.n : 1, &whole, &a);
    BUG_ON(r != unchunk(in, 1, &parts, &b));
    BUG_ON(a != b || !str_eq(buf_str(&whole), buf_str(&parts)));
    buf_release(&whole);
    buf_release(&parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    struct str in = str_n(data + 1, n - 1);
    if (data[0] == 'C')
        chunks(in);
    else if (in.n < 4096)
        head(in);
    return 0;
}
