/* SPDX-License-Identifier: MIT */
/*
 * Plugins: folders whose setup.sh prepares a sandbox, one after the other, before
 * the first session.
 *
 *   setup.sh     run in the folder as the sessions' user: sourced by the shell that its
 *                first line names (default sh), and its exported variables become
 *                those of sessions; a program of another language is executed
 *   plugin.json  may be missing, as may its members: name (else the folder's), order
 *                (a number, 0; lower ones first, then as given), limits {seconds,
 *                memory_mb}, environment {NAME: value, "$PLUGIN" in it is the
 *                folder}, checks [command, …]: each must succeed afterwards
 *   bin          a folder that, if it exists, goes in front of PATH
 *
 * A success is stored under a hash of the folder, the user and the plugins before it:
 * next to the state folder, and in --cache-dir. Another container may have written the
 * latter, so such a success counts only if the plugin's checks confirm it.
 *
 * All state is at the keeper, so a worker may die at any instant; the next worker goes
 * on with the running process. A setup is ended after limits.seconds. A failure is
 * reported, and does not affect other plugins or the server.
 */
#ifndef OD_SETUP_PLUGINS_H
#define OD_SETUP_PLUGINS_H

#include "base/err.h"
#include "base/json.h"
#include "base/list.h"

#include <stdbool.h>

#define PLUGIN_CALLER "plugin" /* OD_OP of processes of a setup */

enum {
    PLUGINS_MAX = 16,
    PLUGIN_NAME_MAX = 24,
    PLUGIN_CHECKS_MAX = 16,
    PLUGIN_TEXT_MAX = 1024,      /* bytes of a check, or of a variable */
    PLUGIN_JSON_MAX = 16 << 10,  /* bytes of a plugin.json */
    PLUGIN_FILES_MAX = 20000,    /* in a folder */
    PLUGIN_BYTES_MAX = 256 << 20 /* in a folder: all are read for its hash */
};

struct engine;
struct plugins;

/*
 * Reads a plugin's folder: name, hash, shell and the content of plugin.json, as an object
 * for plugins_open. An error becomes its member "problem". seconds: the time limit if
 * plugin.json has none. The caller owns the result.
 */
struct json *plugin_read(const char *dir, int64_t seconds);
/* A plugin that is known by name and needs no setup. The caller owns it. */
struct json *plugin_known(const char *name);
/* An array of n plugins, stably sorted by their order. The caller owns it. */
struct json *plugins_sort(struct json **take, size_t n);

/*
 * An event of a setup: kind is "started", "output" (text is one line), "installed",
 * "cached" or "failed" (text is the reason, a sentence).
 */
typedef void plugins_event_fn(void *arg, const char *plugin, const char *kind,
                              struct str text);

/* list: an array of plugins_sort. The result lives as long as the engine. */
struct plugins *plugins_open(struct engine *en, const struct json *list);
/* Before the engine resumes: takes the states of an earlier worker at the keeper. */
void plugins_load(struct plugins *p);
/* Sets the one listener of events, which also go to the server's own log. */
void plugins_listen(struct plugins *p, plugins_event_fn *fn, void *arg);
/*
 * Sets up all plugins that are not set up yet, as user ("": the server's own). done is
 * called once, when no setup runs any more; before this returns if none is needed. p may
 * be NULL: no plugins.
 */
void plugins_start(struct plugins *p, struct str user, void (*done)(void *arg),
                   void *arg);
/*
 * Is a setup not finished? A shell that begins now would lack its variables. p may be
 * NULL: no.
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
/* Ends the wait without calling ready. Idempotent; fine if w never waited. */
void plugins_unwait(struct plugins_wait *w);
/* The first failure as a sentence; NULL: none. */
const char *plugins_problem(const struct plugins *p);
/* Returns whether there is a plugin of this name. p may be NULL. */
bool plugins_has(const struct plugins *p, struct str name);
/* [{name, state, problem}]: waiting, installing, checking, installed, cached, failed. */
struct json *plugins_json(const struct plugins *p);

#endif
