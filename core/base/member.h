/* SPDX-License-Identifier: MIT */
/*
 * Members as data: one list describes an object in the server's answers, and its schema
 * is made from the list, which stands next to the code that writes the object. What
 * clients send is described by base/param.h.
 *
 * A member that is not in a list may come in a later version, so schemas are open.
 */
#ifndef OD_BASE_MEMBER_H
#define OD_BASE_MEMBER_H

#include "base/json.h"

enum member_type {
    MEMBER_STRING,
    MEMBER_PATH, /* a string; if the name is not UTF-8, NAME_base64 is there, too */
    MEMBER_INT,  /* whole, below 2^53 */
    MEMBER_NUMBER,
    MEMBER_BOOL,
    MEMBER_OBJECT,  /* of `members` */
    MEMBER_OBJECTS, /* an array of objects of `members` */
    MEMBER_STRINGS, /* an array of strings */
    MEMBER_PAIRS,   /* an array of [from, to]: offsets */
    MEMBER_ANY
};

/* All of it is borrowed, and constant. */
struct member {
    const char *name; /* NULL ends a list */
    enum member_type type;
    bool optional;                /* it may be missing */
    bool nullable;                /* it may be null */
    const char *choices;          /* the only strings, with spaces between; NULL: any */
    const struct member *members; /* of an object, or each object; NULL: any */
    const char *about;            /* one sentence, without its end */
};

/* Returns the JSON Schema (2020-12) of one value. The caller owns it. */
struct json *member_schema(const struct member *m);
/* The same for an object of these members; NULL: any object. */
struct json *members_schema(const struct member *list);
/* Adds members to such a schema. list may be NULL. */
void members_add(struct json *schema, const struct member *list);

#endif
