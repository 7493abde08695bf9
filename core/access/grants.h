/* SPDX-License-Identifier: MIT */
/*
 * What was given to somebody for a time, and can be proved by a random token: logins of
 * people, links that log in once, secrets of a listener. The keeper stores the SHA-256 of
 * tokens, so that nobody is logged out when a worker is killed.
 *
 * A browser sends a login's cookie with every request, even one made by a page of another
 * origin on the same site, such as an app at another port of this host. So a request to a
 * route with ROUTE_PAGE (door.h) needs three things:
 *
 *   cookie       LOGIN_COOKIE_PAGE, HttpOnly and SameSite=Strict
 *   Origin       if there is one, that of this server (Host, or --ui-origin)
 *   page token   in X-OD-Page: it is derived from the cookie's token, and only our page
 *                can read it, with GET /ui/session
 */
#ifndef OD_ACCESS_GRANTS_H
#define OD_ACCESS_GRANTS_H

#include "access/keys.h"
#include "io/loop.h"

struct engine;

enum {
    LOGINS_MAX = 64,      /* the oldest of the key that has the most makes room */
    LOGIN_S = 12 * 3600,  /* seconds that a login lasts, unless --login-time says */
    LOGIN_TOKEN_HEX = 64, /* digits of a token: 256 bits */
    LOGIN_ONCE_MAX = 16,  /* unused links; the oldest is dropped */
    LOGIN_ONCE_S = 600,   /* seconds that such a link counts */
    GRANT_SECRETS_MAX = 8
};

enum grant_kind { GRANT_LOGIN, GRANT_ONCE, GRANT_SECRET, GRANT_KINDS };

struct grant {
    enum grant_kind kind;
    char key[KEY_NAME_MAX + 1]; /* it ends with this key; "": it came from none */
    char at[KEY_AT_MAX + 1];    /* the listener where it counts, "NAME@"; "": all */
    enum right right;
    int64_t until_ms;               /* since 1970 */
    uint8_t hash[HASH_SHA256_SIZE]; /* of the token */
    bool secure;                    /* its browser reaches this server by TLS */
};

struct grants {
    struct engine *en; /* borrowed; NULL: they are stored nowhere, and end unnoticed */
    /* NULL: nothing. A login has ended, by its time or as another one needed its place,
     * or is ended. */
    void (*ended)(struct grants *g, const struct grant *one);
    struct timer ends; /* at the earliest end */
    /* the oldest first */
    struct grant v[LOGINS_MAX + LOGIN_ONCE_MAX + GRANT_SECRETS_MAX];
    unsigned n;
};

/* Loads what the previous worker stored. */
void grants_load(struct grants *g);
/* Returns how many of this kind count now. */
unsigned grants_count(const struct grants *g, enum grant_kind kind);
/*
 * Returns the grant of this kind and token that counts at the listener now; NULL: none.
 * Valid until the next change. All are compared, so that the time does not reveal which
 * one matches.
 */
const struct grant *grants_find(const struct grants *g, enum grant_kind kind,
                                struct str token, const char *at);
/*
 * Adds a grant like `like`, with a new token, which it writes to out as a string, and
 * stores all but secrets. Where its kind is full, the oldest of the key that has the most
 * ends.
 */
void grants_add(struct grants *g, const struct grant *like,
                char out[LOGIN_TOKEN_HEX + 1]);
/* The same for a token that is given by its SHA-256, like->hash. */
void grants_put(struct grants *g, const struct grant *like);
/* Ends one of g's. */
void grants_end(struct grants *g, const struct grant *one);
/* Ends those that came from a key. */
void grants_end_of(struct grants *g, const char *key);

/* A number for this grant, the same in each worker; not 0. */
uint64_t grant_number(const struct grant *one);

/* Makes the token of a link that logs in once with RIGHT_USE, and writes it to out. */
void grants_once(struct grants *g, char out[LOGIN_TOKEN_HEX + 1]);
/* The same for a token that is given by its SHA-256. */
void grants_put_once(struct grants *g, const uint8_t hash[HASH_SHA256_SIZE]);

#endif
