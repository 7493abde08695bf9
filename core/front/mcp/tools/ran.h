/* SPDX-License-Identifier: MIT */
/*
 * What the tools shell and shell_input share: an observation of `run` or `wait` becomes
 * an answer. Its text is the output that nobody was shown, and what an answer before has
 * left untold; its state line is state.h's.
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
    RAN_AT_ONCE_MS = 200 /* wait_s 0: what fails at once is seen */
};

/* The row of wait_s, where the tool's description says what it ends. */
#define RAN_WAIT \
    { \
        .name = "wait_s", .type = PARAM_INT, .ranged = true, .max = 600, \
        .about = "Seconds to wait, default 30; 0 returns at once." \
    }

/* The own of a call of these tools. */
struct ran {
    struct tool_call *c; /* which owns this */
    char session[ACTION_SESSION_MAX + 1];
    bool input; /* it types or waits: shell_input */
    struct output_showing *showing;
    struct output *reading;
    struct timer late;  /* the action has not even begun */
    struct json *event; /* owned: the observation; NULL: not yet */
    uint64_t command;   /* the action of the command */
    uint64_t begin, from, to;
    struct buf text; /* owned: what the answer begins with */
    /* shell_input: what is to be done, in this order */
    struct str keys; /* borrowed from the arguments: those that are left */
    unsigned step;
    bool text_done, signal_done;
    uint64_t cell; /* it is about this cell; 0: a shell */
};

/*
 * Makes c->own. session: if it is not in the arguments. Returns NULL, and the call is
 * over, if that is no name.
 */
struct ran *ran_new(struct tool_call *c, const char *session);
void ran_free(struct tool_call *c);
/* wait_s as the timeout of an action. */
double ran_timeout(const struct tool_call *c);
/* The next step: waits for that action's command or cell; 0: for what runs. */
void ran_wait(struct tool_call *c, uint64_t action, tool_observed *fn);
/* Ends the call with an observation of `run` or `wait`. */
void ran_answer(struct tool_call *c, const struct json *event);
/* A session that is not there, to be proposed. At most 4 letters and its end. */
void ran_other(struct engine *en, char name[8]);
/* The command that runs in a session, or the last one: its action; 0: not an action's. */
uint64_t ran_newest(struct session *s, char id[LIMIT_ID + 1]);
/* Does the last line of output ask for a password? Not all programs say so to the tty. */
bool ran_asks_password(struct session *s);
/* Appends the program that is in front, as far as it is known. */
void ran_program(const struct session *s, struct buf *out);
/* Ends the call as an error with that text. */
void ran_fail(struct tool_call *c, const struct buf *text);
/* The same with e's. */
void ran_fail_as(struct tool_call *c, const struct err *e);
/* The line for progress: the last line of output, or that it waits. */
void ran_progress(const struct tool_call *c, struct buf *line);

/* Waits for the cell r->cell and answers (python.c). */
void cell_wait(struct tool_call *c);
/* The name by which told.h knows cells of a session: "k/SESSION". */
const char *cell_told(const struct ran *r, char name[ACTION_SESSION_MAX + 3]);
/* A call with is_input is one of shell_input: goes on as that one. */
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
