/* SPDX-License-Identifier: MIT */
#include "http/cookies.h"

#include "base/xalloc.h"

#include <stdlib.h>

struct cookie {
    char *name, *value, *domain, *path; /* owned */
    bool host_only, secure, ends;
    time_t end;
};

struct cookies {
    struct cookie list[COOKIES_MAX]; /* the oldest first */
    unsigned n;
};

struct cookies *cookies_new(void) { return xnew(struct cookies); }

static void cookie_release(struct cookie *k)
{
    free(k->name);
    free(k->value);
    free(k->domain);
    free(k->path);
}

void cookies_free(struct cookies *c)
{
    for (unsigned i = 0; c && i < c->n; i++)
        cookie_release(&c->list[i]);
    free(c);
}

unsigned cookies_count(const struct cookies *c) { return c->n; }

static void drop(struct cookies *c, unsigned i)
{
    cookie_release(&c->list[i]);
    memmove(&c->list[i], &c->list[i + 1], (c->n - i - 1) * sizeof(c->list[0]));
    c->n--;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool same(struct str a, const char *z)
{
    if (a.n != strlen(z))
        return false;
    for (size_t i = 0; i < a.n; i++) {
        if (lower(a.p[i]) != lower(z[i]))
            return false;
    }
    return true;
}

static char *copy(struct str s, bool small)
{
    char *p = xcalloc(s.n + 1, 1);
    for (size_t i = 0; i < s.n; i++)
        p[i] = small ? lower(s.p[i]) : s.p[i];

    return p;
}

/* ---- dates: 5.1.1 ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Cuts off from min to max digits, which no further digit may follow. */
static bool number(struct str s, size_t min, size_t max, int *out)
{
    size_t n = 0;
    int v = 0;
    while (n < s.n && n < max && is_digit(s.p[n]))
        v = v * 10 + (s.p[n++] - '0');
    if (n < min || (n < s.n && is_digit(s.p[n])))
        return false;
    *out = v;
    return true;
}

static bool clock_of(struct str s, struct tm *t)
{
    struct str hour = str_cut(&s, ':'), minute = str_cut(&s, ':');
    return hour.n <= 2 && minute.n <= 2 && number(hour, 1, 2, &t->tm_hour) &&
           number(minute, 1, 2, &t->tm_min) && number(s, 1, 2, &t->tm_sec);
}

static bool month_of(struct str s, struct tm *t)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    for (int i = 0; s.n >= 3 && i < 12; i++) {
        if (lower(s.p[0]) == names[i * 3] && lower(s.p[1]) == names[i * 3 + 1] &&
            lower(s.p[2]) == names[i * 3 + 2]) {
            t->tm_mon = i;
            return true;
        }
    }
    return false;
}

static bool is_delimiter(char c)
{
    return !(is_digit(c) || c == ':' || (lower(c) >= 'a' && lower(c) <= 'z') ||
             (unsigned char)c >= 127);
}

int cookies_date(struct str text, time_t *out)
{
    bool clock = false, day = false, month = false, year = false;
    struct tm t = {0};
    for (size_t i = 0; i < text.n;) {
        size_t from = i;
        while (i < text.n && !is_delimiter(text.p[i]))
            i++;
        struct str s = str_sub(text, from, i - from);
        i += i == from;
        if (s.n == 0)
            continue;
        if (!clock && clock_of(s, &t))
            clock = true;
        else if (!day && number(s, 1, 2, &t.tm_mday))
            day = true;
        else if (!month && month_of(s, &t))
            month = true;
        else if (!year && number(s, 2, 4, &t.tm_year))
            year = true;
    }
    if (year && t.tm_year < 100)
        t.tm_year += t.tm_year < 70 ? 2000 : 1900;
    if (!clock || !day || !month || !year || t.tm_mday < 1 || t.tm_mday > 31 ||
        t.tm_year < 1601 || t.tm_hour > 23 || t.tm_min > 59 || t.tm_sec > 59)
        return -1;
    t.tm_year -= 1900;
    *out = timegm(&t);
    return 0;
}

/* ---- who gets which: 5.1.3, 5.1.4 ---- */

static bool is_address(struct str host)
{
    if (str_chr(host, ':') >= 0)
        return true;
    for (size_t i = 0; i < host.n; i++) {
        if (!is_digit(host.p[i]) && host.p[i] != '.')
            return false;
    }
    return true;
}

static bool in_domain(struct str host, struct str domain)
{
    if (host.n < domain.n)
        return false;
    struct str end = str_sub(host, host.n - domain.n, domain.n);
    for (size_t i = 0; i < end.n; i++) {
        if (lower(end.p[i]) != lower(domain.p[i]))
            return false;
    }
    return host.n == domain.n ||
           (host.p[host.n - domain.n - 1] == '.' && !is_address(host));
}

static struct str without_query(struct str path) { return str_cut(&path, '?'); }

static struct str default_path(struct str path)
{
    path = without_query(path);
    if (path.n == 0 || *path.p != '/')
        return STR("/");
    while (path.n > 1 && path.p[path.n - 1] != '/')
        path.n--;
    if (path.n > 1)
        path.n--;
    return path;
}

static bool on_path(struct str path, const char *cookie)
{
    struct str c = str_of(cookie);
    path = without_query(path);
    if (!str_starts(path, c))
        return false;
    return path.n == c.n || c.p[c.n - 1] == '/' || path.p[c.n] == '/';
}

/* ---- taking: 5.2, 5.3 ---- */

struct cookie_request {
    struct str name, value, domain, path;
    bool secure, ends;
    time_t end;
};

static void take_age(struct cookie_request *a, struct str value, time_t now)
{
    int64_t age;
    if (str_to_i64(value, &age) < 0)
        return;
    a->ends = true;
    a->end = age <= 0 ? 0 : now + (age > 400 * 86400 ? 400 * 86400 : (time_t)age);
}

static void take_attribute(struct cookie_request *a, struct str part, time_t now,
                           bool *aged)
{
    struct str name = str_trim(str_cut(&part, '='));
    struct str value = str_trim(part);
    time_t end;
    if (same(name, "max-age")) {
        take_age(a, value, now);
        *aged = a->ends;
    } else if (same(name, "expires") && !*aged && cookies_date(value, &end) == 0) {
        a->ends = true;
        a->end = end;
    } else if (same(name, "domain")) {
        a->domain = value.n && *value.p == '.' ? str_sub(value, 1, value.n) : value;
    } else if (same(name, "path")) {
        a->path = value.n && *value.p == '/' ? value : (struct str){0};
    } else if (same(name, "secure")) {
        a->secure = true;
    }
}

static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < 32 || s.p[i] == 127)
            return true;
    }
    return false;
}

static bool parse(struct cookie_request *a, struct str field, time_t now)
{
    struct str pair = str_cut(&field, ';');
    bool aged = false;
    *a = (struct cookie_request){0};
    if (str_chr(pair, '=') < 0)
        return false;
    a->name = str_trim(str_cut(&pair, '='));
    a->value = str_trim(pair);
    while (field.n)
        take_attribute(a, str_cut(&field, ';'), now, &aged);
    return a->name.n && !has_control(a->name) && !has_control(a->value) &&
           a->name.n + a->value.n <= COOKIE_BYTES_MAX && a->path.n <= 1024;
}

static bool may_set(const struct cookie_request *a, const struct cookies_where *w)
{
    bool host = str_starts(a->name, STR("__Host-"));
    if (a->domain.n && !same(a->domain, "localhost") && str_chr(a->domain, '.') < 0)
        return false;
    if (a->domain.n && !in_domain(w->host, a->domain))
        return false;
    if (a->secure && !w->secure)
        return false;
    if (host && (a->domain.n || !str_eq(a->path, STR("/"))))
        return false;
    return a->secure || (!host && !str_starts(a->name, STR("__Secure-")));
}

/* Drops an older cookie of that name, and makes room. */
static void make_room(struct cookies *c, const struct cookie *k)
{
    unsigned here = 0, oldest = 0;
    for (unsigned i = c->n; i-- > 0;) {
        const struct cookie *o = &c->list[i];
        if (strcmp(o->domain, k->domain) != 0)
            continue;
        if (strcmp(o->name, k->name) == 0 && strcmp(o->path, k->path) == 0 &&
            o->host_only == k->host_only) {
            drop(c, i);
            continue;
        }
        here++;
        oldest = i;
    }
    if (here >= COOKIES_HOST_MAX)
        drop(c, oldest < c->n ? oldest : 0);
    if (c->n >= COOKIES_MAX)
        drop(c, 0);
}

bool cookies_take(struct cookies *c, const struct cookies_where *w, struct str field,
                  time_t now)
{
    struct cookie_request a;
    if (!w->host.n || w->host.n > 255 || !parse(&a, field, now) || !may_set(&a, w))
        return false;
    struct str path = a.path.n ? a.path : default_path(w->path);
    if (path.n > 1024)
        return false;
    struct cookie k = {.name = copy(a.name, false),
                       .value = copy(a.value, false),
                       .domain = copy(a.domain.n ? a.domain : w->host, true),
                       .path = copy(path, false),
                       .host_only = !a.domain.n,
                       .secure = a.secure,
                       .ends = a.ends,
                       .end = a.end};
    make_room(c, &k);
    if (a.ends && a.end <= now)
        cookie_release(&k);
    else
        c->list[c->n++] = k;
    return true;
}

/* ---- saying: 5.4 ---- */

static bool is_meant(const struct cookie *k, const struct cookies_where *w, time_t now)
{
    if (k->ends && k->end <= now)
        return false;
    if (k->secure && !w->secure)
        return false;
    if (k->host_only ? !same(w->host, k->domain) : !in_domain(w->host, str_of(k->domain)))
        return false;
    return on_path(w->path, k->path);
}

int cookies_say(const struct cookies *c, const struct cookies_where *w, time_t now,
                struct buf *out)
{
    const struct cookie *some[COOKIES_MAX];
    unsigned n = 0;
    size_t before = out->n;
    for (unsigned i = 0; i < c->n; i++) {
        const struct cookie *k = &c->list[i];
        if (!is_meant(k, w, now))
            continue;
        unsigned at = n++;
        for (; at && strlen(some[at - 1]->path) < strlen(k->path); at--)
            some[at] = some[at - 1];
        some[at] = k;
    }
    for (unsigned i = 0; i < n; i++) {
        if (buf_addf(out, "%s%s=%s", i ? "; " : "", some[i]->name, some[i]->value) < 0) {
            buf_truncate(out, before);
            return -1;
        }
    }
    return n > 0;
}
