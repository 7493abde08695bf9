/* SPDX-License-Identifier: MIT */
#include "front/bus/where.h"

#include "http/http.h"
#include "http/url.h"

#include <string.h>

static int bad(struct err *e, const char *what)
{
    return err_set(e, ERR_INVALID,
                   "cannot use the URL of --bus: %s; "
                   "redis[s][+sentinel]://[USER[:PASSWORD]@]HOST[:PORT][,HOST]"
                   "[/NAME][/DB][?prefix=NAME] is expected",
                   what);
}

int bus_host(struct bus_host *h, struct str text, uint16_t port)
{
    struct buf url = BUF_INIT(400);
    struct url u;
    bool six = text.n > 0 && text.p[0] == '[';
    long colon = str_chr(text, ':'), end = str_find(text, STR("]:"));
    bool has_port = six ? end > 0 : colon >= 0;
    buf_addf(&url, "ws://%.*s", (int)(text.n < 300 ? text.n : 300), text.p);
    if (!has_port)
        buf_addf(&url, ":%u", port);
    int rc = text.n > 300 || str_chr(text, 0) >= 0 || buf_full(&url) ||
                     url_parse(&u, buf_str(&url), NULL) < 0 || u.user.p ||
                     u.target.n != 1 || u.host.n >= sizeof(h->name)
                 ? -1
                 : 0;
    if (rc == 0) {
        memcpy(h->name, u.host.p, u.host.n);
        h->name[u.host.n] = 0;
        h->port = u.port;
    }
    buf_release(&url);
    return rc;
}

bool bus_host_is_near(const struct bus_host *h)
{
    return url_is_loopback(str_of(h->name));
}

void bus_host_print(const struct bus_host *h, struct buf *out)
{
    buf_addf(out, strchr(h->name, ':') ? "[%s]:%u" : "%s:%u", h->name, h->port);
}

/* Copies a name of characters that cannot form a hash tag in a key. */
static int take_name(char *out, struct str s)
{
    if (s.n == 0 || s.n > BUS_NAME_MAX)
        return -1;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z') &&
            (!c || !strchr("-._:", c)))
            return -1;
        out[i] = c;
    }
    out[s.n] = 0;
    return 0;
}

static int take_text(char *out, size_t size, struct str s)
{
    struct buf b = BUF_INIT(size - 1);
    int rc = http_decode(&b, s, false);
    if (rc == 0 && b.n > 0)
        memcpy(out, b.p, b.n);
    if (rc == 0)
        out[b.n] = 0;
    if (b.n > 0)
        explicit_bzero(b.p, b.n);
    buf_release(&b);
    return rc;
}

static int take_user(struct bus_where *w, struct str s)
{
    struct str password = s, user = str_cut(&password, ':');
    return take_text(w->user, sizeof(w->user), user) < 0 ||
                   take_text(w->password, sizeof(w->password), password) < 0
               ? -1
               : 0;
}

static int take_scheme(struct bus_where *w, struct str s)
{
    if (!str_starts(s, STR("redis")))
        return -1;
    s = str_sub(s, 5, s.n);
    w->tls = s.n > 0 && s.p[0] == 's';
    s = str_sub(s, w->tls, s.n);
    w->sentinel = str_eq(s, STR("+sentinel"));
    return s.n == 0 || w->sentinel ? 0 : -1;
}

static int take_path(struct bus_where *w, struct str path, struct err *e)
{
    uint64_t db = 0;
    if (w->sentinel && take_name(w->master, str_cut(&path, '/')) < 0)
        return bad(e, "the name of the sentinels' master is missing or malformed");
    if (path.n > 0 && (str_to_u64(path, &db) < 0 || db > BUS_DB_MAX))
        return bad(e, "the database is not a number from 0 to 1023");
    w->db = (unsigned)db;
    return 0;
}

static int take_query(struct bus_where *w, struct str query, struct err *e)
{
    while (query.n > 0) {
        struct str value = str_cut(&query, '&'), name = str_cut(&value, '=');
        if (!str_eq(name, STR("prefix")))
            return bad(e, "its query has a parameter other than prefix");
        if (take_name(w->prefix, value) < 0)
            return bad(e, "the prefix has 1 to 64 letters, digits and -._:");
    }
    return 0;
}

int bus_where(struct bus_where *w, struct str url, struct err *e)
{
    long colon = str_find(url, STR("://"));
    *w = (struct bus_where){.prefix = "od"};
    if (url.n > BUS_URL_MAX || colon < 0 ||
        take_scheme(w, str_sub(url, 0, (size_t)colon)) < 0)
        return bad(e, url.n > BUS_URL_MAX ? "it is too long"
                                          : "it begins with none of redis://, rediss://, "
                                            "redis+sentinel://, rediss+sentinel://");
    struct str query = str_sub(url, (size_t)colon + 3, url.n),
               path = str_cut(&query, '?');
    struct str hosts = str_cut(&path, '/');
    for (size_t i = hosts.n; i > 0; i--) {
        if (hosts.p[i - 1] != '@')
            continue;
        if (take_user(w, str_sub(hosts, 0, i - 1)) < 0)
            return bad(e, "its user or password is malformed or too long");
        hosts = str_sub(hosts, i, hosts.n);
        break;
    }
    do {
        if (w->n == BUS_HOSTS_MAX)
            return bad(e, "it has more than 16 hosts");
        if (bus_host(&w->hosts[w->n++], str_cut(&hosts, ','),
                     w->sentinel ? 26379 : 6379) < 0)
            return bad(e, "a host or port in it is malformed");
    } while (hosts.n > 0);
    return take_path(w, path, e) < 0 || take_query(w, query, e) < 0 ? -1 : 0;
}
