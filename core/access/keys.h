/* SPDX-License-Identifier: MIT */
/*
 * The keys of the HTTP listeners: which requests are allowed where, and what they may do.
 *
 * A key has a name, a right, and a place: every listener, those of one front-end, or one.
 * The key of the start (--api-key, SESSION_API_KEY) is "start"; others are added and
 * removed while the server runs. The keeper stores only their SHA-256, so that the next
 * worker has them and no key can be read back; for that a key must be long and random, as
 * those made here are. A listener where no key counts is open to all that the judge lets
 * in, so the last key of a listener cannot be removed.
 */
#ifndef OD_ACCESS_KEYS_H
#define OD_ACCESS_KEYS_H

#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "http/grant.h"

struct keeper_client;

enum { KEY_NAME_MAX = REQ_KEY_MAX, KEY_AT_MAX = 160, KEY_SIZE = 49 };

struct key {
    char name[KEY_NAME_MAX + 1];
    /* "": every listener; "NAME@": those of a front-end; else the name of one listener */
    char at[KEY_AT_MAX + 1];
    enum right right;
    uint8_t hash[HASH_SHA256_SIZE];
};

struct keys {
    char **v; /* owned; keys of the start in plain text, which no event may contain */
    size_t n;
    struct key set[LIMIT_KEYS];
    size_t nset;
    struct keeper_client *keeper;    /* borrowed; NULL: they are stored nowhere else */
    void (*added)(struct keys *k);   /* NULL: nothing. A key counts that did not before */
    char share[2][KEY_NAME_MAX + 1]; /* keys_share; "": none */
    /* Times of the last wrong keys (clock_ms, 0: never), the oldest at wrong_at. */
    int64_t wrong_ms[LIMIT_WRONG_KEYS];
    unsigned wrong_at;
    bool loaded;  /* the set was loaded from what is stored */
    bool damaged; /* what is stored cannot be read: those of the start count, and no
                   * listener is open */
};

/* options: {"api_key": string}; "" does not count. */
void keys_init(struct keys *k, const struct json *options);
/*
 * Adds a key of the start, for the listeners at; if the name is in use, with a number
 * behind it. Copies key; "" does not count. Returns 0, or -1 and sets *e: INVALID, it is
 * longer than LIMIT_API_KEY_MAX; LIMIT, there are LIMIT_KEYS.
 */
int keys_begin(struct keys *k, const char *name, const char *at, struct str key,
               struct err *e);
/*
 * Adds a key that a client sends while the server runs, as in a front-end's POST /init,
 * unless it counts already, and stores all keys. To be called before the front-end stores
 * on its own side that there is such a key. Returns as keys_begin.
 */
int keys_give(struct keys *k, const char *name, const char *at, struct str key,
              struct err *e);
/* Adds the same key in the next worker, except if it was removed meanwhile. */
int keys_again(struct keys *k, const char *name, const char *at, struct str key,
               struct err *e);
/* From now on, keys for all listeners "ALSO@" count at those of "NAME@", too. Once. */
void keys_share(struct keys *k, const char *name, const char *also);
/*
 * Replaces the keys of the start with those that a previous worker stored, if any, so
 * that a removed key of the start stays removed. Returns 0, or -1 and sets *e if state is
 * damaged: then the keys of the start count, and every listener needs a key.
 */
int keys_load(struct keys *k, struct str state, struct err *e);

/* Does any key count at the listener? */
bool keys_wanted(const struct keys *k, const char *at);
/* Is there any key, whichever listener it is for? */
bool keys_any(const struct keys *k);
/*
 * Returns the key that counts at the listener and is the given text, the strongest if
 * there are several; NULL: none. Valid until the set changes. All keys are compared, so
 * that the time does not reveal which one matches.
 */
const struct key *keys_find(const struct keys *k, const char *at, struct str given);
/*
 * Notes a wrong key at now (clock_ms). Returns false if LIMIT_WRONG_KEYS arrived within
 * the second before it: the answer is 429. There is one limit for all listeners and
 * places of a key. It never refuses a right key, or else any client could lock out the
 * key's owner: so it only slows guessing down, and only a long random key makes guessing
 * hopeless.
 */
bool keys_wrong(struct keys *k, int64_t now);

/* ---- while the server runs ---- */

/*
 * Makes a key with this name ("": a new name) for the listeners at, writes it to out as a
 * string, and stores all keys. Returns the key's row, valid until the set changes; or
 * NULL and sets *e: INVALID, the name is not valid; EXISTS, it is in use; LIMIT, there
 * are LIMIT_KEYS.
 */
const struct key *keys_add(struct keys *k, struct str name, const char *at,
                           enum right right, char out[KEY_SIZE], struct err *e);
/*
 * Removes the key of this name and stores the others. Returns 0, or -1 and sets *e:
 * NOTFOUND; BUSY, it is the last one of its listeners. What came from it ends by
 * access_remove_key (access/access.h).
 */
int keys_remove(struct keys *k, struct str name, struct err *e);
/* [{"name", "right": "view" or "use", "listener": string}, …]; the caller's. */
struct json *keys_list(const struct keys *k);
const char *right_name(enum right right);

#endif
