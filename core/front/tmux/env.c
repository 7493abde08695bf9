/* SPDX-License-Identifier: MIT */
#include "front/tmux/env.h"

#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>

void env_release(struct env *e)
{
    for (size_t i = 0; i < e->n; i++) {
        free(e->v[i].name);
        free(e->v[i].value);
    }
    free(e->v);
    *e = (struct env){0};
}

static int compare(struct str a, const char *b)
{
    size_t n = strlen(b), least = a.n < n ? a.n : n;
    int r = memcmp(a.p, b, least);
    return r ? r : a.n < n ? -1 : a.n > n;
}

/* Where name is, or would be. */
static size_t place(const struct env *e, struct str name, bool *there)
{
    size_t low = 0, high = e->n;
    *there = false;
    while (low < high && !*there) {
        size_t mid = (low + high) / 2;
        int r = compare(name, e->v[mid].name);
        *there = r == 0;
        if (r > 0)
            low = mid + 1;
        else
            high = mid;
        if (r == 0)
            low = mid;
    }
    return low;
}

void env_set(struct env *e, struct str name, struct str value, bool hidden)
{
    bool there;
    size_t at = place(e, name, &there);
    if (!there) {
        if (e->n == e->cap) {
            e->cap = e->cap ? e->cap * 2 : 32;
            e->v = xrealloc(e->v, e->cap, sizeof(*e->v));
        }
        memmove(e->v + at + 1, e->v + at, (e->n - at) * sizeof(*e->v));
        e->v[at] = (struct env_var){.name = xstrndup(name.p, name.n)};
        e->n++;
    }
    free(e->v[at].value);
    e->v[at].value = value.p ? xstrndup(value.p, value.n) : NULL;
    e->v[at].hidden = hidden;
}

void env_unset(struct env *e, struct str name)
{
    bool there;
    size_t at = place(e, name, &there);
    if (!there)
        return;
    free(e->v[at].name);
    free(e->v[at].value);
    e->n--;
    memmove(e->v + at, e->v + at + 1, (e->n - at) * sizeof(*e->v));
}

const struct env_var *env_find(const struct env *e, struct str name)
{
    bool there;
    size_t at = place(e, name, &there);
    return there ? &e->v[at] : NULL;
}

void env_copy(struct env *to, const struct env *from)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct env_var *v = &from->v[i];
        env_set(to, str_of(v->name), v->value ? str_of(v->value) : (struct str){NULL, 0},
                v->hidden);
    }
}

void env_put(const struct env *e, struct buf *out)
{
    for (size_t i = 0; i < e->n; i++) {
        if (!e->v[i].value || e->v[i].hidden)
            continue;
        buf_addf(out, "%s=%s", e->v[i].name, e->v[i].value);
        buf_addc(out, '\0');
    }
}

struct json *env_pack(const struct env *e)
{
    struct json *all = json_array();
    for (size_t i = 0; i < e->n; i++) {
        struct json *j = json_object();
        json_put_z(j, "n", e->v[i].name);
        if (e->v[i].value)
            json_put_z(j, "v", e->v[i].value);
        if (e->v[i].hidden)
            json_put_bool(j, "h", true);
        json_push(all, j);
    }
    return all;
}

void env_unpack(struct env *e, const struct json *j)
{
    for (const struct json *v = json_first(j); v; v = json_next(v)) {
        struct str none = {NULL, 0};
        env_set(e, json_str(v, "n", ""), json_has(v, "v") ? json_str(v, "v", "") : none,
                json_bool(v, "h", false));
    }
}
