/* SPDX-License-Identifier: MIT */
/*
 * All front-ends (front.h) of a worker and their listeners, and what od serve asks the
 * table of them before there is a worker.
 */
#ifndef OD_FRONT_FRONTS_H
#define OD_FRONT_FRONTS_H

#include "base/json.h"

struct engine;
struct front;
struct fronts;

/*
 * Opens them. options: the JSON that serve stored, read once; about: for fronts_about,
 * borrowed. Never NULL. Nothing is listened on yet.
 */
struct fronts *fronts_open(struct engine *en, const struct json *options,
                           const struct json *about);
/*
 * Takes a descriptor that the keeper holds under this name: of an HTTP listener, "http
 * ADDRESS", "https ADDRESS" or with NAME@ADDRESS, or of a front-end. Before fronts_load.
 * Returns false if nothing here has that name.
 */
bool fronts_take(struct fronts *all, struct str name, int fd);
/* Takes up what the worker before left, before engine_resume. */
void fronts_load(struct fronts *all);
/* The handover is over: listens, and does what must be done before the first request. */
void fronts_start(struct fronts *all);
/*
 * Stops accepting and closes idle connections; requests in flight get their answers.
 * another: as in struct front. fn is called once, when the last connection is gone.
 */
void fronts_drain(struct fronts *all, bool another, void (*fn)(void *arg), void *arg);

/* After that, if the server ends: what is to go out by itself. fn is called once. */
void fronts_flush(struct fronts *all, void (*fn)(void *arg), void *arg);

/* ---- of the table ---- */

/* Appends the versions of what they keep to engine_format's text. */
void fronts_format(struct buf *out);
/* As engine_claims, for the states of front-ends. */
bool fronts_claims(struct str prefix);
/*
 * All routes: [{"listener": "http", of the native set, or the front-end's name; "front":
 * its name, for --listen NAME@ADDRESS; "methods": [string, …], "path": string, "key":
 * string}, …]. key: "head", the key is in the request's head; "message", or in the first
 * message of a WebSocket; "path", or a token in the path; "none", no key is needed;
 * "peer", the asker's user decides (front/viewer); "right": the least one that a key
 * must have, "view", "use" or "none". The caller's.
 */
struct json *fronts_routes(void);
/*
 * Cuts NAME@ off the address: returns the front-end that is to be served there alone.
 * NULL: text does not begin with the name of one that has routes, and is as it was.
 */
const struct front *fronts_cut(struct str *text);
/* What is stored of the options of f, of all that is; NULL: nothing. Borrowed. */
const struct json *fronts_options(const struct front *f, const struct json *all);
/* Do these options let the listeners of f be without a key? */
bool fronts_keyless(const struct front *f, const struct json *all);
/* Does text begin with NAME@, be it a front-end's or not? */
bool fronts_named(struct str text);
/* Appends the names that fronts_cut knows: "v0, events". */
void fronts_names(struct buf *out);

#endif
