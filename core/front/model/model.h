/* SPDX-License-Identifier: MIT */
/*
 * Checks of requests for front-ends whose protocol is a FastAPI application's: fields are
 * declared as data, and what does not fit is reported as pydantic 2 reports it, with
 * status 422 and the body
 *
 *   {"detail": [{"type", "loc": ["query" or "path" or "body", …], "msg", "input",
 * "ctx"?}]}
 *
 * (https://docs.pydantic.dev/latest/errors/validation_errors/). Clients look at the
 * status, loc and type. Values are converted as pydantic's lax mode does it: "2" and 2.0
 * are the integer 2, "yes" of a query is true. An input whose name tells of a secret is
 * replaced by asterisks in the report.
 *
 * Lists of errors are JSON arrays that the caller owns; NULL is the empty list.
 */
#ifndef OD_FRONT_MODEL_MODEL_H
#define OD_FRONT_MODEL_MODEL_H

#include "base/json.h"
#include "http/httpd.h"

enum model_type {
    MODEL_STRING,
    MODEL_INT, /* below 2^53 */
    MODEL_NUMBER,
    MODEL_BOOL,
    MODEL_UUID,    /* as 32 lower-case hex digits */
    MODEL_TIME,    /* as microseconds since 1970; without a zone it is UTC */
    MODEL_LITERAL, /* one of choices */
    MODEL_ENUM,    /* the same with pydantic's other name for it */
    MODEL_STRINGS, /* an array of strings; in a query a parameter that may be repeated */
    MODEL_MAP,     /* an object with strings as values */
    MODEL_OBJECT,  /* any object */
    MODEL_ANY
};

struct model_field {
    const char *name; /* NULL ends a list */
    enum model_type type;
    bool required;
    bool nullable;       /* null is a value, and stays */
    const char *choices; /* of LITERAL and ENUM, with spaces between */
    /* The range of a number: greater than, at least, at most. */
    bool has_gt, has_ge, has_le;
    int64_t gt, ge, le;
    /* Of a STRING: the pattern, as it is reported, and the check for it; may be NULL. */
    const char *pattern;
    bool (*fits)(struct str value);
    const char *about; /* one sentence, without its end */
};

struct model {
    const struct model_field *fields;
    bool closed; /* a member that is not listed is an error; else it is left out */
};

/*
 * Checks the members of body, which come after loc: "body", or another place. Returns an
 * object with the members of m that were given, converted, which the caller owns; NULL
 * and adds to *errors if they do not fit.
 */
struct json *model_members(const struct model *m, const struct json *body,
                           const char *loc, struct json **errors);
/* The same for the query of r. A parameter that is repeated counts as given last. */
struct json *model_query(const struct model *m, const struct req *r,
                         struct json **errors);
/* The same for one value, given as text, of a path: loc is ["path", f->name]. */
struct json *model_path(const struct model_field *f, struct str text,
                        struct json **errors);
/*
 * The JSON body of r, of any Content-Type, checked by m: as model_members. A body that
 * is absent, not JSON or not an object is an error, too.
 */
struct json *model_body(const struct model *m, const struct req *r, struct json **errors);

/*
 * Adds an error. name: the second part of its place; NULL: there is none. input is
 * copied; NULL: null.
 */
void model_error(struct json **errors, const char *type, const char *loc,
                 const char *name, const char *msg, const struct json *input);
/* Adds the error of a body that is not JSON; why: what json_parse reported of it. */
void model_not_json(struct json **errors, struct str body, const struct err *why);
/* Answers 422 with these errors. Takes errors. */
void model_refuse(struct req *r, struct json *errors);
/* Appends the errors as lines of text, as str(ValidationError) has them. */
void model_text(const char *model, const struct json *errors, struct buf *out);

#endif
