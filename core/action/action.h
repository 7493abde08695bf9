/* SPDX-License-Identifier: MIT */
/*
 * Actions: what the sandbox is asked to do. Whichever front-end asks, an action is in
 * the log before it begins, takes its turn in its session, runs once, has one
 * observation, and survives a crash of the worker.
 *
 *   action_open ─▶ in the log ─▶ action_go ─▶ its turn ─▶ kind.start ─▶ action_end, once
 *                                                └─ kind.cancel, by actions_cancel
 *
 * A kind of action is one file with `const struct action_kind action_NAME` and the line
 * ACTION(NAME) in action/actions.def. A kind whose words are those of a front-end's
 * protocol (front/v0) is defined there. engine.actions has them all; it is a part
 * (engine/part.h).
 */
#ifndef OD_ACTION_ACTION_H
#define OD_ACTION_ACTION_H

#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/param.h"
#include "engine/engine.h"
#include "setup/sandbox.h"

enum {
    ACTION_SESSION_MAX = 40,   /* bytes of a session's name */
    ACTION_CLIENT_MAX = 128,   /* bytes of a client_id */
    ACTION_KEY = 32,           /* hex digits of an action's own name */
    ACTION_BYTES_MAX = 1 << 20 /* of one as JSON, as LIMIT_EVENT_MAX */
};

/* Who asked, as the log has it. */
#define ACTION_SOURCE_V0 "v0"
#define ACTION_SOURCE_MCP "mcp"

struct action;
struct actions;
struct known;

/* What a worker does about an action that the worker before had begun. */
enum action_again {
    ACTION_AGAIN,      /* it is started, with a->again: twice is as good as once, or the
                          kind can tell what was done */
    ACTION_DONE,       /* that worker did it */
    ACTION_UNKNOWN,    /* whether it was done cannot be known: an error says so */
    ACTION_INTERRUPTED /* it was not done: the same */
};

struct action_kind {
    const char *name; /* as in {"action": NAME} */
    /* It is done at once, whatever its session does and before the sandbox is ready. */
    bool at_once;
    /* It waits for the actions before it in its session, unless prepare says otherwise.
     */
    bool in_turn;
    /* Its words are a front-end's: prepare reads the whole message. */
    bool foreign;
    const struct param_list *takes; /* never NULL; of a foreign kind for schemas only */
    /*
     * Checks what takes cannot say: relations between parameters. args fit takes, and
     * are an object, or NULL: none were given. Returns 0; -1 with *e set, and nothing is
     * in the log. May be NULL.
     */
    int (*check)(const struct json *args, struct err *e);
    /* Adds to the schema of takes what only its code knows; may be NULL. */
    void (*refine)(struct json *schema);
    /*
     * Of a foreign kind: reads a->message, makes a->own and sets a->in_turn. Returns 0;
     * -1 with *e set, and nothing is in the log.
     */
    int (*prepare)(struct action *a, struct err *e);
    /* Frees what prepare made for an action that could not be logged. */
    void (*discard)(struct action *a);
    /* May end the action before it returns; a is valid until the turn is over. */
    void (*start)(struct action *a);
    /*
     * The next action of its turn waits for this one: may end it to make room. NULL: it
     * never does.
     */
    void (*yield)(struct action *a, const struct action *next);
    /*
     * Stops an action, begun or not. Returns true if the kind ends it, now or later;
     * false if the caller does, at once, and a->own is freed. NULL: false.
     */
    bool (*cancel)(struct action *a);
    /* NULL: ACTION_AGAIN. */
    enum action_again (*again)(const struct action *a);
    /* Did the worker before begin it, though its message is not in the log whole? */
    bool (*begun)(const struct action *a);
};

/* One action, from action_open to action_end. Owned by the actions. */
struct action {
    struct list node; /* those without an end, the oldest first */
    struct list turn; /* those that have not begun */
    struct actions *all;
    const struct action_kind *kind;
    uint64_t id;              /* in the log; 0: the log has no room for it */
    char key[ACTION_KEY + 1]; /* its own name, the same after a restart */
    char session[ACTION_SESSION_MAX + 1];
    const char *source;   /* the front-end that asked, static; NULL: the client's word */
    struct json *message; /* owned: {"action": NAME, "args": …, …} */
    struct json *args;    /* borrowed from it: an object */
    char *client_id;      /* owned; NULL: none */
    struct known *known;  /* NULL: it cannot be asked for again */
    int64_t since_ms;
    bool in_turn; /* waits for the actions before it in its session that are in turn */
    bool begun;   /* start was called */
    bool again;   /* the worker before had it */
    bool repeats; /* its observation is in the log already */
    bool placed;  /* where it is done is kept */
    bool noting;  /* so is what it did, in a file */
    /* The command that runs in its session, for who follows its output. */
    bool running;
    char command[LIMIT_ID + 1];
    uint64_t from; /* where its output begins */
    void *own;     /* the kind's */
};

/* ---- for front-ends ---- */

struct action_order {
    const char *source;             /* as in struct action */
    const struct action_kind *kind; /* NULL: that of the message, which is checked */
    struct str session;             /* empty: "main" */
    struct str client_id;
    const char *key; /* hex digits that name it; NULL: it gets some */
    bool unique;     /* key names it over restarts: the same key is the same action */
    bool must;       /* runs even if the log has no room for it */
    void *own;       /* of a foreign kind: made already; prepare is not called */
    bool in_turn;    /* with own */
};

/*
 * Checks an action and writes it to the log. Takes message, also on failure. Returns the
 * action, for action_go; NULL and sets *e if it makes no sense or the log has no room.
 */
struct action *action_open(struct actions *all, struct json *message,
                           const struct action_order *o, struct err *e);
/* Starts it in its turn. */
void action_go(struct action *a);

struct action_taken {
    uint64_t id, end; /* end 0: not yet; id: it is over, without an observation */
    bool again;       /* it had been asked before */
};

/*
 * Takes an action of a peer as JSON, with client_id, session and secrets in it, and
 * starts it. Returns 0; -1 and sets *e, and nothing was logged and nothing runs.
 */
int actions_do(struct actions *all, const struct json *message, const char *source,
               struct action_taken *out, struct err *e);
/* Returns -1 and sets *e if it is over and its observation is not in the log. */
int actions_check_end(const struct action_taken *t, struct err *e);

/* The action with this id that has no end yet; NULL: none. */
struct action *actions_find(const struct actions *all, uint64_t id);
/* The next one without an end, the oldest first; NULL begins and ends. */
struct action *actions_next(const struct actions *all, const struct action *a);
/*
 * Cancels the action with this id: takes it out of the queue, or stops what it runs.
 * Returns -1 and sets *e if none with this id waits for its end.
 */
int actions_cancel(struct actions *all, uint64_t id, struct err *e);

/* Who hears of all actions. Embedded, zeroed. */
struct action_watch {
    struct list node;
    /* A command has output from here on: a->command in a->session. May be NULL. */
    void (*started)(struct action_watch *w, const struct action *a);
    /*
     * The action `cause` has its observation, the event `end`; end 0: the log has none,
     * and e says why. May be NULL.
     */
    void (*ended)(struct action_watch *w, uint64_t cause, uint64_t end,
                  const struct err *e);
    /* A command goes on after its observation (trail.h). May be NULL. */
    void (*trailed)(struct action_watch *w);
};
void actions_watch(struct actions *all, struct action_watch *w);

struct actions_stats {
    uint64_t actions, observations, errors, refused, repeated;
    uint64_t commands, command_ms;
    uint64_t starts; /* of workers, of this server */
    unsigned pending;
};

/* ---- for kinds ---- */

/*
 * Where an action's kind has its result. Neutral, for front-ends to put into words; or
 * in the words of a foreign kind.
 */
struct action_result {
    struct str text;   /* the content */
    struct str extras; /* a JSON object; empty: {} */
    struct str top; /* members next to these two, each with a comma behind it; or empty */
    const struct err *error; /* it could not be done; NULL: it was */
    /* Of a foreign kind instead of these: {"observation": …}, or {"detail": …} */
    struct str body;
    int status;   /* of body: as HTTP has it; 0: 200 */
    bool unheard; /* nobody waits for it any more; there is no body */
    /* Which bytes of its session's output it is about. */
    bool has_output;
    const char *output_of; /* the session; NULL: the action's */
    uint64_t from, to;
};

/*
 * Ends the action: its observation goes to the log and whoever waits hears of it. Once;
 * a is freed at the end of the turn.
 */
void action_end_as(struct action *a, const struct action_result *r);
/* The same: text is the observation's content, extras a JSON object or empty. */
void action_end(struct action *a, struct str text, struct str extras);
/* The same, as an error; extras.code is the name of e's code. */
void action_fail(struct action *a, const struct err *e);
/* The command `command` of its session has output from this offset on. */
void action_running(struct action *a, const char *session, const char *command,
                    uint64_t from);
/*
 * Writes an event of something that goes on, without a cause: `object` is
 * {"observation":…}, at most as long as an event. Returns -1 and sets *e if the log has
 * no room.
 */
int action_tell(struct action *a, struct buf *object, struct err *e);
/*
 * sandbox_place of its session, when it is first asked: after a restart the directory is
 * the same, wherever the session's shell is by then.
 */
int action_place(struct action *a, struct sandbox_place *out, struct err *e);
/*
 * Opens a file for what the action has done, which the next worker's action_note has,
 * too, until its end is in the log. The caller's. Returns -1 if there is no place.
 */
int action_note(struct action *a);
/* The id by which its session knows what it types, as "act:KEY:ID". */
void action_call(const struct action *a, char id[LIMIT_ID + 1]);
/* Did a worker before type the input of this action? */
bool action_typed(const struct action *a);

struct kernel;
/*
 * The kernel of run_ipython in that session; make: also one that is not there yet.
 * Returns NULL and sets *e if there is none.
 */
struct kernel *action_kernel(const struct actions *all, struct str session, bool make,
                             struct err *e);

/* The object of the front-end that foreign kinds belong to; borrowed. */
void actions_set_foreign(struct actions *all, void *front);
void *actions_foreign(const struct actions *all);

/* ---- the table ---- */

#define ACTION(name) extern const struct action_kind action_##name;
#include "action/actions.def"

/* A run with `until`, and one with `busy` fail, too; the table has V0's. */
extern const struct action_kind action_run_until, action_run_now;

/* The kind of this name; NULL: there is none. */
const struct action_kind *action_kind(struct str name);
/* The kind of this message, which may depend on its arguments; NULL: there is none. */
const struct action_kind *action_kind_of(const struct json *message);
/* The one at place i of the table; NULL: there are no more. */
const struct action_kind *action_kind_at(size_t i);
/* Checks arguments of a kind that is not foreign; NULL: there are none. */
int action_check(const struct action_kind *k, const struct json *args, struct err *e);

#endif
