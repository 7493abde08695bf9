/* SPDX-License-Identifier: MIT */
#include "reach/rules.h"

#include "base/xalloc.h"
#include "net/denied.h"
#include "reach/address.h"
#include "reach/words.h"

#include <netinet/in.h>
#include <stdlib.h>

enum { PORT_MAX = 65535, FREE_FIRST = 32768, FREE_LAST = 60999 };

/* Ports of a rule; both 1 or more. */
struct reach_ports {
    unsigned from, to;
};

struct reach_rule {
    struct reach_host host;
    struct reach_ports ports;
};

struct reach {
    struct reach_rule *hosts;    /* owned */
    struct reach_rule *opens;    /* owned; of secrets */
    struct reach_ports *listens; /* owned */
    size_t hosts_n, opens_n, listens_n, loaded_hosts, loaded_listens;
    bool limits, limits_listen;
};

static bool take_ports(const struct json *rule, struct reach_ports *out)
{
    int64_t from = json_int(rule, "from", 0), to = json_int(rule, "to", 0);
    *out = (struct reach_ports){(unsigned)from, (unsigned)to};
    return from >= 1 && from <= to && to <= PORT_MAX;
}

static void take_host(struct reach_rule *list, size_t *n, const struct json *rule)
{
    struct reach_wrong wrong;
    struct reach_rule *x = &list[*n];
    if (*n < REACH_RULES_MAX && take_ports(rule, &x->ports) &&
        reach_host_read(json_str(rule, "host", ""), &x->host, &wrong) == 0)
        ++*n;
}

static void take_rule(struct reach *r, const struct json *rule)
{
    struct str what = json_str(rule, "do", "");
    if (str_eq(what, STR("reach"))) {
        r->limits = true;
        take_host(r->hosts, &r->hosts_n, rule);
    } else if (str_eq(what, STR("secret"))) {
        take_host(r->opens, &r->opens_n, rule);
    } else if (str_eq(what, STR("listen"))) {
        r->limits_listen = true;
        if (r->listens_n < REACH_RULES_MAX && take_ports(rule, &r->listens[r->listens_n]))
            r->listens_n++;
    }
}

struct reach *reach_load(const struct json *rules)
{
    struct reach *r = xnew(struct reach);
    size_t n = (size_t)json_count(rules) + 1;
    if (n > REACH_RULES_MAX + 1)
        n = REACH_RULES_MAX + 1;
    r->hosts = xcalloc(n, sizeof(r->hosts[0]));
    r->opens = xcalloc(n, sizeof(r->opens[0]));
    r->listens = xcalloc(n, sizeof(r->listens[0]));
    for (const struct json *x = json_first(rules); x; x = json_next(x))
        take_rule(r, x);
    r->loaded_hosts = r->hosts_n;
    r->loaded_listens = r->listens_n;
    return r;
}

void reach_extend(struct reach *r, const struct json *rules)
{
    size_t more = (size_t)json_count(rules) + 1;
    r->hosts_n = r->loaded_hosts;
    r->listens_n = r->loaded_listens;
    r->hosts = xrealloc(r->hosts, r->hosts_n + more, sizeof(r->hosts[0]));
    r->listens = xrealloc(r->listens, r->listens_n + more, sizeof(r->listens[0]));
    for (const struct json *x = json_first(rules); x; x = json_next(x)) {
        bool reach = str_eq(json_str(x, "do", ""), STR("reach"));
        if (reach ? r->limits
                  : str_eq(json_str(x, "do", ""), STR("listen")) && r->limits_listen)
            take_rule(r, x);
    }
}

void reach_free(struct reach *r)
{
    if (!r)
        return;
    free(r->hosts);
    free(r->opens);
    free(r->listens);
    free(r);
}

bool reach_limits(const struct reach *r) { return r->limits; }

bool reach_limits_listen(const struct reach *r) { return r->limits_listen; }

/* ---- judging ---- */

static bool has_port(struct reach_ports p, unsigned port)
{
    return port == 0 || (port >= p.from && port <= p.to);
}

/* Is the name, in lower case, the host's or below it? */
static bool is_named(const struct reach_host *h, struct str name)
{
    struct str own = str_of(h->name);
    if (h->kind == REACH_NAME)
        return str_eq(name, own);
    return h->kind == REACH_BELOW && str_ends(name, own) && name.n > own.n + 1 &&
           name.p[name.n - own.n - 1] == '.';
}

static bool has_name(const struct reach_rule *list, size_t n, struct str name,
                     unsigned port)
{
    char z[REACH_NAME_MAX + 1];
    struct str asked = {z, reach_name_of(name, z)};
    for (size_t i = 0; i < n && asked.n > 0; i++) {
        if ((list[i].host.kind == REACH_ALL || is_named(&list[i].host, asked)) &&
            has_port(list[i].ports, port))
            return true;
    }
    return false;
}

bool reach_name(const struct reach *r, struct str name, unsigned port)
{
    return !r->limits || has_name(r->hosts, r->hosts_n, name, port) ||
           reach_opens(r, name, port);
}

bool reach_opens(const struct reach *r, struct str name, unsigned port)
{
    return has_name(r->opens, r->opens_n, name, port);
}

bool reach_has_secrets(const struct reach *r, unsigned port)
{
    for (size_t i = 0; i < r->opens_n; i++) {
        if (has_port(r->opens[i].ports, port))
            return true;
    }
    return false;
}

static bool is_within(const struct reach_host *net, const unsigned char a[16])
{
    unsigned whole = net->bits / 8, rest = net->bits % 8;
    if (address_is_ipv4(a) != address_is_ipv4(net->bytes) ||
        memcmp(net->bytes, a, whole) != 0)
        return false;
    return rest == 0 || (net->bytes[whole] ^ a[whole]) >> (8 - rest) == 0;
}

bool reach_address(const struct reach *r, const unsigned char address[16], unsigned port)
{
    if (!r->limits)
        return true;
    for (size_t i = 0; i < r->hosts_n; i++) {
        const struct reach_host *h = &r->hosts[i].host;
        bool fits = h->kind == REACH_ALL ||
                    (h->kind == REACH_NET && is_within(h, address));
        if (fits && has_port(r->hosts[i].ports, port))
            return true;
    }
    return false;
}

bool reach_listen(const struct reach *r, unsigned port)
{
    unsigned from = port ? port : FREE_FIRST, to = port ? port : FREE_LAST;
    if (!r->limits_listen)
        return true;
    for (size_t i = 0; i < r->listens_n; i++) {
        if (from >= r->listens[i].from && to <= r->listens[i].to)
            return true;
    }
    return false;
}

bool reach_is_private(const unsigned char address[16])
{
    struct denied local = {.n = 0};
    struct sockaddr_in6 sa = {.sin6_family = AF_INET6};
    struct err e = ERR_INIT;
    memcpy(&sa.sin6_addr, address, 16);
    return denied_parse(&local, STR("local"), &e) < 0 ||
           denied_has(&local, (const struct sockaddr *)&sa);
}

bool reach_is_searched(const struct reach *r, struct str name)
{
    char z[REACH_NAME_MAX + 1];
    struct str asked = {z, reach_name_of(name, z)};
    for (size_t i = asked.n; i > 1; i--) {
        if (z[i - 1] != '.')
            continue;
        struct str head = str_sub(asked, 0, i - 1);
        for (size_t k = 0; k < r->hosts_n; k++) {
            if (is_named(&r->hosts[k].host, head))
                return true;
        }
        for (size_t k = 0; k < r->opens_n; k++) {
            if (is_named(&r->opens[k].host, head))
                return true;
        }
    }
    return false;
}

/* ---- words ---- */

static void put_rules(const struct reach_rule *list, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        struct buf host = BUF_INIT(REACH_NAME_MAX + 8);
        buf_addz(out, out->n > 0 ? ", " : "");
        reach_host_print(&list[i].host, &host);
        reach_print(buf_str(&host), list[i].ports.from, list[i].ports.to, out);
        buf_release(&host);
    }
}

void reach_text(const struct reach *r, struct buf *out, size_t max)
{
    static const char cut[] = "…";
    struct buf all = BUF_INIT(2 * REACH_RULES_MAX * (REACH_NAME_MAX + 32));
    put_rules(r->hosts, r->hosts_n, &all);
    if (r->limits)
        put_rules(r->opens, r->opens_n, &all);
    if (all.n == 0)
        buf_addz(&all, r->limits ? "nothing" : "everything");
    buf_adds(out, str_sub(buf_str(&all), 0, all.n > max ? max - (sizeof(cut) - 1) : max));
    if (all.n > max)
        buf_addz(out, cut);
    buf_release(&all);
}
