/* SPDX-License-Identifier: MIT */
/*
 * Parameters as data: one list describes what an action takes. The check of its
 * arguments, its JSON Schema and its manual agree, because they are all made from it.
 *
 * null stands for an optional argument that is absent. Of a PATH named P, the argument P
 * is text and P_base64 the exact bytes; either will do.
 */
#ifndef OD_BASE_PARAM_H
#define OD_BASE_PARAM_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

enum param_type {
    PARAM_STRING,
    PARAM_BASE64, /* bytes, as padded base64 */
    PARAM_PATH,
    PARAM_INT, /* whole, below 2^53 */
    PARAM_NUMBER,
    PARAM_BOOL,
    PARAM_OBJECT,
    PARAM_STRINGS,     /* an array of strings */
    PARAM_INTS,        /* an array of whole numbers */
    PARAM_TEXT,        /* a string that may have many lines */
    PARAM_NAME_OR_INT, /* a string, or an integer; min and max are the integer's */
    PARAM_ANY
};

struct param {
    const char *name; /* NULL ends a list */
    enum param_type type;
    bool required;
    /* The range of a number; of a STRING its least length is min. max 0: no limit. */
    bool ranged;
    int64_t min, max;
    const char *choices; /* the only strings, with spaces between; NULL: any */
    const char *dflt;    /* what absent means, as JSON; NULL: see about */
    const char *pattern; /* for the schema: strings that the caller's own check accepts */
    const char *about;   /* one sentence, without its end */
};

/* What an action takes. */
struct param_list {
    const char *about; /* what the action does: one sentence, without its end */
    const struct param *params;
    /* Names with | between: arguments that clients send without effect. NULL: none. */
    const char *ignored;
    /* For the schema: what relations between parameters add, as members of JSON. */
    const char *rule;
    const char *example; /* arguments that are valid, as JSON */
};

/*
 * Whether args, an object or NULL (no arguments), fit the list. except: a parameter that
 * is not required here; may be NULL. Returns 0, or -1 and sets *e (INVALID), which names
 * the parameter, what was given and what is allowed.
 */
int params_check(const char *action, const struct param_list *l, const struct json *args,
                 const char *except, struct err *e);
/* The same of their names alone: whether each is in the list. */
int params_known(const char *action, const struct param_list *l, const struct json *args,
                 struct err *e);
/* Returns the JSON Schema (2020-12) of args that params_check accepts. The caller owns
 * it. */
struct json *params_schema(const struct param_list *l);
/* The same for one value, null excluded. */
struct json *param_schema(const struct param *p);
/* Returns whether any argument is required. */
bool params_required(const struct param_list *l);
/* Appends a paragraph for each parameter: name, type, range, default, sentence. */
void params_help(const struct param_list *l, struct buf *out);

#endif
