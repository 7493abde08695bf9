/* SPDX-License-Identifier: MIT */
/*
 * A front-end is a folder below core/front that speaks one protocol to clients: it
 * decodes what they send, has the engine or the action room do it, and encodes the result
 * in its protocol's words. Each defines `const struct front front_NAME` and has the line
 * FRONT(NAME) in front/fronts.def. front/fronts.c calls them and knows nothing else of
 * them; a function or table that a front-end does not need is NULL.
 *
 *   worker starts  open, in the order of fronts.def: what stands above can be looked up
 *                  take, for each descriptor that the keeper holds
 *                  load, before the engine resumes; start, after it. Both in the opposite
 *                  order, so that one which watches another is there first
 *   worker ends    close and drain, in the opposite order; then flush, if the server ends
 *
 * Adding one takes its folder, its line in fronts.def and its room in build/rooms.
 */
#ifndef OD_FRONT_FRONT_H
#define OD_FRONT_FRONT_H

#include "base/buf.h"
#include "base/json.h"
#include "base/option.h"
#include "front/keys.h"
#include "http/httpd.h"

struct engine;
struct fronts;
struct logins;
struct program; /* front/program.h */

/* Why a request is refused before any handler has it. */
enum refusal {
    REFUSE_MISSING, /* it has no key */
    REFUSE_WRONG,   /* its key is none of those that count here */
    REFUSE_DOUBLED, /* it has its key twice */
    REFUSE_MANY,    /* too many wrong keys came just now */
    REFUSE_RIGHT,   /* its key may not do that */
    REFUSE_PAGE,    /* a web page sent it, and there is no key */
    REFUSE_BROWSER, /* a browser did */
    REFUSE_OPAQUE,  /* a page of an opaque origin did, such as an app's (front/proxy) */
    REFUSE_HOST     /* its Host is not a name of ours, and there is no key */
};

struct front {
    const char *name; /* "v0"; also in --listen v0@ADDRESS */
    /* Its options of od serve, checked and stored before there is a worker. */
    const struct option_table *options;
    /* Prefixes of the states that it keeps at the keeper, as "v0/"; NULL ends them. */
    const char *const *claims;
    /* Appends what a worker must know to take up these states, as "v0 1.32". */
    void (*format)(struct buf *out);
    /*
     * Returns its object, which lasts as long as the process; NULL: these options ask for
     * nothing of it, and no other function gets called. options: what od serve stored
     * (applets/serve.c), read once: the sections of all, its own among them.
     */
    void *(*open)(struct fronts *all, const struct json *options);
    /*
     * Returns its table number i of routes, NULL after the last one. f NULL: the same
     * without an arg, to list them. The fail of the first table is its refusal.
     */
    const struct http_front *(*http)(const void *f, unsigned i);
    /* Programs that a link to this file stands in for, by argv[0]: each reads its own
     * command line as options of od serve. A row without a name ends them; NULL: none. */
    const struct program *programs;
    /* Its routes are also served at --listen ADDRESS. No two such routes are the same. */
    bool native;
    /*
     * The member of its stored options that is a key of its own listeners, NAME@ADDRESS,
     * beside those that count everywhere, as "auth_token". NULL: there is none.
     */
    const char *key;
    /* The front-end whose `key` counts at its own listeners, too; NULL: there is none. */
    const struct front *key_as;
    /*
     * The member of its stored options, a bool, that lets its own listeners be without a
     * key where others can reach them, even if the server has keys, as "open". Hosts are
     * accepted as with --insecure-open. NULL: there is none.
     */
    const char *keyless;
    /*
     * At its own listeners: where its protocol has the key in a request, and in *right
     * what it may do (keys_judge of front/keys.h). NULL: keys_of.
     */
    enum keys_given (*credential)(void *f, const struct keys *k, const struct req *r,
                                  enum right *right);
    /*
     * There, for each request before its key is judged: adds fields that every answer
     * has, such as those of CORS. Returns true if it answered r, which was only a
     * question about them (a preflight). NULL: none.
     */
    bool (*preflight)(void *f, struct req *r);
    /*
     * There, for each request whose key counts, before its route runs: returns true if
     * it answered r instead, because nothing can be done yet. NULL: never.
     */
    bool (*instead)(void *f, struct req *r);
    /*
     * It has requests for the hosts of apps (--preview-host) at native listeners, which
     * no route sees: passes r to port, or, if status is not 0, refuses it with that and
     * text. port 0: there is none of that number. NULL: others do; at most one has it.
     */
    void (*app)(void *f, struct req *r, uint16_t port, int status, const char *text);
    /* There: answers a request that is refused. NULL: the fail of its first table does,
     * with the guard's status and text. */
    void (*refuse)(void *f, struct req *r, enum refusal why, const char *text);
    /* There: conns_max and the times of connections; the rest does not count. NULL: as
     * everywhere. */
    const struct httpd_config *limits;
    /*
     * It decides by itself who may ask, and takes its listeners, which are held as "NAME
     * ADDRESS": TCP at this machine, without TLS. Else front/guard.h does.
     */
    bool guards;
    /*
     * Takes a descriptor that the keeper holds under this name. Returns false if it
     * belongs to another one.
     */
    bool (*take)(void *f, struct str name, int fd);
    /* All states are in engine.states, and nothing has resumed. */
    void (*load)(void *f);
    /* The engine has resumed; requests follow. */
    void (*start)(void *f);
    /* This worker ends. another: the next one follows, else the server ends. */
    void (*close)(void *f, bool another);
    /* Answers what is in flight; fn is called once, when that is done. */
    void (*drain)(void *f, void (*fn)(void *arg), void *arg);
    /*
     * The server ends, and drain is over: sends what is to go out by itself. fn is called
     * once, within LIMIT_BUS_FLUSH_MS.
     */
    void (*flush)(void *f, void (*fn)(void *arg), void *arg);
    /* Appends Prometheus' lines for GET /metrics, each metric with HELP and TYPE. */
    void (*metrics)(const void *f, struct buf *out);
    /* An object for `od serve --status`, under its name; the caller's. NULL: nothing. */
    struct json *(*status)(const void *f);
};

/* All front-ends, in order; NULL ends the list. */
extern const struct front *const front_list[];

/* ---- what front-ends share ---- */

struct engine *fronts_engine(const struct fronts *all);
/* Who may use the HTTP listeners. Borrowed. */
struct keys *fronts_keys(struct fronts *all);
/* Lists and changes them: guard_ask of front/guard.h. */
struct json *fronts_ask_keys(struct fronts *all, const struct json *q, struct err *e);
/* Logins of people (front/logins.h). Borrowed. */
struct logins *fronts_logins(struct fronts *all);
/* Appends the name of the host of the app at port, of --preview-host. Returns -1: there
 * is none. */
int fronts_app_host(const struct fronts *all, uint16_t port, struct buf *out);
/* {"name", "version", "socket": strings; "addresses": [string, …]}. Borrowed. */
const struct json *fronts_about(const struct fronts *all);
/* The object of the front-end of this name; NULL: there is none, or it is not open. */
void *fronts_find(const struct fronts *all, const char *name);
/* Appends the metrics of all. */
void fronts_metrics(const struct fronts *all, struct buf *out);
/* Adds the status of each that has one to out. */
void fronts_status(const struct fronts *all, struct json *out);

#endif
