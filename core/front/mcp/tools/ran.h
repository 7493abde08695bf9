/* SPDX-License-Identifier: MIT */
/*
 * What the tools shell and shell_input share: they make an answer from an observation of
 * `run` or `wait`. Its text is the output that was not shown yet, preceded by the text of
 * a lost answer, if any. state.h makes its state line.
 */
#ifndef OD_FRONT_MCP_TOOLS_RAN_H
#define OD_FRONT_MCP_TOOLS_RAN_H

#include "front/mcp/tools/output.h"
#include "front/mcp/tools/state.h"
#include "front/mcp/tools/told.h"
#include "front/mcp/tools/tool.h"
#include "shell/session.h"

enum {
    RAN_KEYS_MAX = 32,
    RAN_AT_ONCE_MS = 200 /* wait_s 0: a command that fails at once is reported */
};

/* The row of wait_s, for tools whose description explains what ends the wait. */
#define RAN_WAIT \
    { \
        .name = "wait_s", .type = PARAM_INT, .ranged = true, .max = 600, \
        .about = "Seconds to wait, default 30; 0 returns at once." \
    }

/* c->own of a call of these tools. */
struct ran {
    struct tool_call *c; /* the owner of this */
    char session[ACTION_SESSION_MAX + 1];
    bool input; /* the tool is shell_input */
    struct output_showing *showing;
    struct output *reading;
    struct timer late;  /* runs until the action has begun */
    struct json *event; /* owned: the observation; NULL: not yet */
    uint64_t command;   /* the action of the command */
    uint64_t begin, from, to;
    struct buf text; /* owned: the beginning of the answer */
    /* shell_input: what to do, in this order */
    struct str keys; /* borrowed from the arguments: the keys that are left */
    unsigned step;
    bool text_done, signal_done;
    uint64_t cell; /* the cell of the call; 0: the call is about a shell */
};

/*
 * Makes c->own. session: the default if the arguments name none. Returns NULL after
 * ending the call if the name is not valid.
 */
struct ran *ran_new(struct tool_call *c, const char *session);
void ran_free(struct tool_call *c);
/* Returns wait_s as the timeout of an action. */
double ran_timeout(const struct tool_call *c);
/* Begins the next step: a wait for that action's command or cell; 0: the running one. */
void ran_wait(struct tool_call *c, uint64_t action, tool_observed *fn);
/* Ends the call with an observation of `run` or `wait`. */
void ran_answer(struct tool_call *c, const struct json *event);
/* Writes the name of a session that does not exist, as a proposal: at most 4 letters. */
void ran_other(struct engine *en, char name[8]);
/*
 * Returns the action of the running command of a session, or of the last one; 0 if no
 * action began it.
 */
uint64_t ran_newest(struct session *s, char id[LIMIT_ID + 1]);
/* Appends the foreground program, as far as it is known. */
void ran_program(const struct session *s, struct buf *out);
/* Ends the call as an error with that text. */
void ran_fail(struct tool_call *c, const struct buf *text);
/* The same with e's text. */
void ran_fail_as(struct tool_call *c, const struct err *e);
/* Appends the line for progress: the last line of output, or that a program waits. */
void ran_progress(const struct tool_call *c, struct buf *line);

/* Waits for the cell r->cell and answers (python.c). */
void cell_wait(struct tool_call *c);
/* Returns the name of a session's cells in told.h: "k/SESSION". */
const char *cell_told(const struct ran *r, char name[ACTION_SESSION_MAX + 3]);
/* Continues a call of shell with is_input as one of shell_input. */
void input_begin(struct tool_call *c);
void input_stop(struct tool_call *c, enum tool_stop why);

/* The members of the result object of these tools, and of python. */
#define RUN_OBJECT \
    "{\"state\":{\"type\":\"string\"},\"session\":{\"type\":\"string\"}," \
    "\"exit_code\":{\"type\":\"integer\"},\"signal\":{\"type\":\"string\"}," \
    "\"command\":{\"type\":\"integer\"},\"cwd\":{\"type\":\"string\"}," \
    "\"seconds\":{\"type\":\"number\"},\"lines\":{\"type\":\"integer\"}," \
    "\"bytes\":{\"type\":\"integer\"},\"shown\":{\"type\":\"array\"}," \
    "\"waiting\":{\"type\":\"object\"}}"

#endif
