/* SPDX-License-Identifier: MIT */
/*
 * The action language of browsers for agents: `click('a12') fill("7", 'text')`.
 *
 * A text is searched for calls in Python's syntax; text between them is skipped
 * (BrowserGym's core/action/parsers.py), and nothing is ever evaluated. As in BrowserGym,
 * names are checked when the text is parsed and arguments when a call is bound: a call
 * with bad arguments fails when its turn comes.
 */
#ifndef OD_WEBPAGE_BROWSE_ACTION_H
#define OD_WEBPAGE_BROWSE_ACTION_H

#include "base/buf.h"
#include "base/err.h"

enum {
    BROWSE_TEXT_MAX = 1 << 20, /* bytes of one text: a file that is filled in */
    BROWSE_DEPTH_MAX = 32,     /* nesting of lists */
    BROWSE_CALLS_MAX = 256,
    BROWSE_VALUES_MAX = 16384, /* values in all calls */
    BROWSE_PARAMS_MAX = 5,
};

enum browse_kind {
    BROWSE_NONE,
    BROWSE_BOOL,
    BROWSE_INT,
    BROWSE_REAL,
    BROWSE_STR,
    BROWSE_LIST,
    BROWSE_TUPLE,
    BROWSE_DICT, /* items are key, value, key, value … */
};

struct browse_value {
    struct browse_value *next;  /* the next argument, or item */
    struct browse_value *items; /* of a list, tuple or dict */
    struct browse_value *older; /* owned by the parse */
    struct str name; /* of an argument, a slice of the text; "" if by position */
    struct str text; /* of BROWSE_STR: escapes decoded, valid UTF-8 */
    double number;   /* of both kinds of numbers */
    enum browse_kind kind;
    bool truth;
    char *own; /* owned: text's bytes */
};

/* The action; in the order of the table in browse_action.c. */
enum browse_do {
    BROWSE_NOOP,
    BROWSE_SEND_MSG,
    BROWSE_INFEASIBLE,
    BROWSE_GOTO,
    BROWSE_GO_BACK,
    BROWSE_GO_FORWARD,
    BROWSE_NEW_TAB,
    BROWSE_TAB_CLOSE,
    BROWSE_TAB_FOCUS,
    BROWSE_CLICK,
    BROWSE_DBLCLICK,
    BROWSE_HOVER,
    BROWSE_FILL,
    BROWSE_CLEAR,
    BROWSE_CHECK,
    BROWSE_UNCHECK,
    BROWSE_SELECT,
    BROWSE_PRESS,
    BROWSE_FOCUS,
    BROWSE_DRAG,
    BROWSE_UPLOAD,
    BROWSE_SCROLL,
    BROWSE_SCROLL_AT,
    BROWSE_MOUSE_MOVE,
    BROWSE_MOUSE_DOWN,
    BROWSE_MOUSE_UP,
    BROWSE_MOUSE_CLICK,
    BROWSE_MOUSE_DBLCLICK,
    BROWSE_MOUSE_DRAG,
    BROWSE_MOUSE_UPLOAD,
    BROWSE_KEY_PRESS,
    BROWSE_KEY_DOWN,
    BROWSE_KEY_UP,
    BROWSE_KEY_TYPE,
    BROWSE_KEY_INSERT,
    BROWSE_WAIT_FOR,
    BROWSE_RELOAD,
};

struct browse_call {
    enum browse_do what;
    struct str name; /* as in the table */
    size_t at;       /* of its first byte in the text */
    struct browse_value *args;
};

struct browse_text {
    struct browse_call *calls; /* owned */
    size_t n;
    struct browse_value *all; /* owned: the newest of all values */
};

/*
 * Finds the calls; text is borrowed as long as they are used. Returns -1 if there is an
 * unknown name or no call: *e is the message of BrowserGym's exception with its class,
 * and *why is a message for people with line, column and reason of the call that was
 * parsed furthest. browse_text_release is needed in any case.
 */
int browse_parse(struct browse_text *out, struct str text, struct err *e,
                 struct err *why);
void browse_text_release(struct browse_text *t);

/* How many calls of a text were done. */
struct browse_progress {
    size_t done, all; /* calls */
    struct str name;  /* of the call that was begun last; static */
};

/* A call's arguments in the order of its parameters; NULL: not given. */
struct browse_bound {
    const struct browse_value *arg[BROWSE_PARAMS_MAX];
};

/*
 * Binds arguments to parameters, by position and name. Returns -1 and sets *e to the
 * message of the TypeError, or of the ValueError for a bid that is not a string.
 */
int browse_bind(struct browse_bound *out, const struct browse_call *c, struct err *e);

/* What wait_for waits for: one of the strings, slices of the call's values. */
struct browse_wanted {
    struct str any;                 /* a bid, a text or a selector */
    struct str text, bid, selector; /* p is NULL if it was not given */
    int ms;
};

enum { BROWSE_WAIT_MS = 10000, BROWSE_WAIT_MS_MAX = 100000 };

/*
 * Reads the arguments of a bound wait_for. Returns -1 and sets *e unless they are one
 * text and a time.
 */
int browse_wanted(struct browse_wanted *out, const struct browse_bound *b, struct err *e);
/* Returns -1 and sets *e to the error of a wait that took ms; why may be NULL. */
int browse_wanted_late(const struct browse_wanted *w, int ms, const char *why,
                       struct err *e);

/* Appends Python's repr() of a text, and of any value. Returns -1 if out is full. */
int browse_repr_text(struct buf *out, struct str text);
/*
 * Splits `button "Save"` or `button 'Save'`, which can stand where a bid does: the role
 * and the accessible name (WAI-ARIA) of an element. Returns false if it is another text.
 */
bool browse_split_named(struct str bid, struct str *role, struct str *name);
int browse_repr(struct buf *out, const struct browse_value *v);

/* Appends the names of all actions, with commas between. */
void browse_action_names(struct buf *out);

#endif
