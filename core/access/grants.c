/* SPDX-License-Identifier: MIT */
#include "access/grants.h"

#include "base/clock.h"
#include "base/enc.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

#define STATE "logins/all"
/* Of a login that an earlier version stored, without its key: it ends with any key. */
#define ANY_KEY "?"

enum { STATE_MAX = 64 << 10 };

static const unsigned most_of[GRANT_KINDS] = {[GRANT_LOGIN] = LOGINS_MAX,
                                              [GRANT_ONCE] = LOGIN_ONCE_MAX,
                                              [GRANT_SECRET] = GRANT_SECRETS_MAX};

/* ---- at the keeper ---- */

static void store(const struct grants *g)
{
    struct json *list = json_array();
    struct buf text = BUF_INIT(STATE_MAX);
    for (unsigned i = 0; i < g->n; i++) {
        const struct grant *one = &g->v[i];
        struct json *row = json_object();
        struct buf hash = BUF_INIT(2 * HASH_SHA256_SIZE);
        enc_base64(&hash, str_n((const char *)one->hash, sizeof(one->hash)));
        json_put_str(row, "hash", buf_str(&hash));
        json_put_int(row, "until_ms", one->until_ms);
        json_put_bool(row, "view", one->right == RIGHT_VIEW);
        json_put_bool(row, "once", one->kind == GRANT_ONCE);
        json_put_bool(row, "secure", one->secure);
        json_put_z(row, "at", one->at);
        json_put_z(row, "key", one->key);
        if (one->kind == GRANT_SECRET)
            json_free(row); /* each worker is given these */
        else
            json_push(list, row);
        buf_release(&hash);
    }
    json_print(&text, list);
    if (g->en)
        keeper_client_put(g->en->keeper, STR(STATE), buf_str(&text));
    json_free(list);
    buf_release(&text);
}

static int read_row(const struct json *row, struct grant *one)
{
    struct buf hash = BUF_INIT(HASH_SHA256_SIZE);
    int rc = dec_base64(&hash, json_str(row, "hash", ""));
    bool once = json_bool(row, "once", false);
    *one = (struct grant){.kind = once ? GRANT_ONCE : GRANT_LOGIN,
                          .until_ms = json_int(row, "until_ms", 0),
                          .right = json_bool(row, "view", true) ? RIGHT_VIEW : RIGHT_USE,
                          .secure = json_bool(row, "secure", false)};
    snprintf(one->at, sizeof(one->at), "%.*s", STR_ARG(json_str(row, "at", "")));
    snprintf(one->key, sizeof(one->key), "%.*s",
             STR_ARG(json_str(row, "key", once ? "" : ANY_KEY)));
    if (rc == 0 && hash.n == sizeof(one->hash))
        memcpy(one->hash, hash.p, sizeof(one->hash));
    else
        rc = -1;
    buf_release(&hash);
    return rc;
}

static void begin_timer(struct grants *g);

void grants_load(struct grants *g)
{
    const struct buf *kept = map_get(&g->en->states, STR(STATE));
    struct err e = ERR_INIT;
    struct json *list = kept ? json_parse_kept(buf_str(kept), &e) : NULL;
    for (const struct json *v = json_first(list); v; v = json_next(v)) {
        if (g->n < LOGINS_MAX + LOGIN_ONCE_MAX)
            g->n += read_row(v, &g->v[g->n]) == 0;
    }
    if (kept && !list)
        log_error("the logins that were kept are unreadable: %s", e.text);
    json_free(list);
    begin_timer(g);
}

/* ---- the set ---- */

static bool counts(const struct grant *one)
{
    return one->kind == GRANT_SECRET || one->until_ms > clock_wall_ms();
}

unsigned grants_count(const struct grants *g, enum grant_kind kind)
{
    unsigned n = 0;
    for (unsigned i = 0; i < g->n; i++)
        n += g->v[i].kind == kind && counts(&g->v[i]);
    return n;
}

static bool is_at(const struct grant *one, const char *at)
{
    size_t n = strlen(one->at);
    if (n > 0 && one->at[n - 1] == '@')
        return strncmp(one->at, at, n) == 0;
    return n == 0 || strcmp(one->at, at) == 0;
}

const struct grant *grants_find(const struct grants *g, enum grant_kind kind,
                                struct str token, const char *at)
{
    const struct grant *found = NULL;
    uint8_t hash[HASH_SHA256_SIZE];
    hash_sha256(token, hash);
    for (unsigned i = 0; i < g->n; i++) {
        const struct grant *one = &g->v[i];
        if (hash_equal(hash, one->hash, sizeof(hash)) & (one->kind == kind) &
            is_at(one, at) & counts(one))
            found = one;
    }
    return found;
}

static void drop(struct grants *g, unsigned i)
{
    struct grant one = g->v[i];
    memmove(&g->v[i], &g->v[i + 1], sizeof(g->v[0]) * (g->n - i - 1));
    g->n--;
    if (g->ended && one.kind == GRANT_LOGIN)
        g->ended(g, &one);
}

static void on_end(struct timer *t)
{
    struct grants *g = container_of(t, struct grants, ends);
    unsigned before = g->n;
    for (unsigned i = g->n; i-- > 0;)
        if (!counts(&g->v[i]))
            drop(g, i);
    if (g->n < before)
        store(g);
    begin_timer(g);
}

static void begin_timer(struct grants *g)
{
    int64_t first = INT64_MAX;
    for (unsigned i = 0; i < g->n; i++)
        if (g->v[i].kind != GRANT_SECRET && g->v[i].until_ms < first)
            first = g->v[i].until_ms;
    if (!g->en || first == INT64_MAX)
        return;
    int64_t left = first - clock_wall_ms();
    timer_begin(g->en->loop, &g->ends, left > 0 ? left : 0, on_end);
}

static unsigned number_of(const struct grants *g, enum grant_kind kind, const char *key)
{
    unsigned n = 0;
    for (unsigned i = 0; i < g->n; i++)
        n += g->v[i].kind == kind && (!key || strcmp(g->v[i].key, key) == 0);
    return n;
}

/* So somebody with one key cannot end what came from another one. */
static void make_room(struct grants *g, const struct grant *like)
{
    const char *key = like->key;
    unsigned most = number_of(g, like->kind, key) + 1, i = 0;
    if (number_of(g, like->kind, NULL) < most_of[like->kind])
        return;
    for (unsigned k = 0; k < g->n; k++) {
        unsigned has = number_of(g, like->kind, g->v[k].key);
        if (g->v[k].kind == like->kind && has > most) {
            most = has;
            key = g->v[k].key;
        }
    }
    bool any = most == 1; /* each key has one: the oldest of all */
    while (g->v[i].kind != like->kind || (!any && strcmp(g->v[i].key, key) != 0))
        i++;
    drop(g, i);
}

void grants_put(struct grants *g, const struct grant *like)
{
    make_room(g, like);
    g->v[g->n++] = *like;
    if (like->kind != GRANT_SECRET) /* each worker is given these, before grants_load */
        store(g);
    begin_timer(g);
}

void grants_add(struct grants *g, const struct grant *like, char out[LOGIN_TOKEN_HEX + 1])
{
    struct grant one = *like;
    memset(out, 0, LOGIN_TOKEN_HEX + 1);
    random_hex(out, LOGIN_TOKEN_HEX);
    hash_sha256(str_n(out, LOGIN_TOKEN_HEX), one.hash);
    grants_put(g, &one);
}

void grants_end(struct grants *g, const struct grant *one)
{
    bool stored = one->kind != GRANT_SECRET;
    drop(g, (unsigned)(one - g->v));
    if (stored)
        store(g);
}

void grants_end_of(struct grants *g, const char *key)
{
    for (unsigned i = g->n; i-- > 0;) {
        if (strcmp(g->v[i].key, key) == 0 || strcmp(g->v[i].key, ANY_KEY) == 0)
            drop(g, i);
    }
    store(g);
}

uint64_t grant_number(const struct grant *one)
{
    uint64_t number;
    memcpy(&number, one->hash, sizeof(number));
    return number | 1;
}

/* ---- links ---- */

static struct grant link_grant(void)
{
    return (struct grant){.kind = GRANT_ONCE,
                          .right = RIGHT_USE,
                          .until_ms = clock_wall_ms() + LOGIN_ONCE_S * 1000};
}

void grants_once(struct grants *g, char out[LOGIN_TOKEN_HEX + 1])
{
    struct grant one = link_grant();
    grants_add(g, &one, out);
}

void grants_put_once(struct grants *g, const uint8_t hash[HASH_SHA256_SIZE])
{
    struct grant one = link_grant();
    memcpy(one.hash, hash, sizeof(one.hash));
    grants_put(g, &one);
}
