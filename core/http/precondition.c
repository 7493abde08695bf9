/* SPDX-License-Identifier: MIT */
#include "http/precondition.h"

#include "base/buf.h"
#include "http/cookies.h"

/*
 * Is the tag one of a list of entity tags, or the list "*"? A comma may be part of a tag
 * (8.8.3). weak: W/ before a tag of the list makes no difference (8.8.3.2).
 */
static bool lists_tag(struct str list, struct str tag, bool weak)
{
    if (str_eq(str_trim(list), STR("*")))
        return true;
    for (size_t i = 0; i < list.n;) {
        bool is_weak = str_starts(str_sub(list, i, list.n), STR("W/"));
        i += is_weak ? 2 : 0;
        if (i == list.n || list.p[i] != '"') {
            i++;
            continue;
        }
        size_t end = i + 1;
        while (end < list.n && list.p[end] != '"')
            end++;
        if ((weak || !is_weak) && str_eq(str_sub(list, i, end + 1 - i), tag))
            return true;
        i = end + 1;
    }
    return false;
}

/* As lists_tag, for all fields of this name. *there: whether the request has one. */
static bool field_lists(const struct http_head *h, const char *name, struct str tag,
                        bool weak, bool *there)
{
    struct buf list = BUF_INIT(HTTP_HEAD_MAX);
    *there = http_joined(h, name, &list) == 1;
    bool is = *there && lists_tag(buf_str(&list), tag, weak);
    buf_release(&list);
    return is;
}

static bool has_date(const struct http_head *h, const char *name, time_t *out)
{
    struct str text = http_field(h, name);
    return text.p && cookies_date(text, out) == 0;
}

int http_precondition(const struct http_head *h, const char *etag, time_t modified)
{
    bool reads = str_eq(h->method, STR("GET")) || str_eq(h->method, STR("HEAD")), there;
    struct str tag = str_of(etag);
    time_t since;
    bool matches = field_lists(h, "If-Match", tag, false, &there);
    if (there && !matches)
        return 412;
    if (!there && has_date(h, "If-Unmodified-Since", &since) && modified > since)
        return 412;
    matches = field_lists(h, "If-None-Match", tag, true, &there);
    if (matches)
        return reads ? 304 : 412;
    if (!there && reads && has_date(h, "If-Modified-Since", &since) && modified <= since)
        return 304;
    return 0;
}

bool http_if_range(const struct http_head *h, const char *etag, time_t modified)
{
    char date[32];
    struct str given = http_field(h, "If-Range");
    http_date(date, modified);
    return !given.p || str_eq(given, str_of(etag)) || str_eq(given, str_of(date));
}
