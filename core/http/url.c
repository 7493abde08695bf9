/* SPDX-License-Identifier: MIT */
/* URLs, and proxies of the environment. */
#include "http/url.h"

#include "base/enc.h"
#include "http/http.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

static const struct scheme {
    const char *name;
    uint16_t port;
    bool tls;
} schemes[] = {
    {"http", 80, false}, {"https", 443, true}, {"ws", 80, false}, {"wss", 443, true}};

static bool same(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

static const struct scheme *find_scheme(struct str name)
{
    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
        if (same(name, str_of(schemes[i].name)))
            return &schemes[i];
    }
    return NULL;
}

/* "host", "host:port", "[address]", "[address]:port"; the port is left if there is none.
 */
static int split_host(struct str text, struct str *host, uint16_t *port)
{
    struct str rest = text;
    if (str_starts(text, STR("["))) {
        long end = str_chr(text, ']');
        if (end < 0)
            return -1;
        *host = str_sub(text, 1, (size_t)end - 1);
        rest = str_sub(text, (size_t)end + 1, text.n);
        if (rest.n > 0 && rest.p[0] != ':')
            return -1;
        rest = str_sub(rest, 1, rest.n);
    } else {
        *host = str_cut(&rest, ':');
    }
    uint64_t n = *port;
    if (rest.n > 0 && (str_to_u64(rest, &n) < 0 || n == 0 || n > 65535))
        return -1;
    *port = (uint16_t)n;
    return 0;
}

/* Letters, digits, and what else stands in names and addresses. */
static bool is_host(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z') &&
            !(c && strchr("-._:%~", c)))
            return false;
    }
    return s.n > 0 && s.n < sizeof(((struct proxy *)0)->host);
}

static struct str up_to_any(struct str s, const char *ends)
{
    size_t n = 0;
    while (n < s.n && !(s.p[n] && strchr(ends, s.p[n])))
        n++;
    return str_sub(s, 0, n);
}

int url_parse(struct url *u, struct str text, struct err *e)
{
    long colon = str_find(text, STR("://"));
    const struct scheme *scheme = colon > 0 ? find_scheme(str_sub(text, 0, (size_t)colon))
                                            : NULL;
    if (!scheme)
        return err_set(e, ERR_INVALID,
                       "cannot use a URL: it begins with none of http://, https://, "
                       "ws://, wss://");
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] <= ' ' || text.p[i] == 0x7f)
            return err_set(e, ERR_INVALID,
                           "cannot use a URL: there is a blank or a "
                           "control character in it");
    }
    struct str rest = str_sub(text, (size_t)colon + 3, text.n);
    *u = (struct url){.scheme = str_sub(text, 0, (size_t)colon),
                      .port = scheme->port,
                      .tls = scheme->tls};
    u->authority = up_to_any(rest, "/?#");
    if (str_chr(u->authority, '\\') >= 0)
        return err_set(e, ERR_INVALID,
                       "cannot use a URL: there is a backslash in its host, after which "
                       "browsers and other programs see different hosts; write /");
    u->target = up_to_any(str_sub(rest, u->authority.n, rest.n), "#");
    if (u->target.n == 0)
        u->target = STR("/");
    for (size_t i = u->authority.n; i > 0; i--) {
        if (u->authority.p[i - 1] != '@')
            continue;
        u->user = str_sub(u->authority, 0, i - 1);
        u->authority = str_sub(u->authority, i, u->authority.n);
        break;
    }
    /* Only this part is shown: the others may hold passwords and keys. */
    if (split_host(u->authority, &u->host, &u->port) < 0 || !is_host(u->host))
        return err_set(e, ERR_INVALID,
                       "cannot use a URL: its host or port is malformed: \"%.*s\"",
                       STR_ARG(u->authority));
    if (u->target.p[0] == '?')
        return err_set(e, ERR_INVALID, "cannot use the URL of %.*s: write / before the ?",
                       STR_ARG(u->authority));
    return 0;
}

/* ---- no_proxy ---- */

/* The address and its bits; 0: it is none. */
static int to_address(struct str s, uint8_t out[16])
{
    char z[64];
    if (s.n >= sizeof(z))
        return 0;
    memcpy(z, s.p, s.n);
    z[s.n] = '\0';
    if (inet_pton(AF_INET, z, out) == 1)
        return 32;
    return inet_pton(AF_INET6, z, out) == 1 ? 128 : 0;
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned n)
{
    if (memcmp(a, b, n / 8) != 0)
        return false;
    return n % 8 == 0 || (a[n / 8] ^ b[n / 8]) >> (8 - n % 8) == 0;
}

static bool is_in_network(struct str host, struct str network)
{
    uint8_t a[16], b[16];
    uint64_t bits;
    struct str length = network, base = str_cut(&length, '/');
    int all = to_address(base, b);
    if (all == 0 || to_address(host, a) != all)
        return false;
    if (base.n == network.n)
        return same_bits(a, b, (unsigned)all);
    return str_to_u64(length, &bits) == 0 && bits <= (unsigned)all &&
           same_bits(a, b, (unsigned)bits);
}

static bool is_below(struct str host, struct str domain)
{
    if (str_starts(domain, STR("*.")))
        domain = str_sub(domain, 1, domain.n);
    if (str_starts(domain, STR(".")))
        domain = str_sub(domain, 1, domain.n);
    if (domain.n == 0 || host.n < domain.n)
        return false;
    struct str tail = str_sub(host, host.n - domain.n, domain.n);
    return same(tail, domain) &&
           (tail.n == host.n || host.p[host.n - domain.n - 1] == '.');
}

static bool is_excepted(const struct url *u, struct str list)
{
    while (list.n > 0) {
        struct str entry = str_trim(str_cut(&list, ',')), host = entry;
        uint16_t port = u->port;
        uint8_t address[16];
        if (str_eq(entry, STR("*")))
            return true;
        /* A bare IPv6 address has colons of its own, and no port. */
        if (to_address(entry, address) != 128 && str_chr(entry, '/') < 0 &&
            split_host(entry, &host, &port) < 0)
            continue;
        if (port == u->port && (is_in_network(u->host, host) || is_below(u->host, host)))
            return true;
    }
    return false;
}

/* ---- the proxy ---- */

/* The first of two names that has a value; p NULL: neither. */
static struct str value_of(char *(*env)(const char *name), const char *a, const char *b)
{
    const char *v = env(a);
    if ((!v || !*v) && b)
        v = env(b);
    return v && *v ? str_of(v) : (struct str){0};
}

static int set_auth(struct proxy *p, struct str user, struct err *e)
{
    struct buf plain = BUF_INIT(sizeof(p->auth)), text = BUF_INIT(sizeof(p->auth) - 1);
    p->auth[0] = '\0';
    int rc = 0;
    if (user.p &&
        (http_decode(&plain, user, false) < 0 || buf_addz(&text, "Basic ") < 0 ||
         enc_base64(&text, buf_str(&plain)) < 0))
        rc = err_set(e, ERR_INVALID,
                     "cannot use the proxy of the environment: its user "
                     "name and password are malformed or too long");
    else if (user.p)
        memcpy(p->auth, text.p, text.n + 1);
    buf_release(&plain);
    buf_release(&text);
    return rc;
}

int url_proxy(struct proxy *p, const struct url *u, char *(*env)(const char *name),
              struct err *e)
{
    struct str text = u->tls ? value_of(env, "https_proxy", "HTTPS_PROXY")
                             : value_of(env, "http_proxy", NULL);
    if (!text.p)
        text = value_of(env, "all_proxy", "ALL_PROXY");
    if (!text.p || is_excepted(u, value_of(env, "no_proxy", "NO_PROXY")))
        return 0;
    struct url at;
    char with_scheme[1024];
    if (str_find(text, STR("://")) < 0) {
        int n = snprintf(with_scheme, sizeof(with_scheme), "http://%.*s", STR_ARG(text));
        text = str_n(with_scheme, n < (int)sizeof(with_scheme) ? (size_t)n : 0);
    } else if (!str_starts(text, STR("http://")) && !str_starts(text, STR("HTTP://"))) {
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot use the proxy of the environment: only "
                       "http:// proxies are known; set https_proxy to one, or no_proxy");
    }
    if (url_parse(&at, text, NULL) < 0)
        return err_set(e, ERR_INVALID,
                       "cannot use the proxy of the environment: its URL is "
                       "malformed; http://HOST:PORT is expected");
    memcpy(p->host, at.host.p, at.host.n);
    p->host[at.host.n] = '\0';
    p->port = at.port;
    return set_auth(p, at.user, e) < 0 ? -1 : 1;
}

bool url_is_loopback(struct str host)
{
    char z[64];
    struct in_addr v4;
    struct in6_addr v6;
    if (host.n >= sizeof(z))
        return false;
    memcpy(z, host.p, host.n);
    z[host.n] = 0;
    if (strcasecmp(z, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, z, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, z, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}
