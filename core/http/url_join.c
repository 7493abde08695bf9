/* SPDX-License-Identifier: MIT */
/*
 * Joining URLs. Those of http, https, ws, wss and file are parsed as in browsers (the URL
 * standard, 4.4, its states in order); the parts of others are joined by RFC 3986 5.2.2
 * and 5.2.4. WPT's urltestdata tests the former (tests/compat/suites.test).
 */
#include "http/url_join.h"

#include "http/url_host.h"

struct parts {
    struct str scheme, authority, path, query; /* p NULL: missing */
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

/* Splits a URL. Returns its fragment, which is appended at the end; query has its `?`. */
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

/* ---- as browsers read them ---- */

static const struct special {
    const char *name;
    unsigned port; /* 0: file */
} specials[] = {{"http", 80}, {"https", 443}, {"ws", 80}, {"wss", 443}, {"file", 0}};

/* NULL: a scheme of another kind, or none. */
static const struct special *special_of(struct str url)
{
    for (size_t i = 0; i < sizeof(specials) / sizeof(*specials); i++) {
        if (url_scheme_is(url, specials[i].name))
            return &specials[i];
    }
    return NULL;
}

/* Characters, beyond those that never may stand there, of which %XX is written. */
#define IN_FRAGMENT "\"<>`"
#define IN_QUERY    "\"#<>'"
#define IN_PATH     "\"#<>?`{}^"
#define IN_USER     IN_PATH "/:;=@[\\]|"

static int add_encoded(struct buf *out, struct str s, const char *set)
{
    int rc = 0;
    for (size_t i = 0; i < s.n && rc == 0; i++) {
        unsigned char c = (unsigned char)s.p[i];
        rc = c <= ' ' || c >= 0x7F || strchr(set, c) ? buf_addf(out, "%%%02X", c)
                                                     : buf_addc(out, (char)c);
    }
    return rc;
}

static bool is_slash(struct str s, size_t at)
{
    return at < s.n && (s.p[at] == '/' || s.p[at] == '\\');
}

static struct str past_slashes(struct str s)
{
    while (is_slash(s, 0))
        s = str_sub(s, 1, s.n);
    return s;
}

/* "C:" or "C|" and the end of a segment. */
static bool is_drive(struct str s)
{
    return s.n >= 2 && is_letter(s.p[0]) && (s.p[1] == ':' || s.p[1] == '|') &&
           (s.n == 2 || is_slash(s, 2) || s.p[2] == '?' || s.p[2] == '#');
}

/* How many dots a segment is, each as "." or "%2e"; 3: it is more than dots. */
static unsigned dots_of(struct str s)
{
    unsigned n = 0;
    while (s.n && n < 3) {
        bool coded = s.n > 2 && s.p[0] == '%' && s.p[1] == '2' && lower(s.p[2]) == 'e';
        if (s.p[0] != '.' && !coded)
            return 3;
        s = str_sub(s, coded ? 3 : 1, s.n);
        n++;
    }
    return s.n ? 3 : n;
}

/* Cuts the last segment off the path that begins at from; a file's drive stays. */
static void shorten(struct buf *out, size_t from, bool file)
{
    size_t n = out->n;
    if (file && n - from == 3 && is_letter(out->p[from + 1]) && out->p[from + 2] == ':')
        return;
    while (n > from && out->p[--n] != '/')
        continue;
    buf_truncate(out, n);
}

/* Appends the segments of path, which does not begin with a slash. */
static int add_segments(struct buf *out, size_t from, struct str path, bool file)
{
    for (bool more = true; more;) {
        size_t n = 0;
        while (n < path.n && !is_slash(path, n))
            n++;
        struct str segment = str_sub(path, 0, n);
        more = n < path.n;
        path = str_sub(path, n + 1, path.n);
        unsigned dots = dots_of(segment);
        if (dots == 2)
            shorten(out, from, file);
        if (dots == 1 || dots == 2) {
            if (!more && buf_addc(out, '/') < 0)
                return -1;
            continue;
        }
        bool drive = file && out->n == from && segment.n == 2 && is_drive(segment);
        if (buf_addc(out, '/') < 0 || add_encoded(out, segment, IN_PATH) < 0)
            return -1;
        if (drive)
            out->p[out->n - 1] = ':';
    }
    return 0;
}

/* The port after a host, without one that is the scheme's own. */
static int put_port(struct buf *out, struct str s, unsigned own)
{
    uint64_t port = own;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return -1;
    }
    while (s.n > 1 && s.p[0] == '0')
        s = str_sub(s, 1, s.n);
    if (s.n && (str_to_u64(s, &port) < 0 || port > 65535))
        return -1;
    return port == own ? 0 : buf_addf(out, ":%u", (unsigned)port);
}

static int put_user(struct buf *out, struct str s)
{
    struct str password = s, name = str_cut(&password, ':');
    if (name.n == s.n)
        password.n = 0;
    if (!name.n && !password.n)
        return 0;
    if (add_encoded(out, name, IN_USER) < 0 ||
        (password.n &&
         (buf_addc(out, ':') < 0 || add_encoded(out, password, IN_USER) < 0)))
        return -1;
    return buf_addc(out, '@');
}

static int put_authority(struct buf *out, struct str s, unsigned own)
{
    size_t at = s.n, colon;
    while (at && s.p[at - 1] != '@')
        at--;
    if (at && put_user(out, str_sub(s, 0, at - 1)) < 0)
        return -1;
    s = str_sub(s, at, s.n);
    bool inside = false;
    for (colon = 0; colon < s.n && (s.p[colon] != ':' || inside); colon++)
        inside = s.p[colon] == '[' || (inside && s.p[colon] != ']');
    if (colon == 0 || url_host(out, str_sub(s, 0, colon)) < 0)
        return -1;
    return put_port(out, str_sub(s, colon + 1, s.n), own);
}

/* Cuts off an authority, or the host of a file. */
static struct str cut_authority(struct str *rest)
{
    size_t n = 0;
    while (n < rest->n && !is_slash(*rest, n))
        n++;
    struct str s = str_sub(*rest, 0, n);
    *rest = str_sub(*rest, n, rest->n);
    return s;
}

/* rest: what follows the scheme, or a whole reference; its query and fragment are cut. */
static int put_web(struct buf *out, unsigned own, const struct parts *b, struct str rest,
                   bool has_query)
{
    struct str host;
    if (b && !(is_slash(rest, 0) && is_slash(rest, 1))) {
        if (add_authority(out, b) < 0)
            return -1;
        size_t from = out->n;
        if (is_slash(rest, 0))
            return add_segments(out, from, str_sub(rest, 1, rest.n), false);
        if (buf_adds(out, b->path) < 0)
            return -1;
        if (rest.n == 0)
            return has_query || !b->query.p ? 0 : add_encoded(out, b->query, IN_QUERY);
        shorten(out, from, false);
        return add_segments(out, from, rest, false);
    }
    rest = past_slashes(rest);
    host = cut_authority(&rest);
    if (buf_addz(out, "//") < 0 || put_authority(out, host, own) < 0)
        return -1;
    return add_segments(out, out->n, str_sub(rest, 1, rest.n), false);
}

static int put_file_host(struct buf *out, struct str rest)
{
    struct str whole = rest, host = cut_authority(&rest);
    if (buf_addz(out, "//") < 0)
        return -1;
    if (host.n == 2 && is_drive(host))
        return add_segments(out, out->n, whole, true);
    size_t from = out->n;
    if (host.n && url_host(out, host) < 0)
        return -1;
    if (str_eq(str_sub(buf_str(out), from, out->n), STR("localhost")))
        buf_truncate(out, from);
    return add_segments(out, out->n, str_sub(rest, 1, rest.n), true);
}

static int put_file(struct buf *out, const struct parts *b, struct str rest,
                    bool has_query)
{
    if (is_slash(rest, 0) && is_slash(rest, 1))
        return put_file_host(out, str_sub(rest, 2, rest.n));
    if (!b) {
        if (buf_addz(out, "//") < 0)
            return -1;
        return add_segments(out, out->n, str_sub(rest, is_slash(rest, 0), rest.n), true);
    }
    if (add_authority(out, b) < 0)
        return -1;
    size_t from = out->n;
    if (is_slash(rest, 0)) {
        rest = str_sub(rest, 1, rest.n);
        struct str drive = str_sub(b->path, 1, 2);
        if (!is_drive(rest) && is_drive(str_sub(b->path, 1, 3)) && drive.p[1] == ':' &&
            (buf_addc(out, '/') < 0 || buf_adds(out, drive) < 0))
            return -1;
        return add_segments(out, from, rest, true);
    }
    if (rest.n == 0)
        return buf_adds(out, b->path) < 0 ? -1
               : has_query || !b->query.p ? 0
                                          : add_encoded(out, b->query, IN_QUERY);
    if (!is_drive(rest)) {
        if (buf_adds(out, b->path) < 0)
            return -1;
        shorten(out, from, true);
    }
    return add_segments(out, from, rest, true);
}

/* base is a URL of the same scheme as put_special is to write; else b is NULL. */
static int put_special(struct buf *out, const struct special *as, const struct parts *b,
                       struct str rest)
{
    struct str fragment = cut_at(&rest, '#'), query = cut_at(&rest, '?');
    if (buf_addz(out, as->name) < 0 || buf_addc(out, ':') < 0)
        return -1;
    int rc = as->port ? put_web(out, as->port, b, rest, query.p != NULL)
                      : put_file(out, b, rest, query.p != NULL);
    if (rc == 0 && query.p)
        rc = add_encoded(out, query, IN_QUERY);
    if (rc == 0 && fragment.p)
        rc = buf_addc(out, '#') < 0
                 ? -1
                 : add_encoded(out, str_sub(fragment, 1, fragment.n), IN_FRAGMENT);
    return rc;
}

/* ---- all of it ---- */

/* Without line ends, and blanks at the ends. */
static int cleaned(struct buf *out, struct str ref)
{
    while (ref.n && (unsigned char)*ref.p <= ' ')
        ref = str_sub(ref, 1, ref.n);
    while (ref.n && (unsigned char)ref.p[ref.n - 1] <= ' ')
        ref.n--;
    for (size_t i = 0; i < ref.n; i++) {
        char c = ref.p[i];
        if (c != '\t' && c != '\n' && c != '\r' && buf_addc(out, c) < 0)
            return -1;
    }
    return 0;
}

static int join_others(struct buf *out, struct parts *b, struct str ref)
{
    struct parts r;
    struct str fragment = split(ref, &r);
    if (!r.scheme.n)
        return join(out, b, &r, fragment);
    if (!r.authority.p)
        return add_quoted(out, ref);
    return join(out, &r, &r, fragment);
}

int url_join(struct buf *out, struct str base, struct str ref)
{
    struct buf clean = BUF_INIT(URL_JOIN_MAX);
    struct parts b;
    size_t from = out->n;
    int rc = -1;
    if (base.n > URL_JOIN_MAX || cleaned(&clean, ref) < 0)
        goto out;
    ref = buf_str(&clean);
    split(base, &b);
    struct str scheme = url_scheme(ref);
    const struct special *of_base = special_of(base);
    const struct special *as = scheme.n ? special_of(ref) : of_base;
    bool related = as && as == of_base;
    if (!as) {
        rc = join_others(out, &b, ref);
    } else {
        if (scheme.n) {
            ref = str_sub(ref, scheme.n + 1, ref.n);
            /* With a scheme only "//" is the beginning of an authority. */
            related = related && !str_starts(ref, STR("//"));
        }
        rc = put_special(out, as, related ? &b : NULL, ref);
    }
out:
    if (rc < 0)
        buf_truncate(out, from);
    buf_release(&clean);
    return rc;
}
