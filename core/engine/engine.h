/* SPDX-License-Identifier: MIT */
/*
 * The root of the engine: sessions, processes, the connection to the keeper, the options.
 * It knows no wire protocol; front-ends call it and pass sinks (op.h).
 */
#ifndef OD_ENGINE_ENGINE_H
#define OD_ENGINE_ENGINE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "engine/user.h"
#include "keeper/keeper_client.h"

struct actions;
struct edits;
struct gate;
struct session_watch;
struct sandbox;
struct screens;
struct spares;
struct skill_windows;

struct engine {
    struct loop *loop;    /* borrowed */
    struct keeper_client *keeper; /* owned */
    struct map sessions;  /* by name: struct session, owned */
    struct map processes; /* by name: struct process, owned */
    struct map kernels;   /* by name: struct kernel, owned */
    struct map browsers;  /* by name: struct browsing, owned */
    struct map states;    /* what the keeper handed back, until ready */
    char state_dir[192];  /* "": memory only */
    char **env;           /* owned: the environment of children, NULL-terminated */
    char home[256];
    char socket[1024];                 /* where the local front listens, "": nowhere, or
                                          it accepts no more, and another may have it */
    char cache_dir[192];               /* --cache-dir; "": none */
    struct plugins *plugins;           /* owned; NULL: none */
    struct json *fence;                /* owned; fence/fence.h; NULL: none */
    const struct session_watch *watch; /* borrowed (shell/session.h); NULL: none */
    struct gate *gate;                 /* borrowed (engine/gate.h); NULL: none */
    struct sandbox *sandbox;           /* owned; setup/sandbox.h */
    struct spares *spares;             /* owned; shell/spare.h */
    struct actions *actions;           /* owned; action/action.h */
    struct edits *edits;               /* owned; made when it is needed */
    struct screens *screens;           /* the same; browser/screen.h */
    struct skill_windows *windows;     /* owned; the same */
    struct user nameless; /* the user that /etc/passwd could not take; name "": none */
    char sandbox_id[33]; /* of its log, as backends know it; "": nobody has asked yet */
    uid_t uid;
    gid_t gid;
    uint64_t next_process;
    int64_t started_ms, idle_since_ms;
    int64_t idle_exit_ms; /* 0: never */
    struct timer idle_timer;
    struct task leave;
    unsigned clients;
    uint64_t disk_left; /* eventlog_left of the log; UINT64_MAX: it is not full */
    int spare;  /* a descriptor in reserve for when none is left; -1: used */
    bool first; /* this is the first worker of the server */
    bool restarted, stopping;
    bool resumed; /* engine_resume is done */
};

/*
 * Initialises *en, which the caller owns; l is borrowed. Returns 0.
 */
int engine_open(struct engine *en, struct loop *l, struct err *e);
/* Reads the options that serve stored (a JSON object, borrowed): state_dir, env, … */
void engine_configure(struct engine *en, const struct json *options);
/*
 * Appends the versions of the messages and states at the keeper. A worker that prints the
 * same text can take them over.
 */
void engine_format(struct buf *out);
/*
 * Does a part claim states at the keeper whose key begins with this, as "session/"? A
 * worker that does not know all kept states must not take over.
 */
bool engine_claims(struct str prefix);
/* Takes a descriptor that the keeper holds, as part.take. */
bool engine_take(struct engine *en, struct str name, int fd);
/* Takes up what the previous worker kept, if there was one. */
void engine_resume(struct engine *en);
/* A state that came after that, as KEEP_M_REFUSED: the part of its key takes it up. */
void engine_late_state(struct engine *en, struct str key, struct str value);
/* Appends the metrics of the engine and its parts (base/metrics.h). */
void engine_metrics(const struct engine *en, struct buf *out);
/* There was activity: restarts the idle clock. */
void engine_touch(struct engine *en);
/*
 * Answers all who wait with CANCELLED, asks the keeper to end the sandbox within
 * grace_ms, and stops the loop when this turn is over.
 */
void engine_stop(struct engine *en, int64_t grace_ms);

/*
 * Makes a folder in the state directory, which is made again if it was removed; out gets
 * the path. Returns -1 and sets *e if there is no state directory or a mkdir fails.
 */
int engine_state_folder(struct engine *en, const char *name, unsigned mode, char *out,
                        size_t size, struct err *e);

/*
 * The environment of a new child: the server's own, then `extra` (NAME=VALUE, each ending
 * in NUL); of equal names the last one counts. The list is NULL-terminated and points
 * into en and space; the caller frees it with free(). NULL: too long.
 */
char **engine_env(const struct engine *en, struct str extra, struct buf *space);
/* The same without the server's own: extra alone. */
char **env_list(struct str extra, struct buf *space);
/*
 * Appends the members of env, an object of names and strings (NULL: none), as NAME=VALUE,
 * each ending in NUL. Returns -1 and sets *e: INVALID, or LIMIT if out is full.
 */
int env_put_json(struct buf *out, const struct json *env, struct err *e);
/* Adds variables for all later children: NAME=VALUE, each ending in NUL. */
void engine_env_add(struct engine *en, struct str extra);
/* Removes a variable, which no later child gets. */
void engine_env_remove(struct engine *en, const char *name);
/* The value of a variable in such a list, or NULL. */
const char *env_get(char *const *env, const char *name);

/*
 * Finds a user by name or number, in /etc/passwd, then nameless. Sets the ids, and
 * appends the variables of a login (HOME, USER, LOGNAME, SHELL) and of the parts to
 * extra. Returns -1 and sets *e if the name is unknown (any number is accepted), or if
 * the server is not root and this is another user.
 */
int engine_user(const struct engine *en, struct str name, uid_t *uid, gid_t *gid,
                struct buf *extra, struct err *e);

#endif
