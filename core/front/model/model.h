/* SPDX-License-Identifier: MIT */
/*
 * Checks of requests for front-ends whose protocol is that of a FastAPI application:
 * fields are declared as data, and errors are reported as by pydantic 2, with status 422
 * and the body
 *
 *   {"detail": [{"type", "loc": ["query" or "path" or "body", …], "msg", "input",
 * "ctx"?}]}
 *
 * (https://docs.pydantic.dev/latest/errors/validation_errors/). Clients look at the
 * status, loc and type. Values are converted as in pydantic's lax mode: "2" and 2.0 are
 * the integer 2, "yes" in a query is true. In the report, an input whose name suggests a
 * secret is replaced by asterisks.
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
    MODEL_ENUM,    /* the same, reported under pydantic's name for enums */
    MODEL_STRINGS, /* an array of strings; in a query a parameter that may be repeated */
    MODEL_MAP,     /* an object with strings as values */
    MODEL_OBJECT,  /* any object */
    MODEL_ANY
};

struct model_field {
    const char *name; /* NULL ends a list */
    enum model_type type;
    bool required;
    bool nullable;       /* null is a valid value and is kept */
    const char *choices; /* of LITERAL and ENUM, with spaces between */
    /* The range of a number: greater than, at least, at most. */
    bool has_gt, has_ge, has_le;
    int64_t gt, ge, le;
    /* For a STRING: the pattern for reports, and its check; may be NULL. */
    const char *pattern;
    bool (*fits)(struct str value);
    const char *about; /* one sentence, without its end */
};

struct model {
    const struct model_field *fields;
    bool closed; /* an unlisted member is an error; otherwise it is left out */
};

/*
 * Checks the members of body. loc: their place, such as "body". Returns an object with
 * the given members of m, converted, which the caller owns; NULL, after adding to
 * *errors, if they are not valid.
 */
struct json *model_members(const struct model *m, const struct json *body,
                           const char *loc, struct json **errors);
/* The same for the query of r. The last one of repeated parameters counts. */
struct json *model_query(const struct model *m, const struct req *r,
                         struct json **errors);
/* The same for one value of a path, given as text: loc is ["path", f->name]. */
struct json *model_path(const struct model_field *f, struct str text,
                        struct json **errors);
/*
 * The same as model_members for the JSON body of r, of any Content-Type. A body that is
 * absent, not JSON or not an object is an error, too.
 */
struct json *model_body(const struct model *m, const struct req *r, struct json **errors);

/*
 * Adds an error. name: the second part of its place; NULL: none. input is copied; NULL
 * means null.
 */
void model_error(struct json **errors, const char *type, const char *loc,
                 const char *name, const char *msg, const struct json *input);
/* Adds the error of a body that is not JSON; why: the error of json_parse. */
void model_not_json(struct json **errors, struct str body, const struct err *why);
/* Answers 422 with these errors. Takes errors. */
void model_refuse(struct req *r, struct json *errors);
/* Appends the errors as lines of text, in the form of str(ValidationError). */
void model_text(const char *model, const struct json *errors, struct buf *out);

#endif
