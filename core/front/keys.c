/* SPDX-License-Identifier: MIT */
#include "front/keys.h"

#include "base/hash.h"
#include "base/xalloc.h"

#include <strings.h>

static void add(struct keys *k, struct str key)
{
    if (key.n == 0 || key.n > LIMIT_API_KEY_MAX)
        return;
    k->v = xrealloc(k->v, k->n + 1, sizeof(*k->v));
    k->v[k->n++] = xstrndup(key.p, key.n);
}

void keys_init(struct keys *k, const struct json *options)
{
    *k = (struct keys){0};
    add(k, json_str(options, "api_key", ""));
    for (struct json *v = json_first(json_get(options, "api_keys")); v; v = json_next(v))
        add(k, json_str_value(v, ""));
}

bool keys_has(const struct keys *k, struct str given)
{
    bool found = false;
    for (size_t i = 0; i < k->n; i++)
        found |= strlen(k->v[i]) == given.n && hash_equal(k->v[i], given.p, given.n);
    return found;
}

static unsigned count(const struct req *r, const char *name)
{
    const struct http_head *h = req_head(r);
    unsigned n = 0;
    for (int i = 0; i < h->nfields; i++)
        n += h->fields[i].name.n == strlen(name) &&
             strncasecmp(h->fields[i].name.p, name, strlen(name)) == 0;
    return n;
}

enum keys_given keys_of(const struct keys *k, const struct req *r)
{
    static const struct str bearer = STR("Bearer ");
    if (k->n == 0)
        return KEYS_NONE_NEEDED;
    if (count(r, "X-Session-API-Key") > 1 || count(r, "Authorization") > 1)
        return KEYS_DOUBLED;
    struct str key = req_header(r, "X-Session-API-Key");
    struct str other = req_header(r, "Authorization");
    if (!key.p && other.n > bearer.n && strncasecmp(other.p, bearer.p, bearer.n) == 0)
        key = str_trim(str_sub(other, bearer.n, other.n));
    if (!key.p)
        return KEYS_MISSING;
    return keys_has(k, key) ? KEYS_RIGHT : KEYS_WRONG;
}

bool keys_wrong(struct keys *k, int64_t now)
{
    int64_t *oldest = &k->wrong_ms[k->wrong_at];
    if (*oldest && now - *oldest < 1000)
        return false;
    *oldest = now;
    k->wrong_at = (k->wrong_at + 1) % LIMIT_WRONG_KEYS;
    return true;
}
