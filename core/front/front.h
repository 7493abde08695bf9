/* SPDX-License-Identifier: MIT */
/*
 * A front-end is a folder below core/front that speaks one protocol to clients: it
 * decodes what they send, has the engine or the action room do it, and encodes the result
 * in the words of its protocol. Each defines `const struct front front_NAME` and has the
 * line FRONT(NAME) in front/fronts.def. front/fronts.c calls front-ends only through that
 * struct; a function or table that a front-end does not need is NULL.
 *
 *   worker starts  open, in the order of fronts.def: earlier ones can be looked up
 *                  take, for each descriptor that the keeper holds
 *                  load, before the engine resumes; start, after it. Both in the opposite
 *                  order, so that a watcher is there before what it watches
 *   worker ends    close and drain, in the opposite order; then flush, if the server ends
 *
 * core/README.md says what adding one takes.
 */
#ifndef OD_FRONT_FRONT_H
#define OD_FRONT_FRONT_H

#include "base/buf.h"
#include "base/json.h"
#include "base/option.h"
#include "access/door.h"
#include "http/httpd.h"

struct access;
struct engine;
struct fronts;
struct program; /* front/program.h */

struct front {
    const char *name; /* "v0"; also in --listen v0@ADDRESS */
    /* Another name for --listen, which says whose protocol it is: "openhands-v0"; NULL:
     * none. */
    const char *also;
    /* Its options of od serve, checked and stored before there is a worker. */
    const struct option_table *options;
    /* Prefixes of the states that it stores at the keeper, such as "v0/"; NULL ends the
     * list. */
    const char *const *claims;
    /* Appends the version of each of these states, as "v0 1.32": a worker that does not
     * know them cannot take over. */
    void (*format)(struct buf *out);
    /*
     * Returns the front-end's object, which lasts as long as the process, or NULL if
     * these options do not need the front-end: then no other function is called. options:
     * what od serve stored (applets/serve.c), with the sections of all front-ends; valid
     * only during the call.
     */
    void *(*open)(struct fronts *all, const struct json *options);
    /*
     * Returns table i of its routes, or NULL after the last one. With f NULL, the tables
     * have no arg and are only for listing. The fail of the first table writes its
     * refusals.
     */
    const struct http_front *(*http)(const void *f, unsigned i);
    /* The same for its own listeners, if paths differ there; NULL: http's. */
    const struct http_front *(*own)(const void *f, unsigned i);
    /* Programs that a link to this file replaces, by argv[0]: each translates its own
     * command line into options of od serve. A row without a name ends the list; NULL:
     * none. */
    const struct program *programs;
    /* What od serve prints about each of its own listeners: "AVAILABLE is available at
     * http://ADDRESS", for which callers of these programs wait. NULL: nothing. */
    const char *available;
    /* Its routes are also served at --listen ADDRESS, together with those of the other
     * native front-ends: no two of these may be the same. */
    bool native;
    /*
     * The member of its stored options, such as "auth_token", that is a key for its own
     * listeners (NAME@ADDRESS), in addition to the keys that count everywhere. NULL:
     * none.
     */
    const char *key;
    /* Another front-end: its keys also count at this one's listeners, and this one's
     * tables may contain its. NULL: none. */
    const struct front *shares;
    /*
     * The member of its stored options, a bool such as "open", that lets its own
     * listeners work without a key where others can reach them, even if the server has
     * keys. Names in Host are accepted as with --insecure-open. NULL: none.
     */
    const char *keyless;
    /* At its own listeners: where its requests may have a proof, and the words of a
     * refusal (access/door.h). NULL: door_native. */
    const struct door *door;
    /* At its own listeners: this, as "/user/me", is removed from paths that begin with it
     * and a slash. Returns NULL for none; borrowed for the life of f. May be NULL. */
    const char *(*base)(const void *f);
    /*
     * There, for each request, before its key is judged: adds fields that every answer
     * has, such as those of CORS. Returns true if it answered r because r was only a
     * preflight. NULL: none.
     */
    bool (*preflight)(void *f, struct req *r);
    /*
     * There, for each request whose key counts, before its route runs: returns true if it
     * answered r instead of the route, because the server is not ready. NULL: never.
     */
    bool (*instead)(void *f, struct req *r);
    /*
     * Serves requests for the hosts of apps (--preview-host) at native listeners, which
     * do not reach any route: passes r to port, or, if status is not 0, refuses r with
     * that status and text. port 0: the host's number is not a port. At most one
     * front-end has it.
     */
    void (*app)(void *f, struct req *r, uint16_t port, int status, const char *text);
    /* At its own listeners: answers a request that is refused, with this status and text
     * unless it has better ones. NULL: the fail of its first table does this. */
    void (*refuse)(void *f, struct req *r, enum refusal why, int status,
                   const char *text);
    /* At its own listeners: conns_max and the timeouts of connections; other members are
     * not used. NULL: the same as elsewhere. */
    const struct httpd_config *limits;
    /*
     * It decides by itself which requests are allowed, and takes its own listeners, which
     * are held as "NAME ADDRESS": TCP on this machine, without TLS. Otherwise
     * front/guard.h does both.
     */
    bool guards;
    /*
     * Takes a descriptor that the keeper holds under this name. Returns false if it
     * belongs to another front-end.
     */
    bool (*take)(void *f, struct str name, int fd);
    /* All states are in engine.states, and nothing has resumed. */
    void (*load)(void *f);
    /* The engine has resumed; requests follow. */
    void (*start)(void *f);
    /* This worker ends. another: true if a new worker follows, false if the server
     * ends. */
    void (*close)(void *f, bool another);
    /* Answers requests in flight, then calls fn once. */
    void (*drain)(void *f, void (*fn)(void *arg), void *arg);
    /*
     * The server ends, and drain is over: sends what is still to be sent without a
     * request. Calls fn once, within LIMIT_BUS_FLUSH_MS.
     */
    void (*flush)(void *f, void (*fn)(void *arg), void *arg);
    /* Appends Prometheus' lines for GET /metrics, each metric with HELP and TYPE. */
    void (*metrics)(const void *f, struct buf *out);
    /* Returns an object for `od serve --status`, shown under its name; the caller owns
     * it. NULL: nothing to show. */
    struct json *(*status)(const void *f);
};

/* All front-ends, in order; NULL ends the list. */
extern const struct front *const front_list[];

/* ---- what front-ends share ---- */

struct engine *fronts_engine(const struct fronts *all);
/* Who may use the HTTP listeners (access/access.h). Borrowed. */
struct access *fronts_access(struct fronts *all);
/* Lists or changes the keys: guard_ask of front/guard.h. */
struct json *fronts_ask_keys(struct fronts *all, const struct json *q, struct err *e);
/* Appends the host name of the app at port, by --preview-host. Returns -1 if the option
 * is not set. */
int fronts_app_host(const struct fronts *all, uint16_t port, struct buf *out);
/* {"name", "version", "socket": strings; "addresses": [string, …]}. Borrowed. */
const struct json *fronts_about(const struct fronts *all);
/* Returns the object of the front-end with this name; NULL if there is none or it is not
 * open. */
void *fronts_find(const struct fronts *all, const char *name);
/* Appends the metrics of all. */
void fronts_metrics(const struct fronts *all, struct buf *out);
/* Adds the status of each that has one to out. */
void fronts_status(const struct fronts *all, struct json *out);

#endif
