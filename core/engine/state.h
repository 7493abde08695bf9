/* SPDX-License-Identifier: MIT */
/*
 * What the keeper keeps of a thing, as data: one list of fields describes the thing's
 * state, a JSON object, and by that list the state is made and read.
 *
 * Names must not change: the next version of the program reads what this one stored. If a
 * state has no such member, or one of another type, the thing keeps its value; so a new
 * field needs only a default.
 */
#ifndef OD_ENGINE_STATE_H
#define OD_ENGINE_STATE_H

#include "engine/engine.h"

#include <stddef.h>

enum state_type {
    STATE_BOOL,
    STATE_INT,
    STATE_UNSIGNED, /* also an enum, which has no negative values */
    STATE_INT64,
    STATE_UINT64,
    STATE_CHARS, /* char[]: what does not fit is cut off */
    STATE_TEXT,  /* char *, owned; NULL is left out */
    STATE_JSON   /* struct json *, owned; NULL is left out */
};

struct state_field {
    const char *name; /* NULL ends a list */
    enum state_type type;
    size_t at, size; /* bytes: of the member in its struct */
};

/* A member's row, under another name or its own. Its type follows from the member. */
#define STATE_ROW_AS(as, thing, member) \
    {as, \
     _Generic(&((thing *)0)->member, \
         bool *: STATE_BOOL, \
         int *: STATE_INT, \
         unsigned *: STATE_UNSIGNED, \
         int64_t *: STATE_INT64, \
         uint64_t *: STATE_UINT64, \
         char **: STATE_TEXT, \
         struct json **: STATE_JSON, \
         default: STATE_CHARS), \
     offsetof(thing, member), sizeof(((thing *)0)->member)}
#define STATE_ROW(thing, member) STATE_ROW_AS(#member, thing, member)

/* The state of a thing. The caller owns it. */
struct json *state_json(const struct state_field *list, const void *thing);
/*
 * Appends its members, without the braces of the object: for a state that is stored so
 * often that a tree would cost too much.
 */
void state_print(struct buf *out, const struct state_field *list, const void *thing);
/* Sets the thing's members, and takes those of STATE_JSON out of j. j may be NULL. */
void state_read(const struct state_field *list, void *thing, struct json *j);

/*
 * Stores j (borrowed) under the key prefix + id. false: it is longer than LIMIT_BLOB_MAX,
 * and what was there stays.
 */
bool state_put(struct engine *en, const char *prefix, const char *id,
              const struct json *j);
/* Stores the state of a thing in the same way. */
bool state_keep(struct engine *en, const char *prefix, const char *id,
                const struct state_field *list, const void *thing);
/*
 * Stores a text that is not such an object, of at most KEEP_FAR_MAX bytes; "" removes the
 * state.
 */
void state_put_text(struct engine *en, const char *prefix, const char *id,
                    struct str state);
/* Removes it. */
void state_drop(struct engine *en, const char *prefix, const char *id);
/*
 * Calls fn for each stored state whose key is prefix and an id without a slash. j is
 * freed afterwards. One that is unreadable is logged. To be called in `load`.
 */
typedef void state_fn(void *arg, struct str id, struct json *j);
void state_each(struct engine *en, const char *prefix, state_fn *fn, void *arg);
/* The same for texts, and their ids may have slashes. */
typedef void state_text_fn(void *arg, struct str id, struct str state);
void state_each_text(struct engine *en, const char *prefix, state_text_fn *fn, void *arg);

#endif
