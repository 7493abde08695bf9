/* SPDX-License-Identifier: MIT */
/*
 * The root of the engine: sessions, processes, the keeper's end, the options.
 * It speaks no wire protocol; front-ends call it and pass sinks (op.h).
 */
#ifndef OD_ENGINE_ENGINE_H
#define OD_ENGINE_ENGINE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "engine/user.h"
#include "keeper/hold.h"

struct actions;
struct edits;
struct session_watch;
struct sandbox;
struct skill_windows;

struct engine {
    struct loop *loop;    /* borrowed */
    struct hold *hold;    /* owned */
    struct map sessions;  /* by name: struct session, owned */
    struct map processes; /* by name: struct process, owned */
    struct map kernels;   /* by name: struct kernel, owned */
    struct map browsers;  /* by name: struct browsing, owned */
    struct map states;    /* what the keeper handed back, until ready */
    char state_dir[192];  /* "": memory only */
    char **env;           /* owned: the environment of children, NULL-terminated */
    char home[256];
    char socket[1024];                 /* where the local front listens, "": nowhere */
    char cache_dir[192];               /* --cache-dir; "": none */
    struct plugins *plugins;           /* owned; NULL: none */
    const struct session_watch *watch; /* borrowed (shell/session.h); NULL: none */
    struct sandbox *sandbox;           /* owned; setup/sandbox.h */
    struct actions *actions;           /* owned; action/action.h */
    struct edits *edits;               /* owned; made when it is needed */
    struct skill_windows *windows;     /* owned; the same */
    struct user nameless; /* whom /etc/passwd could not take; name "": nobody */
    uid_t uid;
    gid_t gid;
    uint64_t next_process;
    int64_t started_ms, idle_since_ms;
    int64_t idle_exit_ms; /* 0: never */
    struct timer idle_timer;
    struct task leave;
    unsigned clients;
    int spare;  /* a descriptor kept for when there are none left */
    bool first; /* no worker of this server came before */
    bool restarted, stopping;
};

/*
 * Reads the options that serve stored (a JSON object): state_dir, env, …
 * Takes ownership of nothing. -1: e.
 */
int engine_open(struct engine *en, struct loop *l, struct err *e);
void engine_configure(struct engine *en, const struct json *options);
/*
 * What is at the keeper, in words that change whenever it does: a worker that
 * prints the same can take it over.
 */
void engine_format(struct buf *out);
/*
 * Does a part claim states at the keeper whose key begins with this, as "session/"? A
 * worker that does not know all that are kept must not take over.
 */
bool engine_claims(struct str prefix);
/* Takes a descriptor that the keeper holds, as part.take. */
bool engine_take(struct engine *en, struct str name, int fd);
/* Takes up what the previous worker kept, if there was one. */
void engine_resume(struct engine *en);
/* Appends what the engine and its parts count (base/metrics.h). */
void engine_metrics(const struct engine *en, struct buf *out);
/* Something happened: the idle clock starts anew. */
void engine_touch(struct engine *en);
/*
 * Answers everybody who waits with CANCELLED, asks the keeper to end the
 * sandbox, and stops the loop when this turn is over.
 */
void engine_stop(struct engine *en, int64_t grace_ms);

/*
 * Makes a folder in the state directory, and that itself if it was removed; out gets its
 * path. Returns -1 and sets *e if there is no state directory, or it cannot be made.
 */
int engine_state_folder(struct engine *en, const char *name, unsigned mode, char *out,
                        size_t size, struct err *e);

/*
 * The environment of a new child: the server's own, then `extra` (NAME=VALUE,
 * each ending in NUL) in the order given, later ones winning. *argv_like is
 * NULL-terminated and points into space; free it with free(). NULL: too long.
 */
char **engine_env(const struct engine *en, struct str extra, struct buf *space);
/* From now on children get these, too: NAME=VALUE, each ending in NUL. */
void engine_env_add(struct engine *en, struct str extra);
/* The value of a variable in such a list, or NULL. */
const char *env_get(char *const *env, const char *name);

/*
 * A user by name or number: ids, and what a login sets (HOME, USER, LOGNAME,
 * SHELL) to extra. /etc/passwd, then nameless.
 */
int engine_user(const struct engine *en, struct str name, uid_t *uid, gid_t *gid,
                struct buf *extra, struct err *e);

#endif
