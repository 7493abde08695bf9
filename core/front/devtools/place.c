/* SPDX-License-Identifier: MIT */
/* Addresses as the sender of a request sees them. */
#include "front/devtools/own.h"

#include <string.h>
#include <strings.h>

/* The first value of a field that proxies append to, if it has only these characters. */
static struct str plain_field(const struct req *r, const char *name, const char *marks)
{
    struct str all = req_header(r, name), value = str_trim(str_cut(&all, ','));
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];
        if (!(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z') &&
            !(c && strchr(marks, c)))
            return STR("");
    }
    return value;
}

static struct str prefix_of(const struct dt_front *f, const struct req *r)
{
    struct str prefix = plain_field(r, "X-Forwarded-Prefix", "/-._~%");
    if (prefix.n == 0 || prefix.p[0] != '/')
        prefix = str_of(access_prefix(f->access));
    while (prefix.n > 0 && prefix.p[prefix.n - 1] == '/')
        prefix.n--;
    return prefix;
}

void dt_put_origin(const struct dt_front *f, const struct req *r, struct buf *out)
{
    struct str proto = plain_field(r, "X-Forwarded-Proto", "");
    struct str host = plain_field(r, "X-Forwarded-Host", ".-_:[]");
    bool tls = proto.n == 5 && strncasecmp(proto.p, "https", 5) == 0;
    if (proto.n == 0)
        tls = req_is_secure(r);
    if (host.n == 0)
        host = req_head(r)->host;
    buf_addz(out, tls ? "wss://" : "ws://");
    buf_adds(out, host.n ? host : STR("localhost"));
    buf_adds(out, prefix_of(f, r));
}

void dt_put_query(const struct req *r, bool named, struct buf *out)
{
    struct str query = req_head(r)->query;
    char mark = '?';
    while (query.n > 0) {
        struct str one = str_cut(&query, '&');
        if (!str_starts(one, STR("api_key=")) && !str_eq(one, STR("close=browser")) &&
            !(named && str_starts(one, STR("browser="))))
            continue;
        buf_addc(out, mark);
        buf_adds(out, one);
        mark = '&';
    }
}
