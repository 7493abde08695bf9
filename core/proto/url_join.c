/* SPDX-License-Identifier: MIT */
/* Joining URLs: RFC 3986 5.2.2 (which parts), 5.2.4 (dots). */
#include "proto/url_join.h"

struct parts {
    struct str scheme, authority, path, query; /* p NULL: not there */
};

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool is_letter(char c)
{
    c = lower(c);
    return c >= 'a' && c <= 'z';
}

struct str url_scheme(struct str url)
{
    for (size_t i = 0; i < url.n; i++) {
        char c = url.p[i];
        if (c == ':' && i)
            return str_sub(url, 0, i);
        if (!is_letter(c) &&
            !(i && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.')))
            break;
    }
    return (struct str){url.p, 0};
}

bool url_scheme_is(struct str url, const char *scheme)
{
    struct str s = url_scheme(url);
    if (s.n != strlen(scheme))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (lower(s.p[i]) != scheme[i])
            return false;
    }
    return true;
}

static struct str cut_at(struct str *s, char c)
{
    long at = str_chr(*s, c);
    struct str tail = {0};
    if (at >= 0) {
        tail = str_sub(*s, (size_t)at, s->n);
        *s = str_sub(*s, 0, (size_t)at);
    }
    return tail;
}

/* Without the fragment, which comes back. query has its `?`. */
static struct str split(struct str s, struct parts *p)
{
    *p = (struct parts){0};
    struct str fragment = cut_at(&s, '#');
    struct str scheme = url_scheme(s);
    if (scheme.n) {
        p->scheme = scheme;
        s = str_sub(s, scheme.n + 1, s.n);
    }
    p->query = cut_at(&s, '?');
    if (str_starts(s, STR("//"))) {
        size_t n = 2;
        while (n < s.n && s.p[n] != '/')
            n++;
        p->authority = str_sub(s, 2, n - 2);
        s = str_sub(s, n, s.n);
    }
    p->path = s;
    return fragment;
}

/* Percent-encodes what may not stand there (RFC 3986 2.1); `%` stays as it is. */
static int add_quoted(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        int rc = c <= 32 || c >= 127 || strchr("\"<>`{}|\\^", c)
                     ? buf_addf(out, "%%%02X", c)
                     : buf_addc(out, (char)c);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* A path without its dots. Segments that went up are cut off out again. */
static int add_path(struct buf *out, struct str path)
{
    size_t from = out->n;
    while (path.n) {
        size_t n = 1;
        while (n < path.n && path.p[n] != '/')
            n++;
        struct str segment = str_sub(path, 0, n);
        bool last = n == path.n;
        path = str_sub(path, n, path.n);
        bool up = str_eq(segment, STR("/.."));
        if (up || str_eq(segment, STR("/."))) {
            while (up && out->n > from) {
                bool slash = out->p[out->n - 1] == '/';
                buf_truncate(out, out->n - 1);
                if (slash)
                    break;
            }
            if (last && buf_addc(out, '/') < 0)
                return -1;
        } else if (add_quoted(out, segment) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ref, and in front of it the folder of base's path if it is relative. */
static int add_merged(struct buf *out, const struct parts *base, struct str ref)
{
    struct buf path = BUF_INIT((size_t)2 * URL_JOIN_MAX + 2);
    int rc = 0;
    if (!ref.n || *ref.p != '/') {
        size_t n = base->path.n;
        while (n && base->path.p[n - 1] != '/')
            n--;
        rc = n ? buf_adds(&path, str_sub(base->path, 0, n)) : buf_addc(&path, '/');
    }
    rc = rc < 0 ? rc : buf_adds(&path, ref);
    rc = rc < 0 ? rc : add_path(out, buf_str(&path));
    buf_release(&path);
    return rc;
}

static int add_authority(struct buf *out, const struct parts *p)
{
    if (!p->authority.p)
        return 0;
    return buf_addz(out, "//") < 0 ? -1 : add_quoted(out, p->authority);
}

static int join(struct buf *out, const struct parts *base, const struct parts *ref,
                struct str fragment)
{
    const struct parts *from = ref->authority.p ? ref : base;
    struct str query = ref->query;
    if (add_quoted(out, base->scheme) < 0 || buf_addc(out, ':') < 0 ||
        add_authority(out, from) < 0)
        return -1;
    int rc;
    if (ref->authority.p)
        rc = ref->path.n ? add_path(out, ref->path) : buf_addc(out, '/');
    else if (ref->path.n)
        rc = add_merged(out, base, ref->path);
    else
        rc = base->path.n ? add_path(out, base->path) : buf_addc(out, '/');
    if (!ref->authority.p && !ref->path.n && !query.p)
        query = base->query;
    if (rc < 0 || add_quoted(out, query) < 0)
        return -1;
    return add_quoted(out, fragment);
}

/* Blanks at the ends and line ends go; backslashes become slashes if turn. */
static int cleaned(struct buf *out, struct str ref, bool turn)
{
    while (ref.n && (unsigned char)*ref.p <= ' ')
        ref = str_sub(ref, 1, ref.n);
    while (ref.n && (unsigned char)ref.p[ref.n - 1] <= ' ')
        ref.n--;
    bool query = false;
    for (size_t i = 0; i < ref.n; i++) {
        char c = ref.p[i];
        query = query || c == '?' || c == '#';
        if (c == '\t' || c == '\n' || c == '\r')
            continue;
        if (buf_addc(out, c == '\\' && turn && !query ? '/' : c) < 0)
            return -1;
    }
    return 0;
}

static bool is_web(struct str url)
{
    return url_scheme_is(url, "http") || url_scheme_is(url, "https");
}

int url_join(struct buf *out, struct str base, struct str ref)
{
    struct buf clean = BUF_INIT(URL_JOIN_MAX);
    struct parts b, r;
    size_t from = out->n;
    int rc = -1;
    struct str scheme = url_scheme(str_trim(ref));
    bool turn = is_web(scheme.n ? str_trim(ref) : base);
    if (base.n > URL_JOIN_MAX || cleaned(&clean, ref, turn) < 0)
        goto out;
    split(base, &b);
    struct str fragment = split(buf_str(&clean), &r);
    if (!r.scheme.n)
        rc = join(out, &b, &r, fragment);
    else if (!r.authority.p)
        rc = add_quoted(out, buf_str(&clean));
    else
        rc = join(out, &r, &r, fragment);
out:
    if (rc < 0)
        buf_truncate(out, from);
    buf_release(&clean);
    return rc;
}
