/* SPDX-License-Identifier: MIT */
/*
 * Tools: what a model can call. A tool is one file with `const struct tool tool_NAME` and
 * the line TOOL(NAME) in front/mcp/tools/tools.def; it knows nothing of MCP's messages.
 *
 *   the client's arguments ─▶ straightened by `takes` and `also` ─▶ start
 *       ─▶ actions of the action room, one after the other ─▶ tool_end, once
 *
 * A tool does everything through actions: tool_act submits one, and gives back its
 * observation. Actions are named by the call's key and the number of the step, and the
 * call itself is kept at the keeper. So a worker that takes over starts the call again
 * from its beginning, and each step that was asked before is not done again: its
 * observation comes from the log, or when it has ended. Between steps a tool keeps
 * nothing that it cannot get from the observations before; what only reads (a list, a
 * piece of kept output) needs no action.
 */
#ifndef OD_FRONT_MCP_TOOLS_TOOL_H
#define OD_FRONT_MCP_TOOLS_TOOL_H

#include "action/action.h"
#include "base/param.h"

enum {
    TOOL_ANSWER_MAX = 45000,   /* the most that --answer-bytes allows */
    TOOL_ANSWER = 16000,       /* bytes of text in an answer, the default of it */
    TOOL_HEAD = 4000,          /* of a longer stream: so much of its beginning */
    TOOL_ERROR_MAX = 9000,     /* bytes of the text of an error */
    TOOL_PICTURE_MAX = 700000, /* bytes of a picture as base64 */
    TOOL_PICTURES = 8,         /* in an answer */
    TOOL_WAIT_S = 30,
    TOOL_STEPS = 64 /* actions of one call */
};

struct tool_call;

/* Why a call is over before its end. */
enum tool_stop {
    TOOL_CANCELLED, /* somebody stopped it: what it started is stopped */
    TOOL_TIMED_OUT, /* its client's patience ended: what it started goes on */
    TOOL_LEFT       /* nobody is there any more: the same */
};

struct tool {
    const char *name, *title;
    /* takes->about is the description; of its rows only name, type (STRING, TEXT, INT,
     * INTS, NUMBER, BOOL), required, choices, about and the default are in the schema,
     * the last as words of the description. Ranges are held by clamping, with a note in
     * the answer; wait_s also by client.max_wait_s. An absent argument that has dflt gets
     * it, unless that is null. */
    const struct param_list *takes;
    const char *skill; /* what it takes is what this skill takes, and takes is NULL */
    /* Its set, if it is not one of the default tools; NULL: it is. */
    const char *set;
    /* Names that other tools have for its arguments: "cmd=command script=command"; for
     * wait_s also times in milliseconds and switches (true: 0). What stands behind = need
     * not be a row of takes: "workdir=cwd" gives args a member cwd, as it came. */
    const char *also;
    bool read_only, destructive, idempotent, open_world; /* its annotations */
    bool always_load;  /* not to be deferred by a client */
    const char *keeps; /* names, with spaces between, of which "" is a value and not
                          absent; NULL: none */
    /* The members of its result object beside text, as properties of JSON Schema: for
     * --structured. NULL: it gives pictures, and never has structured content. */
    const char *output;
    /* Begins, or begins again in another worker. May end the call before it returns. */
    void (*start)(struct tool_call *c);
    /*
     * The call is over; no tool_end follows. What its actions do is the tool's to stop
     * (actions_cancel of the last tool_act). Frees c->own. NULL: nothing to do. Before
     * tool_end the tool frees c->own itself. A worker that ends calls neither.
     */
    void (*stop)(struct tool_call *c, enum tool_stop why);
    /* Appends one line, at most 100 characters, of what happens now. NULL: nothing. */
    void (*progress)(const struct tool_call *c, struct buf *line);
};

/* What the client of a call is known to stand. */
struct tool_client {
    int max_wait_s;      /* wait_s is clamped to it */
    size_t answer_max;   /* bytes of text */
    char credential[65]; /* hex digits: who it is, the same over restarts */
};

/* One call of a tool. Owned by the front-end, from start to tool_end or stop. */
struct tool_call {
    const struct tool *tool;
    struct engine *en;
    struct actions *actions;
    struct fronts *fronts;
    struct tool_client client;
    struct json *args;        /* owned: an object that fits takes */
    struct buf notes;         /* owned: lines that the answer has before its state line,
                                 each in parentheses and with its newline */
    char key[ACTION_KEY + 1]; /* the same after a restart */
    int64_t since_ms;         /* CLOCK_REALTIME: when it was first started */
    bool again;               /* a worker before had started it */
    uint64_t action;          /* of the step that runs, or ran last; 0: none */
    void *own;                /* the tool's */
};

/*
 * Submits the action {"action": …, "args": …, …} as step number `step` of the call
 * (0 … TOOL_STEPS - 1, each used once), in that session, and calls fn once with its
 * observation: the event as an object, borrowed until fn returns; or NULL and *e, when
 * the action makes no sense, failed (the observation says error: e has its code and
 * sentence) or its observation was lost. Takes message. fn is called at the end of a
 * turn, not before tool_act returns, and not after the call is over. c->action is the
 * action's id. One step runs at a time.
 */
typedef void tool_observed(struct tool_call *c, const struct json *event,
                           const struct err *e);
void tool_act(struct tool_call *c, unsigned step, struct str session,
              struct json *message, tool_observed *fn);

/*
 * Something happened that is worth a progress notification now: the first output, or that
 * it waits. At most one goes out in a second; without that, one goes out every 5 s.
 */
void tool_progress(struct tool_call *c);

struct tool_picture {
    struct str base64; /* padded */
    const char *type;  /* "image/png" */
};

struct tool_result {
    struct str text;     /* without the state line; longer than answer_max: cut by whoever
                            made it, see tool_cut */
    struct str state;    /* the last line, without its brackets; empty: none, of an error
                            that text says */
    bool failed;         /* isError: the tool did not do its work */
    struct json *object; /* taken: the members of the result object, without text */
    struct tool_picture pictures[TOOL_PICTURES];
    unsigned npictures;
    struct json *blocks; /* taken: an array of more content, as MCP has it; NULL: none */
};
/* Ends the call, once; it is freed. The strings are borrowed. */
void tool_end(struct tool_call *c, struct tool_result *r);
/* The same as an error whose text is e's sentence, with what to do about it. */
void tool_fail(struct tool_call *c, const struct err *e);

/* ---- what tools share (text.c) ---- */

/*
 * Appends text, cut at lines to `max` bytes: its first `head` bytes and its end, with a
 * line between them that says which lines are left out; head 0: only its beginning. Lines
 * beyond 2,000 bytes are cut. What is no UTF-8 becomes U+FFFD, and *bent is set. *from
 * and *to are the lines that are left out, 0: none.
 */
void tool_cut(struct buf *out, struct str text, size_t head, size_t max, uint64_t *from,
              uint64_t *to, bool *bent);

/* ---- the table ---- */

#define TOOL(name) extern const struct tool tool_##name;
#include "front/mcp/tools/tools.def"
#undef TOOL

/* Number i of the table; NULL: there are no more. */
const struct tool *tool_at(size_t i);
/* t->takes, or that of its skill. Never NULL. */
const struct param_list *tool_takes(const struct tool *t);

#endif
