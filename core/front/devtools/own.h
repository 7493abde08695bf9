/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share.
 *
 *   front.c   the front-end: routes, options, the log
 *   wire.c    a WebSocket, with a link to a browser
 *   ask.c     a question of HTTP: /json/…, by a link that lasts as long as the answer
 *   place.c   addresses that are told
 */
#ifndef OD_FRONT_DEVTOOLS_OWN_H
#define OD_FRONT_DEVTOOLS_OWN_H

#include "access/access.h"
#include "browser/devtools.h"
#include "front/front.h"
#include "http/ws.h"
#include "setup/sandbox.h"

enum {
    DT_BROWSER = 40, /* bytes of a browser's name */
    DT_WIRES = 64,   /* WebSockets at once */
    DT_QUERY = 1024  /* bytes of what addresses that are told have after their path */
};

struct dt_front {
    struct http_front native[2], own[2]; /* for http and own of struct front */
    struct fronts *fronts;               /* borrowed */
    struct engine *en;                   /* the same */
    struct access *access;               /* the same */
    bool open;                           /* --devtools-open */
    struct list wires;                   /* struct dt_wire of wire.c, owned */
    unsigned nwires, last;               /* of these; the number of the last client */
    uint64_t in, out;                    /* messages */
};

/* A link that waits until the sandbox is ready, and for whom. Embedded. */
struct dt_user {
    struct dt_front *f;
    struct devtools_link link;
    char browser[DT_BROWSER + 1];
    unsigned number;            /* of the client */
    char key[KEY_NAME_MAX + 1]; /* the name of its key; "": none */
    struct sandbox_wait wait;
    char target[DEVTOOLS_TARGET + 1];
    bool waiting;
    /* The link could not be opened. */
    void (*failed)(struct dt_user *u, const struct err *e);
};

/* ---- front.c ---- */

void dt_fail(struct req *r, int status, const char *text);
/* Reads the browser's name of r: the parameter `browser`, else main. Returns -1 after it
 * has refused r. */
int dt_browser_of(struct req *r, char out[DT_BROWSER + 1]);
/* Reads whether the client of r may close the browser, by the parameter `close`. Returns
 * -1 after it has refused r. */
int dt_closes_of(struct req *r, bool *closes);
/* Opens u->link as soon as the sandbox is ready. */
void dt_begin(struct dt_user *u);
/* Ends both. Idempotent. */
void dt_end(struct dt_user *u);
/* Writes an event about a client. target and url may be "". */
void dt_log(const struct dt_user *u, const char *event, struct str target,
            struct str url);
/* event of struct devtools_calls for a link in a struct dt_user. */
void dt_on_event(struct devtools_link *k, const struct json *event);

/* ---- wire.c ---- */

/* The routes of WebSockets: the browser {browser}, the page {target}. */
void dt_get_browser(struct req *r);
void dt_get_page(struct req *r);
void dt_wires_close(struct dt_front *f);

/* ---- ask.c ---- */

void dt_get_version(struct req *r);
void dt_get_list(struct req *r);
void dt_get_protocol(struct req *r);
void dt_put_new(struct req *r);
void dt_get_activate(struct req *r);
void dt_get_close(struct req *r);

/* ---- place.c ---- */

/*
 * Appends the beginning of addresses that r's sender can reach: ws://HOST and the prefix
 * of a proxy, by X-Forwarded-Proto, -Host and -Prefix. They are only told to whoever sent
 * them.
 */
void dt_put_origin(const struct dt_front *f, const struct req *r, struct buf *out);
/*
 * Appends the query of these addresses: the key, if r has it in its query, and if named
 * the browser.
 */
void dt_put_query(const struct req *r, bool named, struct buf *out);

#endif
