/* SPDX-License-Identifier: MIT */
/*
 * Tools: what a model can call. A tool is one file with `const struct tool tool_NAME` and
 * the line TOOL(NAME) in front/mcp/tools/tools.def; it does not depend on MCP's messages.
 *
 *   the client's arguments ─▶ straightened by `takes` and `also` ─▶ start
 *       ─▶ actions of the action room, one after the other ─▶ tool_end, once
 *
 * A tool does everything through actions: tool_act submits one, and passes on its
 * observation. Actions are named by the call's key and the number of the step, and the
 * call itself is kept at the keeper. So a worker that takes over starts the call again
 * from its beginning, and a step that was submitted before is not repeated: its
 * observation comes from the log, or when it has ended. Between steps a tool keeps only
 * what it can restore from previous observations. A read (a list, a piece of kept output)
 * needs no action.
 */
#ifndef OD_FRONT_MCP_TOOLS_TOOL_H
#define OD_FRONT_MCP_TOOLS_TOOL_H

#include "action/action.h"
#include "base/param.h"

enum {
    TOOL_ANSWER_MAX = 45000,   /* the most that --answer-bytes allows */
    TOOL_ANSWER = 16000,       /* default bytes of text in an answer */
    TOOL_HEAD = 4000,          /* bytes of the beginning of longer text */
    TOOL_ERROR_MAX = 9000,     /* bytes of the text of an error */
    TOOL_PICTURE_MAX = 700000, /* bytes of a picture as base64 */
    TOOL_PICTURES = 8,         /* in an answer */
    TOOL_WAIT_S = 30,
    TOOL_STEPS = 64 /* actions of one call */
};

struct tool_call;

/* Why a call is stopped before its end. */
enum tool_stop {
    TOOL_CANCELLED, /* it was cancelled: stop what it started */
    TOOL_TIMED_OUT, /* its client timed out: what it started goes on */
    TOOL_LEFT       /* its client left: the same */
};

struct tool {
    const char *name, *title;
    /* takes->about is the description; of its rows only name, type (STRING, TEXT, INT,
     * INTS, NUMBER, BOOL), required, choices, about and the default are in the schema,
     * the last as words of the description. Values are clamped to ranges, with a note
     * in the answer; wait_s also by client.max_wait_s. An absent argument that has
     * dflt gets it, unless that is null. */
    const struct param_list *takes;
    const char *skill; /* it takes the arguments of this skill, and takes is NULL */
    /* Its set; NULL: it is one of the default tools. */
    const char *set;
    /* Names that other tools have for its arguments: "cmd=command script=command"; for
     * wait_s also times in milliseconds and switches (true: 0). The name after = need
     * not be a row of takes: "workdir=cwd" gives args a member cwd, as received. */
    const char *also;
    bool read_only, destructive, idempotent, open_world; /* its annotations */
    bool always_load;  /* not to be deferred by a client */
    const char *keeps; /* names, with spaces between, for which "" is a value and not
                          absent; NULL: none */
    /* The members of its result object besides text, as properties of JSON Schema, for
     * --structured. NULL: it gives pictures, and never has structured content. */
    const char *output;
    /* Begins the call, or begins it again in the next worker. May end it before it
     * returns. */
    void (*start)(struct tool_call *c);
    /*
     * The call is over; no tool_end follows. The tool stops its actions (actions_cancel
     * of the last tool_act) and frees c->own. NULL: nothing to do. Before tool_end the
     * tool frees c->own itself. A worker that ends calls neither.
     */
    void (*stop)(struct tool_call *c, enum tool_stop why);
    /* Appends one line, at most 100 characters, about what happens now. NULL: none. */
    void (*progress)(const struct tool_call *c, struct buf *line);
};

/* The limits of a call's client. */
struct tool_client {
    int max_wait_s;      /* wait_s is clamped to it */
    size_t answer_max;   /* bytes of text */
    char credential[65]; /* identifies it, the same after a restart */
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
    bool resumed;             /* a previous worker had started it */
    uint64_t action;          /* of the step that runs, or ran last; 0: none */
    void *own;                /* for the tool's use */
};

/*
 * Submits the action {"action": …, "args": …, …} as step number `step` of the call
 * (0 … TOOL_STEPS - 1, each used once), in that session, and calls fn once with its
 * observation: the event as an object, borrowed until fn returns; or NULL and *e if the
 * action is not valid, failed (e has the code and text of its observation) or its
 * observation was lost. Takes message. fn is called at the end of a turn, not before
 * tool_act returns, and not after the call is over. c->action is the action's id. One
 * step runs at a time.
 */
typedef void tool_observed(struct tool_call *c, const struct json *event,
                           const struct err *e);
void tool_act(struct tool_call *c, unsigned step, struct str session,
              struct json *message, tool_observed *fn);

/*
 * Asks for a progress notification now, at the first output or when a program waits for
 * input. At most one is sent in a second; without this, one is sent every 5 s.
 */
void tool_progress(struct tool_call *c);

struct tool_picture {
    struct str base64; /* padded */
    const char *type;  /* "image/png" */
};

struct tool_result {
    struct str text;     /* without the state line; the tool cuts it to answer_max, see
                          * tool_cut */
    struct str state;    /* the last line, without its brackets; empty: none, or
                          * "failed" */
    bool failed;         /* isError: the tool did not do its work */
    struct json *object; /* taken: the members of the result object, without text */
    struct tool_picture pictures[TOOL_PICTURES];
    unsigned npictures;
    struct json *blocks; /* taken: an array of more content, as MCP has it; NULL: none */
};
/* Ends the call, once; it is freed. The strings are borrowed. */
void tool_end(struct tool_call *c, struct tool_result *r);
/* The same with an error, whose text is e's sentence and advice what to do about it. */
void tool_fail(struct tool_call *c, const struct err *e);

/* ---- what tools share (text.c) ---- */

/*
 * Appends text, cut at lines to `max` bytes: its first `head` bytes and its end, with a
 * line between them that names the lines that are left out; head 0: only its beginning.
 * Lines beyond 2,000 bytes are cut. Bytes that are not UTF-8 become U+FFFD, and *bent is
 * set. *from and *to are the lines that are left out, 0: none.
 */
void tool_cut(struct buf *out, struct str text, size_t head, size_t max, uint64_t *from,
              uint64_t *to, bool *bent);

/* ---- the table ---- */

#define TOOL(name) extern const struct tool tool_##name;
#include "front/mcp/tools/tools.def"
#undef TOOL

/* Returns tool number i; NULL after the last. */
const struct tool *tool_at(size_t i);
/* Returns t->takes, or that of its skill. Never NULL. */
const struct param_list *tool_takes(const struct tool *t);

#endif
