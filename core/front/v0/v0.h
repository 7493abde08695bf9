/* SPDX-License-Identifier: MIT */
/*
 * OpenHands' V0 runtime API: actions as JSON over HTTP, one observation each.
 *
 * Its commands run in the session "main", which od exec sees too. What of it
 * must outlive the worker is in the session (the id of its newest command, of
 * its latest inputs) and in one state at the keeper: how far the client has been
 * answered.
 */
#ifndef OD_FRONT_V0_V0_H
#define OD_FRONT_V0_V0_H

#include "base/json.h"
#include "engine/engine.h"
#include "http/httpd.h"

struct v0;
struct action;
struct kernel;
struct kernel_opts;

enum { V0_SESSION_MAX = 40 };

/* ---- the log of what is asked and answered ---- */

struct v0_end {
    uint64_t id; /* of the action */
    int status;  /* as HTTP would be answered: 200, or the answer is {"detail": …} */
    struct str answer;
    bool unheard; /* nobody waits for it any more; no answer */
    /* Of a run: where its session has the bytes that the answer is about. */
    bool has_output;
    const char *session;
    uint64_t from, to;
};

/* Who writes it down. All calls come from the loop, and from within v0's. */
struct v0_log {
    /*
     * An action by HTTP; key names its body. Returns its id, which is larger than all
     * before; that of the same one before, if a worker before had it and unique says that
     * it is the same; 0: it cannot be written down, and runs all the same.
     */
    uint64_t (*begin)(void *arg, const struct json *event, const char *key, bool unique);
    /* Its command has output from here on; `command` is its id in the session. */
    void (*started)(void *arg, uint64_t id, const char *session, const char *command,
                    uint64_t from);
    /*
     * What the cell of a run_ipython of the log's own says and asks while it runs, as
     * kernel.h has it; v0_cell_input answers. NULL: nobody hears it, and it may not ask.
     */
    void (*said)(void *arg, uint64_t id, struct str type, const struct json *content);
    void (*asks)(void *arg, uint64_t id, struct str prompt, bool password);
    /* The observation: once, before whoever asked hears of it. */
    void (*end)(void *arg, const struct v0_end *x);
    /* Once: the user, the directory and what plugins set up are there. */
    void (*ready)(void *arg);
    void *arg;
};

/* Copied; before v0_start. */
void v0_set_log(struct v0 *v, const struct v0_log *log);

/*
 * An action of the log's own, as V0's JSON without an envelope, for the session.
 * NULL: it makes no sense, e in our words. Takes event, also then.
 */
struct action *v0_prepare(struct v0 *v, struct json *take, struct str session,
                          struct err *e);
/*
 * Runs it in its turn; what came of it is told by log.end. key: 32 hex digits that no
 * other action has. The same key after a restart goes on where the worker before was.
 * http: it came by HTTP before the restart, and whoever sent it may ask again.
 */
void v0_submit(struct action *take, const char *key, uint64_t id, bool http);
void v0_discard(struct action *take);
/*
 * Ends the action with this id: one that waits for its turn goes, of one that runs the
 * command gets TERM, and KILL after a grace. -1: e.
 */
int v0_cancel(struct v0 *v, uint64_t id, struct err *e);
/* Answers what the cell of the action with this id asks; nothing if there is none. */
void v0_cell_input(struct v0 *v, uint64_t id, struct str text);
/* The session that actions of this name are about, if there is one; NULL: none yet. */
struct session *v0_find_session(struct v0 *v, struct str name);
/* The kernel of run_ipython in that session; make: also one that is not there yet. */
struct kernel *v0_kernel(struct v0 *v, struct str session, bool make, struct err *e);
/* Another one, as the sandbox's user, where the session is unless o has a directory. */
struct kernel *v0_kernel_open(struct v0 *v, struct str session, struct str name,
                              const struct kernel_opts *o, struct err *e);

enum { V0_GROUPS_MAX = 64 };

struct v0_place {
    char cwd[4096], home[256];
    bool as_user; /* we are root, and it is another user's: as in struct job_spec */
    uid_t uid;
    gid_t gid, groups[V0_GROUPS_MAX];
    size_t groups_n;
};

/*
 * The directory and the user of the session of this name, or that it would have.
 * -1: e, that user is not there.
 */
int v0_place(struct v0 *v, struct str session, struct v0_place *out, struct err *e);
/* Did the worker before begin the command, or type the input, with this key? */
bool v0_begun(struct v0 *v, struct str session, const char *key);
/* The versions of what V0 keeps. */
void v0_format(struct buf *out);
/* Are user, directory and plugins there? */
bool v0_ready(const struct v0 *v);
/* Actions that have no answer yet. */
unsigned v0_open_actions(const struct v0 *v);

/*
 * options: {"username", "user_id", "group", "su", "no_change_ms",
 * "warm", "eval": what v0_eval_read makes}, all optional; read once. Never NULL.
 */
struct v0 *v0_open(struct engine *en, const struct json *options);
/* v NULL: the same without an arg, for who only lists the routes. */
const struct http_front *v0_front(const struct v0 *v);
/*
 * What --browsergym-eval-env NAME is: {family, page}; page is what the browser has to
 * open, "" where the family's tasks are not begun here. base: MINIWOB_URL, or NULL. The
 * caller's; NULL: e.
 */
struct json *v0_eval_read(struct str name, const char *base, struct err *e);
/* Takes up what the worker before left at the keeper (engine.states). */
void v0_load(struct v0 *v);
/* Makes user, directory and session; until then actions are queued. */
void v0_start(struct v0 *v);
/* Answers {"detail": text}. */
void v0_refuse(struct req *r, int status, const char *text);

#endif
