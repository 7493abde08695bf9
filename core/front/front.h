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
 *   worker ends    close and drain, in the opposite order
 *
 * Adding one takes its folder, its line in fronts.def and its room in build/rooms.
 */
#ifndef OD_FRONT_FRONT_H
#define OD_FRONT_FRONT_H

#include "base/buf.h"
#include "base/json.h"
#include "base/option.h"
#include "http/httpd.h"

struct engine;
struct fronts;
struct keys;

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
    /* Its routes are also served at --listen ADDRESS. No two such routes are the same. */
    bool native;
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
    /* Appends Prometheus' lines for GET /metrics, each metric with HELP and TYPE. */
    void (*metrics)(const void *f, struct buf *out);
    /* An object for `od serve --status`, under its name; the caller's. */
    struct json *(*status)(const void *f);
};

/* All front-ends, in order; NULL ends the list. */
extern const struct front *const front_list[];

/* ---- what front-ends share ---- */

struct engine *fronts_engine(const struct fronts *all);
/* Who may use the HTTP listeners. Borrowed. */
struct keys *fronts_keys(struct fronts *all);
/* {"name", "version", "socket": strings; "addresses": [string, …]}. Borrowed. */
const struct json *fronts_about(const struct fronts *all);
/* The object of the front-end of this name; NULL: there is none, or it is not open. */
void *fronts_find(const struct fronts *all, const char *name);
/* Appends the metrics of all. */
void fronts_metrics(const struct fronts *all, struct buf *out);
/* Adds the status of each that has one to out. */
void fronts_status(const struct fronts *all, struct json *out);

#endif
