/* SPDX-License-Identifier: MIT */
/* Keys and grants of a worker: how they begin, and how they end. */
#include "access/own.h"

#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

/* What a login opened ends with it. */
static void on_ended(struct grants *g, const struct grant *one)
{
    visit_end_all(container_of(g, struct access, grants), NULL, grant_number(one));
}

/* What was open to everybody ends where a key is wanted now. */
static void on_added(struct keys *k)
{
    visit_end_keyless(container_of(k, struct access, keys));
}

struct access *access_open(struct engine *en, const struct json *options)
{
    struct access *a = xnew(struct access);
    struct str cors = json_str(options, "cors_origin", "");
    a->en = en;
    a->grants.en = en;
    a->grants.ended = on_ended;
    a->login_ms = json_int(options, "login_ms", LOGIN_S * 1000);
    hosts_init(&a->hosts, options);
    keys_init(&a->keys, options);
    a->keys.keeper = en->keeper;
    a->keys.added = on_added;
    a->cors = xstrndup(cors.p, cors.n);
    a->origin = xstrndup("", 0);
    a->prefix = xstrndup("", 0);
    list_init(&a->visitors);
    list_init(&a->watches);
    list_init(&a->entrances);
    return a;
}

void access_load(struct access *a)
{
    struct err e = ERR_INIT;
    const struct buf *kept = map_get(&a->en->states, STR("keys/all"));
    if (kept && keys_load(&a->keys, buf_str(kept), &e) < 0)
        log_error("%s: only those of the start count", e.text);
    grants_load(&a->grants);
}

bool access_keyed(const struct access *a, const char *at)
{
    return keys_wanted(&a->keys, at);
}

bool access_is_key(const struct access *a, const char *at, struct str value)
{
    return keys_find(&a->keys, at, value) != NULL;
}

size_t access_keys_left(const struct access *a) { return LIMIT_KEYS - a->keys.nset; }

int access_begin(struct access *a, const char *name, const char *at, struct str key,
                 struct err *e)
{
    return keys_begin(&a->keys, name, at, key, e);
}

int access_give(struct access *a, const char *name, const char *at, struct str key,
                struct err *e)
{
    return keys_give(&a->keys, name, at, key, e);
}

int access_give_again(struct access *a, const char *name, const char *at, struct str key,
                      struct err *e)
{
    return keys_again(&a->keys, name, at, key, e);
}

void access_secret(struct access *a, const char *at, struct str secret)
{
    struct grant one = {.kind = GRANT_SECRET, .right = RIGHT_SETUP};
    for (unsigned i = a->grants.n; i-- > 0;) {
        const struct grant *old = &a->grants.v[i];
        if (old->kind == GRANT_SECRET && strcmp(old->at, at) == 0)
            grants_end(&a->grants, old);
    }
    if (secret.n == 0)
        return;
    snprintf(one.at, sizeof(one.at), "%s", at);
    hash_sha256(secret, one.hash);
    grants_put(&a->grants, &one);
}

void access_on_gone(struct access *a, struct access_watch *w)
{
    list_add_tail(&a->watches, &w->node);
}

int access_remove_key(struct access *a, struct str name, struct err *e)
{
    char gone[KEY_NAME_MAX + 1];
    struct list *it, *tmp;
    snprintf(gone, sizeof(gone), "%.*s", STR_ARG(name));
    if (keys_remove(&a->keys, name, e) < 0)
        return -1;
    grants_end_of(&a->grants, gone);
    visit_end_all(a, gone, 0);
    list_each (it, tmp, &a->watches) {
        struct access_watch *w = list_entry(it, struct access_watch, node);
        w->gone(w, gone);
    }
    return 0;
}
