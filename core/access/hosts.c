/* SPDX-License-Identifier: MIT */
#include "access/hosts.h"

#include "base/xalloc.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

enum { NAME_MAX_BYTES = 253 };

static const struct str port_word = STR("PORT");

/* Longest first is not needed: one match is enough. */
static const char *const private_domains[] = {".local", ".internal", ".svc",
                                              ".cluster.local", ".home.arpa"};

/* Returns host without the port, the brackets of IPv6 and a final dot; "" if it has no
 * name. */
static struct str name_of(struct str host)
{
    if (host.n > 0 && host.p[0] == '[') {
        long end = str_chr(host, ']');
        return str_sub(host, 1, end > 0 ? (size_t)end - 1 : 0);
    }
    struct str name = str_cut(&host, ':');
    if (name.n > 1 && name.p[name.n - 1] == '.')
        name.n--;
    return name;
}

static bool same(struct str a, struct str b)
{
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

/* Is name a name below domain, which begins with a dot? */
static bool is_under(struct str name, struct str domain)
{
    return name.n > domain.n && same(str_sub(name, name.n - domain.n, name.n), domain);
}

/* Letters, digits, '-' and '_', as names of containers have it, and dots between them. */
static bool is_name(struct str s)
{
    if (s.n == 0 || s.n > NAME_MAX_BYTES || s.p[0] == '.' || s.p[s.n - 1] == '.')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (!isalnum(c) && c != '-' && c != '_' && (c != '.' || s.p[i - 1] == '.'))
            return false;
    }
    return true;
}

bool hosts_may_add(struct str word)
{
    if (str_eq(word, STR("*")))
        return true;
    if (str_starts(word, STR("*.")))
        word = str_sub(word, 1, word.n);
    return is_name(str_starts(word, STR(".")) ? str_sub(word, 1, word.n) : word);
}

/* An address, such as PORT.0.0.1, must not be an app's name. */
bool hosts_may_preview(struct str word)
{
    struct str rest = str_sub(word, port_word.n + 1, word.n);
    bool letter = false;
    for (size_t i = 0; i < rest.n; i++)
        letter |= isalpha((unsigned char)rest.p[i]) != 0;
    return letter && is_name(rest) &&
           (str_starts(word, STR("PORT-")) || str_starts(word, STR("PORT.")));
}

bool hosts_app(const struct hosts *h, struct str host, uint16_t *port)
{
    struct str name = name_of(host), end = str_of(h->app ? h->app : "");
    uint64_t number;
    if (!h->app || name.n <= end.n || !same(str_sub(name, name.n - end.n, name.n), end))
        return false;
    name.n -= end.n;
    for (size_t i = 0; i < name.n; i++) {
        if (!isdigit((unsigned char)name.p[i]))
            return false;
    }
    bool is_port = name.n <= 5 && name.p[0] != '0' && str_to_u64(name, &number) == 0 &&
                   number <= UINT16_MAX;
    *port = is_port ? (uint16_t)number : 0;
    return true;
}

void hosts_init(struct hosts *h, const struct json *options)
{
    *h = (struct hosts){.open = json_bool(options, "insecure_open", false)};
    struct json *list = json_get(options, "allow_hosts");
    for (struct json *v = json_first(list); v; v = json_next(v)) {
        struct str word = json_str_value(v, "");
        if (!hosts_may_add(word))
            continue;
        if (str_starts(word, STR("*.")))
            word = str_sub(word, 1, word.n);
        h->v = xrealloc(h->v, h->n + 1, sizeof(*h->v));
        h->v[h->n++] = xstrndup(word.p, word.n);
    }
    struct str app = json_str(options, "preview_host", "");
    if (hosts_may_preview(app))
        h->app = xstrndup(app.p + port_word.n, app.n - port_word.n);
}

void hosts_release(struct hosts *h)
{
    for (size_t i = 0; i < h->n; i++)
        free(h->v[i]);
    free(h->v);
    free(h->app);
    *h = (struct hosts){0};
}

bool host_is_plain(struct str host)
{
    struct str name = name_of(host);
    char z[64];
    struct in_addr a4;
    struct in6_addr a6;
    if (same(name, STR("localhost")) ||
        (is_under(name, STR(".localhost")) && is_name(name)))
        return true; /* RFC 6761 6.3: it is this machine's loopback */
    if (name.n == 0 || name.n >= sizeof(z))
        return false;
    memcpy(z, name.p, name.n);
    z[name.n] = 0;
    return inet_pton(AF_INET, z, &a4) == 1 || inet_pton(AF_INET6, z, &a6) == 1;
}

static bool is_private(struct str name)
{
    if (!is_name(name))
        return false;
    if (str_chr(name, '.') < 0)
        return true;
    for (size_t i = 0; i < sizeof(private_domains) / sizeof(private_domains[0]); i++) {
        if (is_under(name, str_of(private_domains[i])))
            return true;
    }
    return false;
}

bool host_is_private(struct str host) { return is_private(name_of(host)); }

bool hosts_has(const struct hosts *h, struct str host)
{
    struct str name = name_of(host);
    if (host_is_plain(host) || (h->open && is_private(name)))
        return true;
    for (size_t i = 0; i < h->n; i++) {
        struct str v = str_of(h->v[i]);
        if (str_eq(v, STR("*")) ||
            (str_starts(v, STR(".")) ? is_under(name, v) : same(name, v)))
            return true;
    }
    return false;
}
