/* SPDX-License-Identifier: MIT */
/*
 * A front-end's door: where its requests may carry a proof that their sender may do
 * something, as a table. A front-end has no code that gives a right: judge.c reads the
 * table, compares, and gives the request its right before any handler has it.
 *
 *   static const struct proof proofs[] = {
 *       {.place = PROOF_FIELD, .name = "X-Access-Token"},
 *       {.place = PROOF_BEARER, .name = "Authorization"},
 *       {.place = PROOF_MESSAGE, .name = "api_key", .on = ROUTE_MESSAGE},
 *       {.place = PROOF_END}};
 *   static const struct door door = {.proofs = proofs, .missing = 401, .wrong = 401};
 *
 * The rule, for all: every proof that a request has is looked at. A field or parameter
 * that is there twice is refused. The strongest right that counts at this listener and
 * route is the request's. It is refused as wrong only if nothing counts; but each value
 * that is none, beside a proof of less than every right, counts as a wrong key.
 */
#ifndef OD_ACCESS_DOOR_H
#define OD_ACCESS_DOOR_H

#include "base/buf.h"
#include "http/httpd.h"

#include <sys/types.h>

/* Marks of routes (struct route.marks): the proofs that count there beside the others. */
enum {
    ROUTE_PAGE = 1,    /* a person's cookie with its page token, from our own page */
    ROUTE_COOKIE = 2,  /* the cookie alone: the route changes nothing */
    ROUTE_MESSAGE = 4, /* it opens a WebSocket, whose first message may have the proof */
    ROUTE_PATH = 8,    /* the second segment of its path may have an app's token */
    ROUTE_LOGIN = 16,  /* its body has the proof: the handler calls access_late */
    ROUTE_SIGNED = 32, /* a signed address */
    ROUTE_SETUP = 64,  /* the secret, or the body's token, of a first call */
    ROUTE_LOCAL = 128, /* a program of the sandbox's user, by the kernel */
    ROUTE_QUERY = 512, /* the key may be in the query: clients that take only a URL */
    ROUTE_BROWSERS = 256 /* browsers may ask also where there is no key; being without a
                            key gives no right there */
};

enum proof_place {
    PROOF_END,
    PROOF_FIELD,   /* a field of the head */
    PROOF_BEARER,  /* the same, "Bearer VALUE" (RFC 6750 2.1) */
    PROOF_QUERY,   /* a parameter of the query */
    PROOF_COOKIE,  /* each cookie of the name is tried */
    PROOF_PATH,    /* PORT~TOKEN, the second segment */
    PROOF_BODY,    /* a member of the body: access_late */
    PROOF_MESSAGE, /* a member of the first message of a WebSocket: guest_says */
    PROOF_PEER     /* who holds the other end of the connection, on this machine */
};

/* What the value is compared with. */
enum proof_kind {
    PROOF_KEY,    /* the keys that count at the listener */
    PROOF_LOGIN,  /* logins: the value is the token of the cookie `name` */
    PROOF_TOKEN,  /* page tokens of the cookie `cookie`, which the request has, too */
    PROOF_APP,    /* tokens of apps, each of one login and port */
    PROOF_ONCE,   /* links that log in once */
    PROOF_SECRET, /* secrets that the listener was given: access_secret */
    PROOF_DERIVED /* `derive` returns what a holder of a key would have sent */
};

struct proof {
    enum proof_place place;
    const char *name; /* of the field, parameter, cookie or member */
    enum proof_kind kind;
    const char *scheme; /* PROOF_BEARER: the word and its blank; NULL: "Bearer " */
    const char *cookie; /* PROOF_TOKEN: whose page token it is */
    unsigned on;        /* routes with one of these marks; 0: all */
    bool reads;         /* it counts for GET and HEAD only, at all routes */
    bool empty_is_none; /* an empty value is as none, and not wrong */
    /*
     * PROOF_DERIVED: writes what r would have if its sender had the key that is returned;
     * p NULL: r cannot have such a proof. It decides nothing, and keeps nothing.
     */
    struct str (*derive)(void *f, const struct req *r, struct buf *out);
    /* PROOF_PEER: is uid the sandbox's user? */
    bool (*is_user)(void *f, uid_t uid);
};

struct door {
    const struct proof
        *proofs;        /* ends with PROOF_END; must be the same for all its life */
    int missing, wrong; /* statuses of these refusals; 0: 403 */
    const char *missing_text, *wrong_text; /* NULL: "Invalid API Key" */
    /* May pages of this origin use the listener? NULL: only our own and --cors-origin. */
    bool (*page_may)(void *f, const struct req *r, struct str origin);
};

/* The door of the native set, and of front-ends that have none of their own. */
extern const struct door door_native;

/* Why a request is refused before any handler has it. */
enum refusal {
    REFUSE_NOT,     /* it is allowed */
    REFUSE_MISSING, /* it has no key */
    REFUSE_WRONG,   /* its key does not count here */
    REFUSE_DOUBLED, /* it has two keys */
    REFUSE_MANY,    /* too many wrong keys arrived within a second */
    REFUSE_RIGHT,   /* its key may not do that */
    REFUSE_PAGE,    /* a web page sent it, and there is no key */
    REFUSE_BROWSER, /* a browser sent it, and there is no key */
    REFUSE_OPAQUE,  /* sent by a page of an opaque origin, such as an app's
                     * (front/proxy) */
    REFUSE_HOST,    /* its Host is not a name of ours, and there is no key */
    REFUSE_CROWD    /* too many WebSockets wait for their key */
};

/* ---- open routes ---- */

enum open_when {
    OPEN_NO,
    OPEN_ALWAYS,           /* for everybody */
    OPEN_UNTIL_KEYED,      /* while the server has no key and its listener no secret */
    OPEN_LOCAL_UNTIL_KEYED /* the same, and only for programs of this machine */
};

/* A row of access/open.def, which lists all routes that need no proof. */
struct open_row {
    const char *front;
    unsigned methods;
    const char *path;
    enum open_when when;
    const char *because, *changes; /* changes: "nothing", or what a stranger may change */
};

extern const struct open_row open_rows[]; /* front NULL ends it */

/* Returns the row of a front-end's route; NULL: it is not open. */
const struct open_row *open_find(const char *front, const struct route *t);

#endif
