/* SPDX-License-Identifier: MIT */
/*
 * Selects the fields of a request that an app gets, and the fields of its answer that a
 * browser gets. Bodies are never changed. A Location on the app's host becomes relative,
 * so that it works below any prefix under which a proxy serves us.
 */
#include "front/reverse_proxy/own.h"

#include "access/access.h"
#include "front/fronts.h"
#include "net/addr.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { VALUE_MAX = HTTP_HEAD_MAX };

static bool is_name(struct str name, const char *word)
{
    return name.n == strlen(word) && strncasecmp(name.p, word, name.n) == 0;
}

static bool is_one_of(struct str name, const char *const *words)
{
    while (*words && !is_name(name, *words))
        words++;
    return *words != NULL;
}

/* RFC 9110 7.6.1, and fields that each side makes itself. */
static const char *const hop_by_hop[] = {
    "Connection", "Keep-Alive",        "Proxy-Connection", "Proxy-Authenticate",
    "Te",         "Trailer",           "Upgrade",          "Proxy-Authorization",
    "Expect",     "Transfer-Encoding", "Content-Length",   NULL};

/* Is the field hop-by-hop, by its name or by the Connection field? */
static bool is_hop(const struct http_head *h, struct str name)
{
    char word[64];
    if (is_one_of(name, hop_by_hop))
        return true;
    if (name.n >= sizeof(word))
        return false;
    snprintf(word, sizeof(word), "%.*s", STR_ARG(name));
    for (int i = 0; i < h->nfields; i++) {
        if (is_name(h->fields[i].name, "Connection") &&
            http_has_token(h->fields[i].value, word))
            return true;
    }
    return false;
}

/* ---- requests ---- */

bool reverse_proxy_target_of(const struct reverse_proxy_rules *rules, const struct req *r,
                             struct reverse_proxy_target *out)
{
    struct str path = req_head(r)->path;
    size_t from = strlen(rules->prefix) + 1, n = from;
    if (!str_starts(path, str_of(rules->prefix)) || path.n < from ||
        path.p[from - 1] != '/')
        return false;
    while (n < path.n && path.p[n] != '/')
        n++;
    struct str digits = str_sub(path, from, n - from);
    if (rules->sandbox)
        digits = str_cut(&digits, '~'); /* the guard has judged the token */
    uint64_t port;
    if (digits.n > 5 || str_to_u64(digits, &port) < 0 || port == 0 || port > 65535)
        return false;
    const struct http_head *h = req_head(r);
    const char *end = h->query.p ? h->query.p + h->query.n : path.p + path.n;
    out->port = (uint16_t)port;
    out->base = str_n(path.p, n);
    out->rest = str_n(path.p + n, (size_t)(end - (path.p + n)));
    return true;
}

/* Does a cookie, or its name, begin as ours do, with "__Secure-" or without? */
static bool is_our_cookie(struct str s)
{
    static const struct str secure = STR("__Secure-");
    if (str_starts(s, secure))
        s = str_sub(s, secure.n, s.n);
    return str_starts(s, STR(REVERSE_PROXY_OUR_COOKIES));
}

/* Adds the cookies that are not ours, as one field. */
static int add_cookies(struct str value, struct buf *out)
{
    struct buf kept = BUF_INIT(VALUE_MAX);
    while (value.n > 0) {
        struct str one = str_trim(str_cut(&value, ';'));
        if (one.n == 0 || is_our_cookie(one))
            continue;
        buf_addf(&kept, "%s%.*s", kept.n ? "; " : "", STR_ARG(one));
    }
    int rc = kept.n ? httpc_add_field(out, "Cookie", buf_str(&kept)) : 0;
    buf_release(&kept);
    return rc;
}

static bool is_ours(const struct reverse_proxy *p, const struct req *r, struct str name)
{
    static const char *const ours[] = {"Host",
                                       "X-Forwarded-For",
                                       "X-Forwarded-Host",
                                       "X-Forwarded-Proto",
                                       "X-Forwarded-Prefix",
                                       "Origin",
                                       "Referer",
                                       "Cookie",
                                       NULL};
    /* The browser sees an app at a foreign origin, but development servers refuse
     * requests from other sites. */
    return is_one_of(name, ours) || p->rules->hides(p, r, name) ||
           (p->rules->sandbox && is_name(name, "Sec-Fetch-Site"));
}

/* Returns the prefix that a proxy in front adds to our paths, if the app's address has
 * it. */
static struct str outside(const struct reverse_proxy *p)
{
    return str_of(p->rules->sandbox ? access_prefix(fronts_access(p->fronts)) : "");
}

static void add_prefix(const struct reverse_proxy *p,
                       const struct reverse_proxy_target *t, struct buf *out)
{
    struct buf b = BUF_INIT(VALUE_MAX);
    buf_adds(&b, outside(p));
    buf_adds(&b, t->base);
    httpc_add_field(out, "X-Forwarded-Prefix", buf_str(&b));
    buf_release(&b);
}

static int add_forwarded(const struct reverse_proxy *p, const struct req *r,
                         const struct reverse_proxy_target *t, struct buf *out)
{
    struct addr peer, own;
    struct buf text = BUF_INIT(ADDR_TEXT_MAX);
    if (req_ends(r, &peer, &own) == 0 && !addr_is_unix(&peer)) {
        addr_print(&peer, &text);
        struct str host = buf_str(&text);
        while (host.n > 0 && host.p[host.n - 1] != ':')
            host.n--;
        host.n -= host.n > 0;
        if (host.n > 1 && host.p[0] == '[')
            host = str_sub(host, 1, host.n - 2);
        httpc_add_field(out, "X-Forwarded-For", host);
    }
    buf_release(&text);
    if (p->rules->named && req_head(r)->host.n > 0)
        httpc_add_field(out, "X-Forwarded-Host", req_head(r)->host);
    if (p->rules->named && t->base.n > 0)
        add_prefix(p, t, out);
    return httpc_add_field(out, "X-Forwarded-Proto",
                           str_of(req_is_secure(r) ? "https" : "http"));
}

/* A program that sends no Origin is not a browser, and some apps refuse browsers. */
static int add_upgrade(const struct req *r, const struct reverse_proxy_target *t,
                       struct buf *out)
{
    char origin[40];
    snprintf(origin, sizeof(origin), "http://localhost:%u", t->port);
    if (httpc_add_field(out, "Connection", STR("Upgrade")) < 0 ||
        httpc_add_field(out, "Upgrade", STR("websocket")) < 0)
        return -1;
    bool page = req_header(r, "Origin").p;
    return page ? httpc_add_field(out, "Origin", str_of(origin)) : 0;
}

int fields_out(const struct reverse_proxy *p, const struct req *r,
               const struct reverse_proxy_target *t, bool upgrade, struct buf *out)
{
    const struct http_head *h = req_head(r);
    int rc = 0;
    for (int i = 0; i < h->nfields && rc == 0; i++) {
        struct str name = h->fields[i].name, value = h->fields[i].value;
        char z[HTTP_LINE_MAX];
        if (is_name(name, "Cookie"))
            rc = add_cookies(value, out);
        if (is_hop(h, name) || is_ours(p, r, name) || name.n >= sizeof(z))
            continue;
        snprintf(z, sizeof(z), "%.*s", STR_ARG(name));
        rc = httpc_add_field(out, z, value);
    }
    if (rc == 0 && upgrade)
        rc = add_upgrade(r, t, out);
    return rc == 0 ? add_forwarded(p, r, t, out) : -1;
}

bool reverse_proxy_hides_keys(const struct reverse_proxy *p, const struct req *r,
                              struct str name)
{
    static const struct str bearer = STR("Bearer ");
    struct str v = req_header(r, "Authorization");
    if (is_name(name, "X-Session-API-Key") || is_name(name, "X-OD-Page"))
        return true;
    if (!is_name(name, "Authorization") || v.n <= bearer.n ||
        strncasecmp(v.p, bearer.p, bearer.n) != 0)
        return false;
    v = str_trim(str_sub(v, bearer.n, v.n));
    return access_is_key(fronts_access(p->fronts), req_at(r), v);
}

/* ---- answers ---- */

/* Returns a Location without the app's origin. p is NULL if it leads elsewhere. */
static struct str below_root(struct str location, uint16_t port)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    if (location.n > 0 && location.p[0] == '/')
        return location.n > 1 && location.p[1] == '/' ? (struct str){0} : location;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        char origin[48];
        size_t n = (size_t)snprintf(origin, sizeof(origin), "http://%s:%u", hosts[i],
                                    port);
        if (location.n >= n && strncasecmp(location.p, origin, n) == 0 &&
            (location.n == n || location.p[n] == '/'))
            return location.n == n ? STR("/") : str_sub(location, n, location.n);
    }
    return (struct str){0};
}

/* Returns the part of an app's path that is below PREFIX/PORT, which some apps get,
 * too. */
static struct str below_prefix(const struct reverse_proxy_rules *rules,
                               const struct reverse_proxy_target *t, struct str path)
{
    char own[32];
    size_t n = (size_t)snprintf(own, sizeof(own), "%s/%u", rules->prefix, t->port);
    if (rules->keeps && str_starts(path, str_n(own, n)) &&
        (path.n == n || path.p[n] == '/'))
        return path.n == n ? STR("/") : str_sub(path, n, path.n);
    return path;
}

/* "/c" of "/a/b/c" */
static struct str last_segment(struct str path)
{
    size_t n = path.n;
    while (n > 0 && path.p[n - 1] != '/')
        n--;
    return n > 0 ? str_sub(path, n - 1, path.n) : path;
}

/* Adds a relative Location: for a request to /b/c, "/a" becomes "../a". So it works
 * whatever precedes PORT. */
static void add_location(const struct reverse_proxy_rules *rules, struct req *r,
                         const struct reverse_proxy_target *t, struct str location)
{
    struct str inside = below_root(location, t->port), rest = t->rest;
    struct buf out = BUF_INIT(VALUE_MAX);
    if (inside.p)
        inside = below_prefix(rules, t, inside);
    if (!inside.p) {
        buf_adds(&out, location);
    } else {
        struct str path = str_cut(&rest, '?');
        size_t depth = str_count(path, '/');
        for (size_t i = 1; i < depth; i++)
            buf_addz(&out, "../");
        if (depth == 0) /* PREFIX/PORT without a slash */
            buf_addf(&out, ".%.*s/", STR_ARG(last_segment(t->base)));
        buf_addf(&out, "%s%.*s", depth == 1 ? "./" : "",
                 STR_ARG(str_sub(inside, 1, inside.n)));
    }
    req_header_add(r, "Location", buf_z(&out));
    buf_release(&out);
}

/* Adds an app's cookie without its domain, and with its path below PREFIX/PORT, if
 * any. */
static void add_cookie(const struct reverse_proxy *p, struct req *r,
                       const struct reverse_proxy_target *t, struct str value)
{
    struct buf out = BUF_INIT(VALUE_MAX);
    bool pathed = false;
    if (is_our_cookie(str_trim(value)))
        return;
    for (bool first = true; value.n > 0; first = false) {
        struct str part = str_trim(str_cut(&value, ';')), rest = part;
        struct str name = str_trim(str_cut(&rest, '='));
        if (!first && is_name(name, "Domain"))
            continue;
        buf_addz(&out, first ? "" : "; ");
        pathed = pathed || (!first && is_name(name, "Path"));
        if (!first && is_name(name, "Path"))
            buf_addf(&out, "Path=%.*s%.*s%.*s", STR_ARG(outside(p)), STR_ARG(t->base),
                     STR_ARG(below_prefix(p->rules, t, str_trim(rest))));
        else
            buf_adds(&out, part);
    }
    if (!pathed && t->base.n > 0)
        buf_addf(&out, "; Path=%.*s%.*s/", STR_ARG(outside(p)), STR_ARG(t->base));
    req_header_add(r, "Set-Cookie", buf_z(&out));
    buf_release(&out);
}

void fields_back(const struct reverse_proxy *p, struct req *r,
                 const struct reverse_proxy_target *t, const struct http_head *h)
{
    /* Some of them would affect our whole origin, which the app shares. */
    static const char *const dropped[] = {"Date",
                                          "Content-Type",
                                          "Service-Worker-Allowed",
                                          "Clear-Site-Data",
                                          "Alt-Svc",
                                          "NEL",
                                          "Report-To",
                                          "Reporting-Endpoints",
                                          "Expect-CT",
                                          "Public-Key-Pins",
                                          "Strict-Transport-Security",
                                          NULL};
    bool sandbox = p->rules->sandbox && h->status != 101;
    for (int i = 0; i < h->nfields; i++) {
        struct str name = h->fields[i].name, value = h->fields[i].value;
        if (is_name(name, "Location")) {
            add_location(p->rules, r, t, value);
        } else if (is_name(name, "Set-Cookie")) {
            add_cookie(p, r, t, value);
        } else if (sandbox && sandbox_takes(r, name, value)) {
            continue;
        } else if (!is_hop(h, name) && !is_one_of(name, dropped)) {
            struct buf n = BUF_INIT(HTTP_LINE_MAX), v = BUF_INIT(VALUE_MAX);
            buf_adds(&n, name);
            buf_adds(&v, value);
            req_header_add(r, buf_z(&n), buf_z(&v));
            buf_release(&n);
            buf_release(&v);
        }
    }
    if (sandbox)
        reverse_proxy_sandbox(r);
}
