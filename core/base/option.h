/* SPDX-License-Identifier: MIT */
/*
 * Options as data: a row has an option's name, its argument, the variable that may set it
 * and its meaning. The rows define which words are accepted, how a value is checked (the
 * error names where the value came from), the manual, and the JSON that is stored for the
 * option's owner. A table has the options of one owner; od serve adds the tables of its
 * front-ends and parts to its own, and uses none of their rows itself.
 *
 *   options_new       the tables
 *   options_take      argv, option by option; options_environment sets the others
 *   options_check     every value by its row
 *   options_store     each owner's object, completed by its prepare
 *
 * The command line counts before the environment, and the environment before the default.
 * A value that occurs again replaces the earlier one, except in lists.
 */
#ifndef OD_BASE_OPTION_H
#define OD_BASE_OPTION_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

struct options;

enum option_type {
    OPTION_TEXT,    /* a string, as it is written */
    OPTION_INT,     /* a whole number, stored times unit */
    OPTION_SECONDS, /* 30, 0.5, 8h; stored in milliseconds */
    OPTION_SWITCH,  /* --NAME is true; in the environment yes or no */
    OPTION_TOGGLE,  /* the same, and --no-NAME is false */
    OPTION_MAYBE,   /* a string, if the next word is not an option */
    OPTION_LIST,    /* strings, each given by itself; commas in the environment */
    OPTION_LINES,   /* the same; lines in the environment */
    OPTION_WORDS    /* the words up to the next option, each once; commas there */
};

struct option_row {
    const char *name; /* without its dashes; NULL ends a table */
    enum option_type type;
    const char *value;  /* the argument's name: "SECONDS". NULL: it has none */
    const char *env;    /* the variable of the same meaning; NULL: none */
    const char *member; /* of the stored object; NULL: name, with "_" for "-" */
    const char
        *dflt; /* as one would write it, stored when nothing is given; NULL: none */
    const char *unset; /* for the manual, what absent means; NULL: dflt, else "none" */
    /*
     * INT: the range. SECONDS: the range in milliseconds. Lists: max is how many there
     * can be. max 0: as the type has it, and at most 64 in a list.
     */
    int64_t min, max;
    int64_t unit;        /* INT: what 1 stands for; 0: 1 */
    const char *choices; /* TEXT: the only values, with spaces between; NULL: any */
    const char *takes;   /* "seconds, as in 30": for the refusal; NULL: by the type */
    /*
     * The owner's check of one value. Returns 0, or -1: the error is *e if check set it,
     * else it says what the row takes. May be NULL.
     */
    int (*check)(struct str value, struct err *e);
    bool word;         /* not an option, but the one word that no option takes: PORT */
    bool secret;       /* overwritten where it was given, and in no message */
    const char *about; /* what it does, for the manual, without the last period */
};

struct option_table {
    const char *heading; /* in the manual: "Event stream" */
    const char *section; /* the member of what is stored that has its values; "": all */
    const char *needs;   /* the option without which no other one may be given; NULL */
    const char *what;    /* what that option makes, for the refusal: "a backend" */
    const struct option_row *rows; /* NULL: none, and only prepare counts */
    /*
     * Completes what is stored, in the directory and with the environment in which the
     * options were given: checks relations between options, reads files. *own, the object
     * with the values, is changed or replaced; if it becomes NULL, nothing is stored.
     * Returns 0, or -1 and sets *e. May be NULL.
     */
    int (*prepare)(const struct options *given, struct json **own, struct err *e);
};

/*
 * Tables and their rows are borrowed; no two rows have the same name. applet: its name,
 * for "see od help NAME".
 */
struct options *options_new(const char *applet, const struct option_table *const *tables,
                            size_t n);
/* Takes NULL. Values and names borrowed from o become invalid. */
void options_free(struct options *o);
/*
 * Takes words[0] and, if it is an option, the words that belong to it, all borrowed; NULL
 * ends words. Returns how many, or -1 and sets *e.
 */
int options_take(struct options *o, char **words, struct err *e);
/*
 * Sets options that were not given from the environment, where lists are cut into items.
 * Returns 0, or -1 and sets *e.
 */
int options_environment(struct options *o, struct err *e);
/* Checks every value. Returns 0, or -1 and sets *e, which names option or variable. */
int options_check(struct options *o, struct err *e);
/*
 * Adds each table's section to out, then overwrites secrets in argv and environment.
 * After options_check, once. Returns 0, or -1 and sets *e.
 */
int options_store(struct options *o, struct json *out, struct err *e);

/* ---- what was given ---- */

/* The text that counts, by option or variable. NULL: there is none. Borrowed. */
const char *option_text(const struct options *o, const char *name);
/* Item i of a list, by option or variable. NULL: there are no more. Borrowed. */
const char *option_item(const struct options *o, const char *name, unsigned i);
/* On the command line? */
bool option_given(const struct options *o, const char *name);
/* Of a switch: is it on, by option, variable or default? */
bool option_is_on(const struct options *o, const char *name);
/* Between options_check and options_store: the value as it is stored, or NULL. Borrowed.
 */
const struct json *option_json(const struct options *o, const char *name);
/* Where it came from, "--listen" or "OD_LISTEN", in space. */
const char *option_source(const struct options *o, const char *name, char space[64]);
/* An option of the command line that is not in names, a NULL-terminated list; NULL: there
 * is none. */
const char *option_other(const struct options *o, const char *const *names);
/*
 * The path from the root, unresolved, so that links may change later. Returns 0, or -1
 * and sets *e if it is too long.
 */
int option_absolute(const char *path, struct buf *out, struct err *e);
/* Overwrites a value of argv or the environment. Takes NULL. */
void option_wipe(char *value);

/* ---- the manual ---- */

/* Appends the rows of a table under its heading; only: those of these names, with spaces
 * between. NULL: all. */
void options_help(const struct option_table *t, const char *only, struct buf *out);

#endif
