/* SPDX-License-Identifier: MIT */
#include "access/keys.h"

#include "base/clock.h"
#include "base/enc.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "keeper/keeper_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_TRIED = LIMIT_KEYS + 1, STATE_MAX = 64 << 10 };

const char *right_name(enum right right)
{
    static const char *const names[] = {[RIGHT_NONE] = "none",
                                        [RIGHT_VIEW] = "view",
                                        [RIGHT_SETUP] = "setup",
                                        [RIGHT_USE] = "use"};
    return names[right];
}

/* ---- the set ---- */

static struct key *find(struct keys *k, struct str name)
{
    for (size_t i = 0; i < k->nset; i++) {
        if (str_eq(name, str_of(k->set[i].name)))
            return &k->set[i];
    }
    return NULL;
}

static const struct key *put(struct keys *k, struct str name, const char *at,
                             enum right right, const uint8_t hash[HASH_SHA256_SIZE])
{
    struct key *key = &k->set[k->nset++];
    *key = (struct key){.right = right};
    snprintf(key->name, sizeof(key->name), "%.*s", STR_ARG(name));
    snprintf(key->at, sizeof(key->at), "%s", at);
    memcpy(key->hash, hash, sizeof(key->hash));
    if (k->added)
        k->added(k);
    return key;
}

int keys_begin(struct keys *k, const char *name, const char *at, struct str key,
               struct err *e)
{
    char own[KEY_NAME_MAX + 1];
    uint8_t hash[HASH_SHA256_SIZE];
    if (key.n == 0)
        return 0;
    if (key.n > LIMIT_API_KEY_MAX)
        return err_set(e, ERR_INVALID, "a key has at most %d bytes", LIMIT_API_KEY_MAX);
    if (k->nset == LIMIT_KEYS)
        return err_set(e, ERR_LIMIT, "there are %d keys already: remove one first",
                       LIMIT_KEYS);
    snprintf(own, sizeof(own), "%s", name);
    for (int i = 2; find(k, str_of(own)); i++)
        snprintf(own, sizeof(own), "%.24s-%d", name, i);
    k->v = xrealloc(k->v, k->n + 1, sizeof(*k->v));
    k->v[k->n++] = xstrndup(key.p, key.n);
    hash_sha256(key, hash);
    put(k, str_of(own), at, RIGHT_USE, hash);
    return 0;
}

void keys_init(struct keys *k, const struct json *options)
{
    struct err e = ERR_INIT;
    *k = (struct keys){.n = 0};
    keys_begin(k, "start", "", json_str(options, "api_key", ""), &e);
}

void keys_share(struct keys *k, const char *name, const char *also)
{
    ASSERT(!k->share[0][0]);
    snprintf(k->share[0], sizeof(k->share[0]), "%s@", name);
    snprintf(k->share[1], sizeof(k->share[1]), "%s@", also);
}

/* ---- what is given ---- */

static bool counts_at(const struct keys *k, const struct key *key, const char *at)
{
    size_t n = strlen(key->at);
    if (k->share[0][0] && strcmp(key->at, k->share[1]) == 0 &&
        strncmp(at, k->share[0], strlen(k->share[0])) == 0)
        return true;
    if (n > 0 && key->at[n - 1] == '@')
        return strncmp(key->at, at, n) == 0;
    return n == 0 || strcmp(key->at, at) == 0;
}

bool keys_wanted(const struct keys *k, const char *at)
{
    bool wanted = k->damaged;
    for (size_t i = 0; i < k->nset; i++)
        wanted |= counts_at(k, &k->set[i], at);
    return wanted;
}

bool keys_any(const struct keys *k) { return k->damaged || k->nset > 0; }

const struct key *keys_find(const struct keys *k, const char *at, struct str given)
{
    uint8_t hash[HASH_SHA256_SIZE];
    const struct key *found = NULL;
    hash_sha256(given, hash);
    for (size_t i = 0; i < k->nset; i++) {
        const struct key *key = &k->set[i];
        bool same = hash_equal(key->hash, hash, sizeof(hash));
        if ((same & counts_at(k, key, at)) && (!found || key->right > found->right))
            found = key;
    }
    return found;
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

/* ---- at the keeper ---- */

struct json *keys_list(const struct keys *k)
{
    struct json *list = json_array();
    for (size_t i = 0; i < k->nset; i++) {
        struct json *row = json_object();
        json_put_z(row, "name", k->set[i].name);
        json_put_z(row, "right", right_name(k->set[i].right));
        json_put_z(row, "listener", k->set[i].at);
        json_push(list, row);
    }
    return list;
}

static void store(const struct keys *k)
{
    struct json *list = keys_list(k), *row = json_first(list);
    struct buf text = BUF_INIT(STATE_MAX);
    for (size_t i = 0; i < k->nset; i++, row = json_next(row)) {
        struct buf hash = BUF_INIT(2 * HASH_SHA256_SIZE);
        enc_base64(&hash, str_n(k->set[i].hash, HASH_SHA256_SIZE));
        json_put_str(row, "sha256", buf_str(&hash));
        buf_release(&hash);
    }
    json_print(&text, list);
    BUG_ON(buf_full(&text)); /* STATE_MAX has room for LIMIT_KEYS of the longest */
    if (k->keeper)
        keeper_client_put(k->keeper, STR("keys/all"), buf_str(&text));
    buf_release(&text);
    json_free(list);
}

static int take_row(struct keys *k, const struct json *row, struct err *e)
{
    struct str name = json_str(row, "name", ""), at = json_str(row, "listener", "");
    bool view = str_eq(json_str(row, "right", ""), STR("view"));
    struct buf hash = BUF_INIT(HASH_SHA256_SIZE);
    int rc = dec_base64(&hash, json_str(row, "sha256", ""));
    if (rc < 0 || hash.n != HASH_SHA256_SIZE || name.n == 0 || name.n > KEY_NAME_MAX ||
        at.n > KEY_AT_MAX || k->nset == LIMIT_KEYS)
        rc = err_set(e, ERR_INTERNAL, "the kept keys are damaged");
    else
        put(k, name, at.p, view ? RIGHT_VIEW : RIGHT_USE, (const uint8_t *)hash.p);
    buf_release(&hash);
    return rc;
}

int keys_load(struct keys *k, struct str state, struct err *e)
{
    struct json *list = json_parse_kept(state, e);
    struct keys *next = xnew(struct keys);
    int rc = list ? 0 : -1;
    for (struct json *v = json_first(list); v && rc == 0; v = json_next(v))
        rc = take_row(next, v, e);
    if (rc == 0) {
        memcpy(k->set, next->set, sizeof(k->set));
        k->nset = next->nset;
    }
    k->loaded = rc == 0;
    k->damaged = rc < 0;
    json_free(list);
    free(next);
    return rc;
}

static bool counts(const struct keys *k, const char *at, struct str key)
{
    const struct key *found = keys_find(k, at, key);
    return found && found->right == RIGHT_USE;
}

int keys_give(struct keys *k, const char *name, const char *at, struct str key,
              struct err *e)
{
    if (counts(k, at, key))
        return 0;
    if (keys_begin(k, name, at, key, e) < 0)
        return -1;
    store(k);
    return 0;
}

int keys_again(struct keys *k, const char *name, const char *at, struct str key,
               struct err *e)
{
    return k->loaded || counts(k, at, key) ? 0 : keys_begin(k, name, at, key, e);
}

/* ---- while the server runs ---- */

static bool is_name(struct str s)
{
    bool good = s.n > 0 && s.n <= KEY_NAME_MAX;
    for (size_t i = 0; i < s.n && good; i++)
        good = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
               (s.p[i] >= '0' && s.p[i] <= '9') ||
               (i > 0 && memchr("-_.", s.p[i], 3) != NULL);
    return good;
}

const struct key *keys_add(struct keys *k, struct str name, const char *at,
                           enum right right, char out[KEY_SIZE], struct err *e)
{
    char made[KEY_NAME_MAX + 1];
    uint8_t hash[HASH_SHA256_SIZE];
    for (int i = 1; name.n == 0 && i <= NAMES_TRIED; i++) {
        snprintf(made, sizeof(made), "key-%d", i);
        if (!find(k, str_of(made)))
            name = str_of(made);
    }
    if (!is_name(name)) {
        err_set(
            e, ERR_INVALID,
            "the name of a key has 1 to %d letters, digits, \"-\", \"_\" and \".\", and "
            "begins with a letter or digit: \"%.*s\" is not one",
            KEY_NAME_MAX, (int)(name.n < 100 ? name.n : 100), name.p);
        return NULL;
    }
    if (find(k, name)) {
        err_set(e, ERR_EXISTS, "there is already a key %.*s", STR_ARG(name));
        return NULL;
    }
    if (k->nset == LIMIT_KEYS) {
        err_set(e, ERR_LIMIT, "there can be %d keys: remove one first", LIMIT_KEYS);
        return NULL;
    }
    random_hex(out, KEY_SIZE - 1);
    hash_sha256(str_of(out), hash);
    const struct key *key = put(k, name, at, right, hash);
    store(k);
    return key;
}

int keys_remove(struct keys *k, struct str name, struct err *e)
{
    struct key *key = find(k, name);
    if (!key)
        return err_set(e, ERR_NOTFOUND, "there is no key %.*s",
                       (int)(name.n < 100 ? name.n : 100), name.p);
    size_t others = 0;
    for (size_t i = 0; i < k->nset; i++)
        others += &k->set[i] != key &&
                  (!k->set[i].at[0] || strcmp(k->set[i].at, key->at) == 0);
    if (others == 0)
        return err_set(e, ERR_BUSY,
                       "the key %s is the last one of its listeners, which would be open "
                       "without it: add another one first",
                       key->name);
    memmove(key, key + 1, (size_t)(k->set + k->nset - key - 1) * sizeof(*key));
    k->nset--;
    store(k);
    return 0;
}
