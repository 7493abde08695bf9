/* SPDX-License-Identifier: MIT */
/*
 * The keys of the HTTP listeners: who may ask, where, and how much.
 *
 * A key has a name, a right, and a place: every listener, those of one front-end, or one.
 * The one of the start (--api-key, SESSION_API_KEY) is "start"; others come and go while
 * the server runs. Only their SHA-256 is kept, at the keeper, so that the next worker has
 * them and none can be read back; a key has to be long and random for that, and those
 * that are made here are. A listener where no key counts is open to all whom the guard
 * lets in, so the last key of one cannot be removed.
 */
#ifndef OD_FRONT_KEYS_H
#define OD_FRONT_KEYS_H

#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "http/httpd.h"

struct hold;

enum { KEY_NAME_MAX = 32, KEY_AT_MAX = 160, KEY_SIZE = 49 };

struct key {
    char name[KEY_NAME_MAX + 1];
    /* "": every listener; "NAME@": those of a front-end; else one, as it is named */
    char at[KEY_AT_MAX + 1];
    enum right right;
    uint8_t hash[HASH_SHA256_SIZE];
};

struct keys {
    char **v; /* owned; those of the start as they are, which no event may have */
    size_t n;
    struct key set[LIMIT_KEYS];
    size_t nset;
    struct hold *hold; /* borrowed; NULL: they are kept nowhere else */
    /* When the last wrong ones came (clock_ms, 0: never), the oldest at wrong_at. */
    int64_t wrong_ms[LIMIT_WRONG_KEYS];
    unsigned wrong_at;
    bool loaded;  /* the set is what was kept */
    bool damaged; /* what was kept cannot be read: those of the start count, and no
                     listener is open */
};

enum keys_given {
    KEYS_NONE_NEEDED,
    KEYS_RIGHT,
    KEYS_WRONG,
    KEYS_MISSING,
    KEYS_DOUBLED /* a field that may have one is there twice */
};

/* options: {"api_key": string}; "" does not count. */
void keys_init(struct keys *k, const struct json *options);
/* One more of the start, for the listeners at. The caller's text; "" does not count. */
void keys_begin(struct keys *k, const char *name, const char *at, struct str key);
/*
 * A key that a client gives while the server runs, as a front-end's POST /init: it counts
 * from now on, unless it does already, and all are stored. To be called before the
 * front-end stores on its own side that there is such a key.
 */
void keys_give(struct keys *k, const char *name, const char *at, struct str key);
/* The same key at the next worker: one that was removed meanwhile does not count. */
void keys_again(struct keys *k, const char *name, const char *at, struct str key);
/*
 * Keys that a previous worker stored, if any, replace those of the start: one of these
 * that was removed stays removed. Returns 0, or -1 and sets *e: state is damaged, those
 * of the start count, and every listener wants a key.
 */
int keys_load(struct keys *k, struct str state, struct err *e);

/* Does any key count at the listener? */
bool keys_wanted(const struct keys *k, const char *at);
/*
 * What the key may do at the listener; RIGHT_NONE: it is none of those. All are compared,
 * and the time does not tell with which it agrees.
 */
enum right keys_right(const struct keys *k, const char *at, struct str given);
/*
 * For a front-end that has its key in a place of its own: what given, the key of r (p
 * NULL: it has none), means where r came from, and in *right what it may do.
 */
enum keys_given keys_judge(const struct keys *k, const struct req *r, struct str given,
                           enum right *right);
/*
 * The same of what the request carries: X-Session-API-Key, or without one Authorization:
 * Bearer (RFC 6750 2.1). Each at most once, whichever counts: with two, a proxy in
 * between may have looked at the other one.
 */
enum keys_given keys_of(const struct keys *k, const struct req *r, enum right *right);
/*
 * Notes a wrong key at now (clock_ms). Returns false if LIMIT_WRONG_KEYS came within the
 * second before it: the answer is 429. One limit for all listeners and ways. A right key
 * is never refused by it, as any client could then lock out the key's owner: so it slows
 * guessing down, and only a long random key makes guessing hopeless.
 */
bool keys_wrong(struct keys *k, int64_t now);

/* ---- while the server runs ---- */

/*
 * Makes a key with this name ("": one is made up) for the listeners at, writes it to out,
 * a string, and stores all. Returns the key's row, valid until the set changes; NULL and
 * sets *e: INVALID, such a name cannot be; EXISTS, there is one; LIMIT, there are
 * LIMIT_KEYS.
 */
const struct key *keys_add(struct keys *k, struct str name, const char *at,
                           enum right right, char out[KEY_SIZE], struct err *e);
/*
 * Removes the key of this name and stores the others. Returns 0, or -1 and sets *e:
 * NOTFOUND; BUSY, it is the last one of its listeners. It counts for no request from now
 * on; what it opened goes on.
 */
int keys_remove(struct keys *k, struct str name, struct err *e);
/* [{"name", "right": "view" or "use", "listener": string}, …]; the caller's. */
struct json *keys_list(const struct keys *k);
const char *right_name(enum right right);

#endif
