/* SPDX-License-Identifier: MIT */
/*
 * tmux's options, tmux(1) "OPTIONS" and "HOOKS": the table of those that tmux 3.3a has,
 * with scopes, types and defaults; sets of values that inherit from one another; checks
 * and prints as set-option and show-options do.
 *
 * Names are as typed: "status", a beginning that only one option has, "@user",
 * "update-environment[3]". Values are kept as text in tmux's own spelling ("on", "red",
 * "80x24"), bounded by OPTION_VALUE_MAX. A set has at most OPTION_USER_MAX options of
 * users, an option at most OPTION_ITEMS_MAX items.
 */
#ifndef OD_FRONT_TMUX_LANG_OPTIONS_H
#define OD_FRONT_TMUX_LANG_OPTIONS_H

#include "base/buf.h"
#include "base/list.h"
#include "base/str.h"

enum { OPTION_VALUE_MAX = 1 << 20, OPTION_ITEMS_MAX = 4096, OPTION_USER_MAX = 4096 };

enum tmux_option_scope {
    OPTION_SERVER = 1,
    OPTION_SESSION = 2,
    OPTION_WINDOW = 4,
    OPTION_PANE = 8
};

enum tmux_option_type {
    OPTION_STRING,
    OPTION_NUMBER,
    OPTION_KEY,
    OPTION_COLOUR,
    OPTION_FLAG,
    OPTION_CHOICE,
    OPTION_COMMAND /* hooks: their items are lists of commands */
};

/* A row of the table. */
struct tmux_option {
    const char *name;
    unsigned char type;  /* enum tmux_option_type */
    unsigned char scope; /* of enum tmux_option_scope */
    bool array, hook, style;
    const char
        *separator;      /* of an array's text, NULL: " ,"; what -a puts between texts */
    const char *value;   /* default; of an array the items, each a line */
    const char *choices; /* of OPTION_CHOICE: "off on both" */
    int64_t min, max;    /* of OPTION_NUMBER */
    const char *pattern; /* of OPTION_STRING: "*x*"; or NULL */
};

/*
 * A set of options: of the server, of one session, window or pane, or one of the global
 * ones. Embedded in its owner; owns its values.
 */
struct tmux_options {
    struct tmux_options *parent; /* borrowed: has what is not set here; NULL: none */
    struct list values;          /* of options.c: those of users last, sorted */
    size_t n;                    /* how many of users */
    bool global;                 /* made by tmux_options_init_defaults */
};

/* The rows, in the order in which show-options prints them; i = 0, 1, …; NULL: no more.
 */
const struct tmux_option *tmux_option_row(size_t i);

void tmux_options_init(struct tmux_options *o, struct tmux_options *parent);
/* The same with the defaults of all options of a scope: server, -g and -gw. */
void tmux_options_init_defaults(struct tmux_options *o, enum tmux_option_scope scope);
void tmux_options_release(struct tmux_options *o);

/* A name taken apart. */
struct tmux_option_name {
    const struct tmux_option *option; /* NULL: a user's option */
    struct str name;                  /* whole: borrowed from the table or the caller */
    struct str typed;                 /* borrowed, for messages */
    long index;                       /* of an array; -1: none */
};

/*
 * Finds an option by what was typed. Returns -1 with "invalid option: X" or "ambiguous
 * option: X" in why (which may be NULL).
 */
int tmux_option_find(struct tmux_option_name *out, struct str typed, struct buf *why);

/* How set-option sets. */
struct tmux_option_set {
    bool append;   /* -a */
    bool only_new; /* -o: "already set: X" */
    bool unset;    /* -u; of a global set: back to the default */
    /*
     * What this room cannot check: whether a text of OPTION_COMMAND is a list of
     * commands, and whether default-shell is a shell. Appends the text to keep, as tmux
     * prints it, to out; or returns -1 with a sentence in why, which may be NULL. NULL:
     * all is kept as it is.
     */
    int (*check)(void *ctx, const struct tmux_option *option, struct str value,
                 struct buf *out, struct buf *why);
    void *ctx;
};

/*
 * Sets, appends to, toggles (a flag or a choice without a value: value.p is NULL) or
 * unsets an option of o. Returns -1 with tmux's text in why: "unknown value: X", "value
 * is too small: X", "bad colour: X", "not an array: X", "empty value", "already set: X",
 * "invalid style: X".
 */
int tmux_options_set(struct tmux_options *o, const struct tmux_option_name *name,
                     struct str value, struct tmux_option_set how, struct buf *why);

/*
 * The value of an option as text, from o or the first parent that has it; p is NULL if
 * none has. With an index, that item; of an array without one, an empty text that is not
 * NULL. Valid until the set changes.
 */
struct str tmux_options_get(const struct tmux_options *o, struct str name);
/* The same as a number (flags: 0 or 1, choices: their index), or otherwise `none`. */
int64_t tmux_options_number(const struct tmux_options *o, struct str name, int64_t none);
bool tmux_options_on(const struct tmux_options *o, struct str name);
/* Items of an array: i = 0, 1, …; returns false after the last. index may be NULL. */
bool tmux_options_item(const struct tmux_options *o, struct str name, size_t i,
                       long *index, struct str *value);
/* Whether the option is set in o itself, and not in a parent. */
bool tmux_options_own(const struct tmux_options *o, struct str name);

/* What show-options prints. */
struct tmux_option_show {
    bool values;    /* -v: values only */
    bool inherited; /* -A: those of parents too, marked with `*` */
    bool hooks;     /* -H: hooks too; only_hooks: show-hooks */
    bool only_hooks;
    bool quoted; /* commands of hooks are quoted, too, so that each line is NAME VALUE */
};

/* Appends all options of o, each a line, as show-options does. scope: whose table. */
void tmux_options_show(const struct tmux_options *o, enum tmux_option_scope scope,
                       struct tmux_option_show how, struct buf *out);
/*
 * Appends one, if o has it (or, with inherited, a parent). Returns false if it is not
 * set: show-options then prints nothing, or for a user's option "invalid option: X".
 */
bool tmux_options_show_one(const struct tmux_options *o,
                           const struct tmux_option_name *name,
                           struct tmux_option_show how, struct buf *out);

/* The text of one value for #{name} in formats; false: not set anywhere. */
bool tmux_options_format(const struct tmux_options *o, struct str name, struct buf *out);

/* Colours and styles, as set-option checks them. */
bool tmux_colour_valid(struct str s);
bool tmux_style_valid(struct str s);

#endif
