/* SPDX-License-Identifier: MIT */
/*
 * All front-ends (front.h) of a worker with their listeners, and the look-ups in their
 * table that od serve makes before there is a worker.
 */
#ifndef OD_FRONT_FRONTS_H
#define OD_FRONT_FRONTS_H

#include "base/json.h"

struct engine;
struct front;
struct fronts;

/*
 * Opens all front-ends, without listening yet. options: the JSON that serve stored, used
 * only during the call; about: for fronts_about, borrowed. Never returns NULL.
 */
struct fronts *fronts_open(struct engine *en, const struct json *options,
                           const struct json *about);
/*
 * Takes a descriptor that the keeper holds under this name: an HTTP listener's ("http
 * ADDRESS", "https ADDRESS", or with NAME@ADDRESS) or a front-end's. To be called before
 * fronts_load. Returns false if no front-end or listener has that name.
 */
bool fronts_take(struct fronts *all, struct str name, int fd);
/* Loads the states of the previous worker; to be called before engine_resume. */
void fronts_load(struct fronts *all);
/* After the handover: starts all front-ends, then listens. */
void fronts_start(struct fronts *all);
/*
 * Stops accepting and closes idle connections; requests in flight are still answered.
 * another: as in struct front. Calls fn once, when the last connection is closed.
 */
void fronts_drain(struct fronts *all, bool another, void (*fn)(void *arg), void *arg);

/* After that, if the server ends: sends what is still to be sent without a request. Calls
 * fn once. */
void fronts_flush(struct fronts *all, void (*fn)(void *arg), void *arg);

/* ---- of the table ---- */

/* Appends the versions of the stored states to engine_format's text. */
void fronts_format(struct buf *out);
/* Like engine_claims, for the states of front-ends. */
bool fronts_claims(struct str prefix);
/*
 * Returns all routes: [{"listener": "http" for the native set, else the front-end's name;
 * "front": its name, for --listen NAME@ADDRESS; "methods": [string, …], "path": string,
 * "key", "right", "open": strings; "proofs": [{"place", "name", "kind": string}, …]}, …].
 * key: "head": in the request's head; "message": there or in the first message of a
 * WebSocket; "path": there or as a token in the path; "body": there or in the body;
 * "cookie": there or the cookie of a login; "none": no key is needed; "peer": the user of
 * the client's process decides (front/file_viewer). right: the least right that a key
 * must have: "view", "setup", "use" or "none". open: "no", "always", "until keyed",
 * "local until keyed", then also "because" and "changes" (access/open.def). proofs: all
 * that count. The caller owns the result.
 */
struct json *fronts_routes(void);
/*
 * Cuts NAME@ off the address and returns the front-end NAME, which alone is served there.
 * Returns NULL and leaves text unchanged if it does not begin with the name of a
 * front-end that has routes.
 */
const struct front *fronts_cut(struct str *text);
/* Returns the stored options of f, out of the options of all; NULL if it has none.
 * Borrowed. */
const struct json *fronts_options(const struct front *f, const struct json *all);
/* Do these options let the listeners of f work without a key? */
bool fronts_keyless(const struct front *f, const struct json *all);
/* Does text begin with NAME@, whether a front-end has that name or not? */
bool fronts_named(struct str text);
/* Appends the names that fronts_cut knows: "v0 or openhands-v0, events". */
void fronts_names(struct buf *out);

#endif
