/* SPDX-License-Identifier: MIT */
/*
 * Actions: what a peer asks the sandbox to do. Whichever front-end it comes from, an
 * action is logged before it begins, takes its turn in its session, runs once, has one
 * observation, and survives a crash of the worker.
 *
 *   action_open ─▶ in the log ─▶ action_go ─▶ its turn ─▶ kind.start ─▶ action_end, once
 *                                                └─ kind.cancel, by actions_cancel
 *
 * A kind of action is one file with `const struct action_kind action_NAME` and the line
 * ACTION(NAME) in action/actions.def. A foreign kind, which uses the names of a
 * front-end's protocol, is defined in that front-end (front/v0). engine.actions has all
 * actions; it is a part (engine/part.h).
 */
#ifndef OD_ACTION_ACTION_H
#define OD_ACTION_ACTION_H

#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/member.h"
#include "base/param.h"
#include "engine/engine.h"
#include "engine/gate.h"
#include "setup/sandbox.h"

enum {
    ACTION_SESSION_MAX = 40,   /* bytes of a session's name */
    ACTION_CLIENT_MAX = 128,   /* bytes of a client_id */
    ACTION_KEY = 32,           /* hex digits of an action's key */
    ACTION_BYTES_MAX = 1 << 20 /* of an action as JSON, as LIMIT_EVENT_MAX */
};

/* Names of front-ends in the log: the source of an action. */
#define ACTION_SOURCE_V0          "v0"
#define ACTION_SOURCE_MCP         "mcp"
#define ACTION_SOURCE_SWEREX      "swerex"
#define ACTION_SOURCE_INTERPRETER "interpreter"
#define ACTION_SOURCE_V1          "v1"
#define ACTION_SOURCE_SANDBOX     "sandbox"
#define ACTION_SOURCE_EXECD       "execd"
#define ACTION_SOURCE_E2B         "e2b"
#define ACTION_SOURCE_JUPYTER     "jupyter"
#define ACTION_SOURCE_FILES       "files"
/* Those whose actions are kinds of this room, like a client's: no client may use their
 * names, and the next worker knows their actions by them. V0's kinds are its own. */
#define ACTION_SOURCES \
    ACTION_SOURCE_MCP, ACTION_SOURCE_SWEREX, ACTION_SOURCE_INTERPRETER, \
        ACTION_SOURCE_V1, ACTION_SOURCE_SANDBOX, ACTION_SOURCE_EXECD, ACTION_SOURCE_E2B, \
        ACTION_SOURCE_JUPYTER, ACTION_SOURCE_FILES

struct action;
struct actions;
struct known;
struct process;

/* What a worker does with an action that the previous worker had begun. */
enum action_resume {
    ACTION_RESUME,     /* starts it, with a->resumed: doing it twice does no harm, or the
                         kind knows what was done */
    ACTION_DONE,       /* ends it: the previous worker did it */
    ACTION_UNKNOWN,    /* ends it with an error: nobody knows whether it was done */
    ACTION_INTERRUPTED /* ends it with an error: it was not done */
};

/* Members of an event of an action, as data for schemas (describe.h). */
struct observation {
    const char *name; /* as in {"observation": NAME}; NULL ends a list */
    bool notice;      /* not the observation, but an event while the action goes on */
    bool causeless;   /* a notice without `cause`: extras name the action */
    const struct member *beside; /* members next to content; NULL: none */
    const struct member *extras; /* NULL: none */
    const char *about; /* a sentence without its full stop; NULL: the action has one */
};

struct action_kind {
    const char *name; /* as in {"action": NAME} */
    /* Starts at once, even if its session is busy or the sandbox is not ready. */
    bool at_once;
    /*
     * start ends it, does no harm if it is called again after a crash of the worker, and
     * uses neither the log nor other actions. So its observation may wait for others.
     */
    bool brief;
    /* Waits for the earlier in_turn actions of its session; prepare may change that. */
    bool in_turn;
    /* Uses a front-end's names for members: prepare reads the whole message. */
    bool foreign;
    const struct param_list *takes;  /* never NULL */
    const struct observation *gives; /* NULL: one with the kind's name, without extras */
    /*
     * Checks relations between parameters, which `takes` cannot express. args are valid
     * for takes: an object, or NULL if none were given. Returns 0. On error returns -1
     * and sets *e, and nothing is logged. May be NULL.
     */
    int (*check)(const struct json *args, struct err *e);
    /* Adds to the schema of takes what is known only at run time; may be NULL. */
    void (*refine)(struct json *schema);
    /*
     * Foreign kinds only: reads a->message, makes a->own and sets a->in_turn. Returns 0,
     * or -1 and sets *e; then nothing is logged.
     */
    int (*prepare)(struct action *a, struct err *e);
    /* Frees what prepare made for an action that could not be logged. */
    void (*discard)(struct action *a);
    /* Starts it. May end it before it returns; a is valid until the turn is over. */
    void (*start)(struct action *a);
    /*
     * Called when the action `next` waits for this one in turn; may end this one to make
     * room. NULL: never ends it.
     */
    void (*yield)(struct action *a, const struct action *next);
    /*
     * Stops an action, begun or not. Returns true if the kind ends it, now or later.
     * Returns false after it freed a->own; the caller then ends the action at once. NULL:
     * false.
     */
    bool (*cancel)(struct action *a);
    /* NULL: ACTION_RESUME. */
    enum action_resume (*resume)(const struct action *a);
    /*
     * Returns whether the previous worker began it. Called if the log lacks a part of
     * its message. NULL: false.
     */
    bool (*begun)(const struct action *a);
    /*
     * Returns whether its text answers a question that shows no answer, such as one for
     * a password: the log does not have it. NULL: false.
     */
    bool (*unshown)(const struct action *a);
};

/* One action, from action_open to action_end. Owned by struct actions. */
struct action {
    struct list node; /* in actions.list: the unfinished ones, oldest first */
    struct list turn; /* in actions.turns: not begun */
    struct actions *all;
    const struct action_kind *kind;
    uint64_t id;              /* in the log; 0: the log had no room for it */
    char key[ACTION_KEY + 1]; /* names it, also after a restart */
    char session[ACTION_SESSION_MAX + 1];
    const char *source;   /* the front-end that asked, static; NULL: see message */
    struct json *message; /* owned: {"action": NAME, "args": …, …} */
    struct json *args;    /* an object, borrowed from message */
    char *client_id;      /* owned; NULL: none */
    struct known *known;  /* NULL: a repeated request does not find it */
    int64_t since_ms;
    bool in_turn; /* waits for the earlier in_turn actions of its session */
    bool begun;   /* start was called */
    bool resumed; /* taken over from the previous worker */
    bool repeats; /* its observation is in the log already */
    bool placed;  /* its directory is stored (action_place) */
    bool noting;  /* it has a file of notes (action_note) */
    bool unshown; /* its text is not in the log: kind->unshown */
    struct gate_wait gate; /* before it begins */
    /* The command that runs in its session, for readers of its output. */
    bool running;
    char command[LIMIT_ID + 1];
    uint64_t from; /* where its output begins */
    void *own;     /* the kind's data */
};

/* ---- for front-ends ---- */

struct action_order {
    const char *source;             /* as in struct action */
    const struct action_kind *kind; /* NULL: that of the message, and args are checked */
    struct str session;             /* empty: "main" */
    struct str client_id;
    const char *key; /* hex digits that name it; NULL: a random key */
    bool unique;     /* an action that has this key, even from before a restart, is it */
    bool must;       /* runs even if the log has no room for it */
    void *own;       /* a foreign kind's data, ready-made; prepare is not called */
    bool in_turn;    /* only with own: as in struct action */
};

/*
 * Checks an action and writes it to the log. Takes message, also on failure. Returns the
 * action, for action_go. Returns NULL and sets *e if it is invalid or the log has no
 * room.
 */
struct action *action_open(struct actions *all, struct json *message,
                           const struct action_order *o, struct err *e);
/* Queues an opened action and starts it in its turn, perhaps before this returns. */
void action_go(struct action *a);

struct action_taken {
    uint64_t id, end; /* end: of its observation; 0: not yet; = id: ended without one */
    bool repeated;    /* a repeated request: the action existed before */
};

/*
 * Starts an action that a peer sent as JSON, with client_id, session and secrets in it.
 * A repeated client_id gets the first action. Takes message, also on failure. Returns 0.
 * On error returns -1 and sets *e; then nothing is logged and nothing runs.
 */
int actions_do(struct actions *all, struct json *message, const char *source,
               struct action_taken *out, struct err *e);

/* Sends many actions, one after another. Embedded in its owner. */
struct action_sender {
    /* The log has refused an action with this client_id, which may be empty. */
    void (*refused)(struct action_sender *s, struct str client_id, const struct err *e);
};
/*
 * The same, but the action may wait for those that follow it, so that one write puts all
 * of them into the log. Returns 1 if it waits. actions_commit must then be called in the
 * same handler, and before anything that follows the action is done.
 */
int actions_send(struct actions *all, struct json *message, struct action_sender *s,
                 struct action_taken *out, struct err *e);
/* Writes the actions that wait to the log and begins them. */
void actions_commit(struct actions *all);
/* Returns -1 and sets *e if the action has ended without an observation in the log. */
int actions_check_end(const struct action_taken *t, struct err *e);

/* Returns the unfinished action with this id; NULL if there is none. */
struct action *actions_find(const struct actions *all, uint64_t id);
/* Iterates over the unfinished actions, oldest first; NULL begins and ends. */
struct action *actions_next(const struct actions *all, const struct action *a);
/*
 * Cancels the action with this id: takes it out of the queue, or stops it. Returns -1 and
 * sets *e if there is no unfinished action with this id.
 */
int actions_cancel(struct actions *all, uint64_t id, struct err *e);

/* A watcher of all actions. Embedded in its owner, zeroed. */
struct action_watch {
    struct list node;
    struct actions *all;
    /* The output of a->command in a->session begins, at a->from. May be NULL. */
    void (*started)(struct action_watch *w, const struct action *a);
    /*
     * The action `cause` has ended; `end` is the id of its observation. If end is 0, the
     * log has none, and e is the reason. May be NULL.
     */
    void (*ended)(struct action_watch *w, uint64_t cause, uint64_t end,
                  const struct err *e);
    /*
     * The process of an action `process` was started, or taken over from the previous
     * worker. May be NULL.
     */
    void (*process)(struct action_watch *w, const struct action *a, struct process *p);
    /* A command goes on after its observation (background.h). May be NULL. */
    void (*backgrounded)(struct action_watch *w);
};
void actions_watch(struct actions *all, struct action_watch *w);
/* No call follows. Idempotent; does nothing if w is zeroed and was never watched. */
void actions_unwatch(struct action_watch *w);

struct actions_stats {
    uint64_t actions, observations, errors, refused, repeated;
    uint64_t commands, command_ms;
    uint64_t starts; /* of workers, of this server */
    unsigned pending;
};

/* ---- for kinds ---- */

/*
 * The result of an action. Borrowed. It is neutral, so that each front-end encodes it for
 * its protocol; or it is `body`, which a foreign kind has encoded already.
 */
struct action_result {
    struct str text;           /* the content */
    const struct json *extras; /* an object; NULL: none, or `printed` */
    struct str printed;        /* the same, of a kind that has it as text; or empty */
    bool has_exit;             /* exit_code is set; a member next to the content */
    int exit_code;
    const struct json *waiting; /* another one: why it has not ended; NULL: none */
    const struct err *error; /* why the action failed; NULL: it did not */
    /* Of a foreign kind instead of these: {"observation": …}, or {"detail": …} */
    struct str body;
    int status;   /* of body: an HTTP status; 0: 200 */
    bool unheard; /* the caller is gone; there is no body */
    /* The range of its session's output that it reports. */
    bool has_output;
    const char *output_of; /* the session; NULL: the action's */
    uint64_t from, to;
};

/*
 * Ends the action: writes its observation to the log and calls the watchers. Called once
 * for each action; a is freed at the end of the turn.
 */
void action_end_as(struct action *a, const struct action_result *r);
/* The same: text is the observation's content. Takes extras, an object or NULL. */
void action_end(struct action *a, struct str text, struct json *take);
/* The same for extras that are text. */
void action_end_printed(struct action *a, struct str text, struct str extras);
/* The same with an error; extras.code is the name of e's code. */
void action_fail(struct action *a, const struct err *e);
/* Reports that the output of this command begins at the offset `from` of the session. */
void action_running(struct action *a, const char *session, const char *command,
                    uint64_t from);
/*
 * Writes an event about an action that goes on. It has no cause. object is
 * {"observation":…}, at most as long as an event. Returns -1 and sets *e if the log has
 * no room.
 */
int action_tell(struct action *a, struct buf *object, struct err *e);
/* Writes the event `waits`: the person `driver` has the browser of its session. */
void action_waits(struct action *a, const char *driver);
/*
 * Finds the user and directory of the action's session, as sandbox_place does. The
 * directory of the first call is stored, so that it is the same after a restart, even if
 * the session's shell has moved. Returns -1 and sets *e on error.
 */
int action_place(struct action *a, struct sandbox_place *out, struct err *e);
/*
 * Opens a file for notes of what the action has done. The next worker gets the same file,
 * until the action has ended. The caller owns the descriptor. Returns -1 if there is no
 * state directory or the file cannot be opened.
 */
int action_note(struct action *a);
/* Writes the id by which sessions and processes know the action, "act:KEY:ID". */
void action_call(const struct action *a, char id[LIMIT_ID + 1]);
/* Returns whether this or an earlier worker typed the input of this action. */
bool action_typed(const struct action *a);
/* The .again of kinds that may have done it, or not, when the worker crashed. */
enum action_resume action_resume_unknown(const struct action *a);

struct kernel;
/*
 * Returns the kernel of run_ipython in that session, borrowed. With make, it is made if
 * there is none. Returns NULL and sets *e if there is none, or it cannot be made.
 */
struct kernel *action_kernel(const struct actions *all, struct str session, bool make,
                             struct err *e);

/* Looks again, at the end of this turn, which actions may begin. */
void actions_check_waiting(struct actions *all);

/* The object of the front-end that foreign kinds belong to; borrowed. */
void actions_set_foreign(struct actions *all, void *front);
void *actions_foreign(const struct actions *all);

/* ---- the table ---- */

#define ACTION(name) extern const struct action_kind action_##name;
#include "action/actions.def"

/* A run with `until`, and one that also has `busy` fail; the table has V0's run. */
extern const struct action_kind action_run_until, action_run_now;
/* What all of them take; next to V0's run. */
extern const struct param_list action_takes_run;

/* Returns the kind of this name; NULL if there is none. */
const struct action_kind *action_kind(struct str name);
/* Returns the kind of this message, which its arguments may decide; NULL: none. */
const struct action_kind *action_kind_of(const struct json *message);
/* Returns kind number i of the table; NULL after the last. */
const struct action_kind *action_kind_at(size_t i);
/*
 * Checks arguments; args NULL: none. Returns -1 and sets *e if they are invalid. A
 * foreign kind checks them once more when it is prepared.
 */
int action_check(const struct action_kind *k, const struct json *args, struct err *e);

#endif
