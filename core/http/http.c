/* SPDX-License-Identifier: MIT */
#include "http/http.h"

#include <stdio.h>
#include <strings.h>

/* ---- letters: RFC 9110 5.6.2, 5.5; RFC 3986 ---- */

static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

static bool is_token(unsigned char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* A tab, and what shows; bytes above 0x7f are opaque. */
static bool is_value(unsigned char c) { return c == '\t' || (c >= ' ' && c != 0x7f); }

static bool is_target(unsigned char c) { return c > ' ' && c < 0x7f; }

static bool all(struct str s, bool (*is)(unsigned char c))
{
    for (size_t i = 0; i < s.n; i++) {
        if (!is((unsigned char)s.p[i]))
            return false;
    }
    return true;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool same_word(struct str s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* ---- head ---- */

static int bad(struct http_error *e, int status, const char *why)
{
    *e = (struct http_error){status, why};
    return -1;
}

/* Without blanks and tabs around it. */
static struct str unblank(struct str s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = str_sub(s, 1, s.n);
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

/*
 * Cuts a line off rest, up to its CR LF. Returns 1; 0 if it is incomplete; -1 for a CR
 * or LF alone, which other parsers may take for the end of a line.
 */
static int cut_line(struct str *rest, struct str *line)
{
    const char *nl = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    const char *cr = rest->n ? memchr(rest->p, '\r', rest->n) : NULL;
    if (cr && cr + 1 == rest->p + rest->n)
        return nl ? -1 : 0;
    if (nl ? cr != nl - 1 : cr != NULL)
        return -1;
    if (!nl)
        return 0;
    *line = str_n(rest->p, (size_t)(cr - rest->p));
    *rest = str_sub(*rest, line->n + 2, rest->n);
    return 1;
}

/* Whether it is a valid Host: name[:port], an address, or [address][:port]. */
static bool is_host(struct str s)
{
    size_t i = 0;
    if (s.n > 0 && s.p[0] == '[') {
        while (++i < s.n && s.p[i] != ']') {
            if (hex(s.p[i]) < 0 && s.p[i] != ':' && s.p[i] != '.')
                return false;
        }
        if (i++ >= s.n)
            return false;
    } else {
        for (; i < s.n && s.p[i] != ':'; i++) {
            unsigned char c = (unsigned char)s.p[i];
            if (!is_token(c) || strchr("`^|#", c))
                return false;
        }
    }
    if (i < s.n && s.p[i++] != ':')
        return false;
    return s.n - i <= 5 && all(str_sub(s, i, s.n), is_digit);
}

/* RFC 9112 3.2: origin form, absolute form of http(s), or `*`. */
static int take_target(struct http_head *h, struct str t, struct http_error *e)
{
    static const char *const schemes[] = {"http://", "https://"};
    if (t.n == 0 || !all(t, is_target) || memchr(t.p, '#', t.n))
        return bad(e, 400, "The request target is malformed");
    /* RFC 9112 3.2.4: this form is for OPTIONS alone. */
    if (str_eq(t, STR("*")) && str_eq(h->method, STR("OPTIONS"))) {
        h->path = t;
        h->query = (struct str){0};
        return 0;
    }
    bool absolute = false;
    for (size_t i = 0; i < 2 && t.p[0] != '/'; i++) {
        size_t n = strlen(schemes[i]);
        if (t.n <= n || strncasecmp(t.p, schemes[i], n) != 0)
            continue;
        t = str_sub(t, n, t.n);
        size_t end = 0;
        while (end < t.n && t.p[end] != '/' && t.p[end] != '?')
            end++;
        h->host = str_sub(t, 0, end);
        if (h->host.n == 0 || !is_host(h->host))
            return bad(e, 400, "The request target's host is malformed");
        t = str_sub(t, end, t.n);
        absolute = true;
        break;
    }
    if (!absolute && t.p[0] != '/')
        return bad(e, 400, "The request target is neither a path nor http(s)://");
    long q = str_chr(t, '?');
    h->path = q >= 0 ? str_sub(t, 0, (size_t)q) : t;
    if (h->path.n == 0)
        h->path = STR("/");
    h->query = q >= 0 ? str_sub(t, (size_t)q + 1, t.n) : (struct str){0};
    return 0;
}

static int take_request_line(struct http_head *h, struct str line, struct http_error *e)
{
    struct str rest = line, target;
    h->method = str_cut(&rest, ' ');
    target = str_cut(&rest, ' ');
    if (h->method.n == 0 || h->method.n > 32 || !all(h->method, is_token))
        return bad(e, 400, "The request line is malformed");
    if (rest.n != 8 || !str_starts(rest, STR("HTTP/")) ||
        !is_digit((unsigned char)rest.p[5]) || rest.p[6] != '.' ||
        !is_digit((unsigned char)rest.p[7]))
        return bad(e, 400, "The request line is malformed");
    if (rest.p[5] != '1')
        return bad(e, 505, "This server speaks HTTP/1.1");
    h->minor = rest.p[7] == '0' ? 0 : 1;
    return take_target(h, target, e);
}

static int take_field(struct http_head *h, struct str line, struct http_error *e)
{
    long colon = str_chr(line, ':');
    if (line.p[0] == ' ' || line.p[0] == '\t')
        return bad(e, 400, "A header line is folded");
    if (colon <= 0)
        return bad(e, 400, "A header line has no name");
    if (h->nfields == HTTP_FIELDS_MAX)
        return bad(e, 431, "The request has more than 100 header fields");
    struct http_field f = {str_sub(line, 0, (size_t)colon),
                           unblank(str_sub(line, (size_t)colon + 1, line.n))};
    if (!all(f.name, is_token))
        return bad(e, 400, "A header field's name is malformed");
    if (!all(f.value, is_value))
        return bad(e, 400, "A header field holds a control character");
    h->fields[h->nfields++] = f;
    return 0;
}

/* Counts the fields of a name, and gets the last value. */
static int count(const struct http_head *h, const char *name, struct str *value)
{
    int n = 0;
    for (int i = 0; i < h->nfields; i++) {
        if (same_word(h->fields[i].name, name)) {
            *value = h->fields[i].value;
            n++;
        }
    }
    return n;
}

/* RFC 9112 6: the length of the body, which must be unambiguous. */
static int take_framing(struct http_head *h, struct http_error *e)
{
    struct str length = {0}, coding = {0};
    int lengths = count(h, "Content-Length", &length);
    int codings = count(h, "Transfer-Encoding", &coding);
    if (lengths > 1)
        return bad(e, 400, "Content-Length is given more than once");
    if (codings > 0 && lengths > 0)
        return bad(e, 400, "Content-Length and Transfer-Encoding are both given");
    if (codings > 0 && h->minor == 0)
        return bad(e, 400, "Transfer-Encoding does not belong to HTTP/1.0");
    if (codings > 1)
        return bad(e, 400, "Transfer-Encoding is given more than once");
    if (codings > 0 && !same_word(coding, "chunked"))
        return bad(e, 501, "The only transfer coding is chunked");
    h->chunked = codings > 0;
    h->has_length = lengths > 0;
    if (lengths > 0 && (!all(length, is_digit) || str_to_u64(length, &h->length) < 0 ||
                        h->length > INT64_MAX))
        return bad(e, 400, "Content-Length is not a number");
    return 0;
}

static int take_host(struct http_head *h, struct http_error *e)
{
    struct str host = {0};
    int n = count(h, "Host", &host);
    if (n > 1 || (n == 0 && h->minor > 0))
        return bad(e, 400, "The request must have one Host header");
    if (!is_host(host))
        return bad(e, 400, "The Host header is malformed");
    if (!h->host.p)
        h->host = host;
    return 0;
}

static int take_rest(struct http_head *h, struct http_error *e)
{
    struct str value = {0};
    h->keep_alive = h->minor > 0;
    for (int i = 0; i < h->nfields; i++) {
        if (!same_word(h->fields[i].name, "Connection"))
            continue;
        if (http_has_token(h->fields[i].value, "close"))
            h->keep_alive = false;
        else if (h->minor == 0 && http_has_token(h->fields[i].value, "keep-alive"))
            h->keep_alive = true;
    }
    if (h->minor > 0 && count(h, "Expect", &value) > 0) {
        if (!same_word(value, "100-continue"))
            return bad(e, 417, "The only expectation that is met is 100-continue");
        h->expect = true;
    }
    return 0;
}

int http_parse_head(struct str in, struct http_head *h, size_t *used,
                    struct http_error *e)
{
    struct str rest = in, line;
    int r = 0, lines = 0;
    /* Bytes that cannot begin a request, such as a TLS handshake, which may have no line
     * end. */
    if (in.n > 0 && in.p[0] != '\r' && !is_token((unsigned char)in.p[0]))
        return bad(e, 400, "This is not an HTTP request");
    h->nfields = 0;
    h->host = (struct str){0};
    h->length = 0;
    h->has_length = h->chunked = h->expect = false;
    while ((r = cut_line(&rest, &line)) > 0) {
        if (lines == 0 && line.n == 0 && in.n - rest.n <= 8)
            continue;
        if (lines == 0 && line.n > HTTP_LINE_MAX)
            return bad(e, 414, "The request line is longer than 8192 bytes");
        if (in.n - rest.n > HTTP_HEAD_MAX)
            return bad(e, 431, "The request's head is longer than 32768 bytes");
        if (lines > 0 && line.n == 0) {
            *used = in.n - rest.n;
            return take_framing(h, e) < 0 || take_host(h, e) < 0 || take_rest(h, e) < 0
                       ? -1
                       : 1;
        }
        if ((lines == 0 ? take_request_line(h, line, e) : take_field(h, line, e)) < 0)
            return -1;
        lines++;
    }
    if (r < 0)
        return bad(e, 400, "A line of the request's head does not end in CR LF");
    if (lines == 0 && rest.n > HTTP_LINE_MAX)
        return bad(e, 414, "The request line is longer than 8192 bytes");
    if (in.n > HTTP_HEAD_MAX)
        return bad(e, 431, "The request's head is longer than 32768 bytes");
    if (rest.n > 0 && memchr(rest.p, 0, rest.n))
        return bad(e, 400, "The request's head holds a NUL byte");
    return 0;
}

/* Does not move constants, such as the path of a target without one. */
static void move(struct str *s, struct str from, const char *to)
{
    if (s->p >= from.p && s->p <= from.p + from.n)
        s->p = to + (s->p - from.p);
}

void http_head_move(struct http_head *h, struct str from, const char *to)
{
    move(&h->method, from, to);
    move(&h->path, from, to);
    move(&h->query, from, to);
    move(&h->host, from, to);
    for (int i = 0; i < h->nfields; i++) {
        move(&h->fields[i].name, from, to);
        move(&h->fields[i].value, from, to);
    }
}

struct str http_field(const struct http_head *h, const char *name)
{
    for (int i = 0; i < h->nfields; i++) {
        if (same_word(h->fields[i].name, name))
            return h->fields[i].value;
    }
    return (struct str){0};
}

int http_joined(const struct http_head *h, const char *name, struct buf *out)
{
    int n = 0;
    for (int i = 0; i < h->nfields; i++) {
        if (!same_word(h->fields[i].name, name))
            continue;
        if ((n++ && buf_addz(out, ", ") < 0) || buf_adds(out, h->fields[i].value) < 0)
            return -1;
    }
    return n > 0;
}

bool http_has_token(struct str list, const char *token)
{
    while (list.n > 0) {
        if (same_word(unblank(str_cut(&list, ',')), token))
            return true;
    }
    return false;
}

/* ---- targets ---- */

int http_decode(struct buf *out, struct str s, bool plus)
{
    size_t before = out->n;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            int high = i + 2 < s.n ? hex(s.p[i + 1]) : -1;
            int low = i + 2 < s.n ? hex(s.p[i + 2]) : -1;
            if (high < 0 || low < 0 || (high == 0 && low == 0)) {
                buf_truncate(out, before);
                return -1;
            }
            c = (char)(high << 4 | low);
            i += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        if (buf_addc(out, c) < 0) {
            buf_truncate(out, before);
            return -1;
        }
    }
    return 0;
}

int http_query(struct str query, const char *name, struct buf *out)
{
    struct buf key = BUF_INIT(256);
    /* Out of memory is an error: a value that exists must not seem to be absent. */
    int r = buf_reserve(&key, 255) ? 0 : -1;
    while (query.n > 0 && r == 0) {
        struct str value = str_cut(&query, '&'), k = str_cut(&value, '=');
        buf_reset(&key);
        if (http_decode(&key, k, true) == 0 && strcmp(buf_z(&key), name) == 0)
            r = http_decode(out, value, true) == 0 ? 1 : -1;
    }
    buf_release(&key);
    return r;
}

/* ---- chunks ---- */

enum { SIZE_LINE_MAX = 256, TRAILERS_MAX = 8192 };

static struct str skip_token(struct str s)
{
    size_t n = 0;
    while (n < s.n && is_token((unsigned char)s.p[n]))
        n++;
    return str_sub(s, n, s.n);
}

/*
 * Returns what follows the quoted string at the beginning of s; p is NULL if there is
 * none.
 */
static struct str skip_quoted(struct str s)
{
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] == '"')
            return str_sub(s, i + 1, s.n);
        if (s.p[i] == '\\')
            i++;
    }
    return (struct str){0};
}

/* RFC 9112 7.1.1: ;name, ;name=value, ;name="value", as many as there are. */
static bool is_extensions(struct str s)
{
    while ((s = unblank(s)).n > 0) {
        struct str name = unblank(str_sub(s, 1, s.n));
        if (s.p[0] != ';')
            return false;
        s = skip_token(name);
        if (s.n == name.n)
            return false;
        struct str value = unblank(s);
        if (value.n == 0 || value.p[0] != '=')
            continue;
        value = unblank(str_sub(value, 1, value.n));
        s = value.n > 0 && value.p[0] == '"' ? skip_quoted(value) : skip_token(value);
        if (!s.p || s.n == value.n)
            return false;
    }
    return true;
}

static bool is_field(struct str line)
{
    long colon = str_chr(line, ':');
    return colon > 0 && all(str_sub(line, 0, (size_t)colon), is_token) &&
           all(str_sub(line, (size_t)colon, line.n), is_value);
}

/* SIZE [;extension], which is dropped. */
static int chunk_size(struct http_chunks *c, struct str line)
{
    size_t digits = 0;
    uint64_t n = 0;
    while (digits < line.n && hex(line.p[digits]) >= 0) {
        if (n >> 56)
            return -1;
        n = n << 4 | (unsigned)hex(line.p[digits++]);
    }
    struct str rest = str_sub(line, digits, line.n);
    if (digits == 0 || (rest.n > 0 && unblank(rest).n == 0) || !all(rest, is_value) ||
        !is_extensions(rest))
        return -1;
    c->left = n;
    c->state = n > 0 ? CHUNK_DATA : CHUNK_TRAILER;
    return 0;
}

int http_chunk(struct http_chunks *c, struct str in, struct str *data, size_t *used)
{
    *data = str_n(in.p, 0);
    *used = 0;
    while (c->state != CHUNK_DONE && *used < in.n) {
        struct str rest = str_sub(in, *used, in.n), line;
        if (c->state == CHUNK_DATA) {
            size_t n = rest.n < c->left ? rest.n : (size_t)c->left;
            *data = str_n(rest.p, n);
            *used += n;
            c->left -= n;
            if (c->left == 0)
                c->state = CHUNK_DATA_END;
            return 0;
        }
        struct str after = rest;
        /* Checks only the line itself: data with any bytes may follow. */
        const char *nl = memchr(rest.p, '\n', rest.n);
        after.n = nl ? (size_t)(nl - rest.p) + 1 : rest.n;
        size_t limit = c->state == CHUNK_TRAILER ? TRAILERS_MAX : SIZE_LINE_MAX;
        int r = cut_line(&after, &line);
        if (r < 0 || (r == 0 && rest.n > limit) || (r > 0 && line.n > limit))
            return -1;
        if (r == 0)
            return 0;
        *used += line.n + 2;
        if (c->state == CHUNK_SIZE) {
            if (chunk_size(c, line) < 0)
                return -1;
        } else if (c->state == CHUNK_DATA_END) {
            if (line.n > 0)
                return -1;
            c->state = CHUNK_SIZE;
        } else if (line.n == 0) {
            c->state = CHUNK_DONE;
        } else if ((c->trailers += line.n) > TRAILERS_MAX || !is_field(line)) {
            return -1;
        }
    }
    return 0;
}

/* ---- ranges ---- */

int http_range(struct str range, uint64_t size, uint64_t *from, uint64_t *n)
{
    struct str rest = range, unit = str_cut(&rest, '=');
    if (!same_word(unit, "bytes") || str_chr(rest, ',') >= 0 || str_chr(rest, '-') < 0)
        return 0;
    rest = unblank(rest);
    struct str first = str_cut(&rest, '-');
    uint64_t a = 0, b = size ? size - 1 : 0;
    if (first.n == 0) { /* a suffix: the last N bytes */
        if (str_to_u64(rest, &b) < 0)
            return 0;
        if (b == 0 || size == 0)
            return -1;
        *from = b < size ? size - b : 0;
        *n = size - *from;
        return 1;
    }
    if (str_to_u64(first, &a) < 0 || (rest.n > 0 && str_to_u64(rest, &b) < 0) ||
        (rest.n > 0 && b < a))
        return 0;
    if (a >= size)
        return -1;
    if (b >= size)
        b = size - 1;
    *from = a;
    *n = b - a + 1;
    return 1;
}

/* ---- answers ---- */

const char *http_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } known[] = {{100, "Continue"},
                 {101, "Switching Protocols"},
                 {200, "OK"},
                 {201, "Created"},
                 {202, "Accepted"},
                 {204, "No Content"},
                 {206, "Partial Content"},
                 {302, "Found"},
                 {303, "See Other"},
                 {304, "Not Modified"},
                 {307, "Temporary Redirect"},
                 {308, "Permanent Redirect"},
                 {400, "Bad Request"},
                 {401, "Unauthorized"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {406, "Not Acceptable"},
                 {408, "Request Timeout"},
                 {409, "Conflict"},
                 {410, "Gone"},
                 {411, "Length Required"},
                 {412, "Precondition Failed"},
                 {413, "Content Too Large"},
                 {414, "URI Too Long"},
                 {415, "Unsupported Media Type"},
                 {416, "Range Not Satisfiable"},
                 {417, "Expectation Failed"},
                 {422, "Unprocessable Content"},
                 {426, "Upgrade Required"},
                 {429, "Too Many Requests"},
                 {431, "Request Header Fields Too Large"},
                 {451, "Unavailable For Legal Reasons"},
                 {500, "Internal Server Error"},
                 {501, "Not Implemented"},
                 {502, "Bad Gateway"},
                 {503, "Service Unavailable"},
                 {504, "Gateway Timeout"},
                 {505, "HTTP Version Not Supported"},
                 {511, "Network Authentication Required"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].status == status)
            return known[i].reason;
    }
    return "Status";
}

void http_date(char out[32], time_t t)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm tm;
    gmtime_r(&t, &tm);
    snprintf(out, 32, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT", days + 3 * tm.tm_wday,
             tm.tm_mday, months + 3 * tm.tm_mon, (tm.tm_year + 1900) % 10000, tm.tm_hour,
             tm.tm_min, tm.tm_sec);
}

/* RFC 9112 4. Many servers omit the blank after the status. */
static int take_status_line(struct http_head *h, struct str line, struct http_error *e)
{
    struct str status = str_sub(line, 9, 3);
    uint64_t n = 0;
    if (!str_starts(line, STR("HTTP/1.")) || line.n < 12 ||
        !is_digit((unsigned char)line.p[7]) || line.p[8] != ' ' ||
        (line.n > 12 && line.p[12] != ' ') || !all(str_sub(line, 12, line.n), is_value))
        return bad(e, 400, "it does not begin with a status line of HTTP/1.1");
    if (str_to_u64(status, &n) < 0 || n < 100 || n > 599)
        return bad(e, 400, "its status is not one of 100 to 599");
    h->minor = line.p[7] == '0' ? 0 : 1;
    h->status = (int)n;
    return 0;
}

int http_parse_answer(struct str in, struct http_head *h, size_t *used,
                      struct http_error *e)
{
    struct str rest = in, line;
    int r = 0, lines = 0;
    *h = (struct http_head){.nfields = 0};
    while ((r = cut_line(&rest, &line)) > 0 && in.n - rest.n <= HTTP_HEAD_MAX) {
        if (lines > 0 && line.n == 0) {
            *used = in.n - rest.n;
            return take_framing(h, e) < 0 || take_rest(h, e) < 0 ? -1 : 1;
        }
        if (h->nfields == HTTP_FIELDS_MAX)
            return bad(e, 431, "it has more than 100 header fields");
        if ((lines == 0 ? take_status_line(h, line, e) : take_field(h, line, e)) < 0)
            return -1;
        lines++;
    }
    if (r < 0)
        return bad(e, 400, "a line of its head does not end in CR LF");
    if (in.n > HTTP_HEAD_MAX)
        return bad(e, 431, "its head is longer than 32768 bytes");
    return 0;
}
