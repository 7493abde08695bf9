/* SPDX-License-Identifier: MIT */
/*
 * Plugins: folders whose setup.sh makes a sandbox ready for something, one after
 * the other, before the first session.
 *
 *   setup.sh     run in the folder as the sessions' user: read by the shell that its
 *                first line names (sh without one), so that what it exports is what
 *                sessions get; a program of another language is run
 *   plugin.json  may be missing, as may its members: name (else the folder's), order
 *                (a number, 0; lower ones first, then as given), limits {seconds,
 *                memory_mb}, environment {NAME: value, "$PLUGIN" in it is the
 *                folder}, checks [command, …]: each must succeed afterwards
 *   bin          goes in front of PATH, if it is there
 *
 * A success is kept under a hash of the folder, the user and the plugins before it:
 * in the state's folder, and in --cache-dir, which may be another container's, so
 * that one of there counts for nothing but where checks say so too.
 *
 * Everything is at the keeper, so a worker may die at any instant; the next one goes
 * on with the process that runs. Setups end or are ended (limits.seconds); one that
 * fails is told of and leaves the others and the server as they are.
 */
#ifndef OD_SETUP_PLUGINS_H
#define OD_SETUP_PLUGINS_H

#include "base/err.h"
#include "base/json.h"
#include "base/list.h"

#include <stdbool.h>

#define PLUGIN_CALLER "plugin" /* OD_OP of what a setup runs */

enum {
    PLUGINS_MAX = 16,
    PLUGIN_NAME_MAX = 24,
    PLUGIN_CHECKS_MAX = 16,
    PLUGIN_TEXT_MAX = 1024,      /* bytes of a check, or of a variable */
    PLUGIN_JSON_MAX = 16 << 10,  /* bytes of a plugin.json */
    PLUGIN_FILES_MAX = 20000,    /* in a folder */
    PLUGIN_BYTES_MAX = 256 << 20 /* in a folder: they are read to know it again */
};

struct engine;
struct plugins;

/*
 * Reads a folder, before anything is served: its name, hash, shell and what
 * plugin.json says, as an object for plugins_open. What is wrong with it is a
 * member "problem" of that. seconds: the limit when it names none. Caller's.
 */
struct json *plugin_read(const char *dir, int64_t seconds);
/* One that this server knows by name and that wants nothing set up. Caller's. */
struct json *plugin_known(const char *name);
/* An array of them, by order; what is equal stays as it is. */
struct json *plugins_sort(struct json **take, size_t n);

/*
 * What happens, for a log: kind is "started", "output" (text is a line of it),
 * "installed", "cached" or "failed" (text says why, as a sentence).
 */
typedef void plugins_event_fn(void *arg, const char *plugin, const char *kind,
                              struct str text);

/* list: what the functions above made. The engine's, for as long as that is. */
struct plugins *plugins_open(struct engine *en, const struct json *list);
/* Before the engine resumes: takes what an earlier worker left at the keeper. */
void plugins_load(struct plugins *p);
/* Events go there, too; the server's own log has them in any case. One listener. */
void plugins_listen(struct plugins *p, plugins_event_fn *fn, void *arg);
/*
 * Sets up what is not yet, as user ("": the server's own). done is called once, when
 * nothing runs any more: before this returns if there was nothing to do. p may be
 * NULL: there are none.
 */
void plugins_start(struct plugins *p, struct str user, void (*done)(void *arg),
                   void *arg);
/*
 * Is there one whose turn is still to come? What begins now would lack its variables.
 * p may be NULL: no.
 */
bool plugins_busy(const struct plugins *p);
/* Embedded in its owner, zeroed. */
struct plugins_wait {
    struct list node;
    void (*ready)(struct plugins_wait *w);
};
/* ready is called once: when plugins_busy is over, or the server ends before that. */
void plugins_await(struct plugins *p, struct plugins_wait *w,
                   void (*ready)(struct plugins_wait *w));
/* At any time; idempotent, also for one that never waited. */
void plugins_unwait(struct plugins_wait *w);
/* The server ends: nobody waits any more. p may be NULL. */
void plugins_cancel(struct plugins *p);
/* The first failure as a sentence; NULL: none. */
const char *plugins_problem(const struct plugins *p);
/* Is a plugin of this name among them? p may be NULL. */
bool plugins_has(const struct plugins *p, struct str name);
/* [{name, state, problem}]: waiting, installing, checking, installed, cached, failed. */
struct json *plugins_json(const struct plugins *p);

#endif
