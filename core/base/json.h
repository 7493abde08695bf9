/* SPDX-License-Identifier: MIT */
/*
 * JSON values: typed getters and builders over cJSON, which only json.c sees.
 *
 * A member of the wrong type gives the default, or with json_want_* an error
 * that names the member. Numbers are doubles inside, so integers are exact
 * below 2^53 only; 2^53 and larger ones are refused. The parser refuses
 * U+0000 in a string, anything that RFC 8259 does not allow, text that is not
 * UTF-8, and depth beyond JSON_DEPTH_MAX. Of several members of one name the
 * first counts.
 */
#ifndef OD_BASE_JSON_H
#define OD_BASE_JSON_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

#define JSON_DEPTH_MAX 64

struct json; /* opaque */

/* Parses a whole text, which only white space may follow. Returns NULL and sets *e. */
struct json *json_parse(struct str text, struct err *e);
/*
 * The same for a stored text of our own. If there is no memory for it, the process aborts
 * (xalloc.h), and the next process reads the text again.
 */
struct json *json_parse_kept(struct str text, struct err *e);
/* NULL is fine. Never call it on a value that is inside another. */
void json_free(struct json *j);
/* Appends compact text (no newline). -1: buffer full, and unchanged. */
int json_print(struct buf *out, const struct json *j);

bool json_is_object(const struct json *j);
bool json_is_array(const struct json *j);
bool json_is_string(const struct json *j);
bool json_is_number(const struct json *j);
bool json_is_bool(const struct json *j);
bool json_is_null(const struct json *j);

/* Member by exact name, borrowed; NULL: j is not an object or has no such member. */
struct json *json_get(const struct json *j, const char *name);
bool json_has(const struct json *j, const char *name);
/* Members with a default for "absent" and for "of another type". */
struct str json_str(const struct json *j, const char *name, const char *dflt);
int64_t json_int(const struct json *j, const char *name, int64_t dflt);
double json_num(const struct json *j, const char *name, double dflt);
bool json_bool(const struct json *j, const char *name, bool dflt);
/* The value itself; defaults as above. */
struct str json_str_value(const struct json *j, const char *dflt);
int64_t json_int_value(const struct json *j, int64_t dflt);
double json_num_value(const struct json *j, double dflt);
/*
 * Strict members: absent or null → *out unchanged, 0. Another type → -1, e set
 * with "NAME must be a string" (number, true or false).
 */
int json_want_str(const struct json *j, const char *name, struct str *out, struct err *e);
int json_want_int(const struct json *j, const char *name, int64_t *out, struct err *e);
int json_want_num(const struct json *j, const char *name, double *out, struct err *e);
int json_want_bool(const struct json *j, const char *name, bool *out, struct err *e);

/* Arrays and objects: iterate children; name is NULL in arrays. */
struct json *json_first(const struct json *j);
struct json *json_next(const struct json *child);
const char *json_name(const struct json *child);
int json_count(const struct json *j);

/*
 * Builders. json_object/json_array are owned by the caller until added. The
 * add calls take ownership of `take` and never fail (small sizes, xalloc); a
 * member of the same name is replaced, and `name` may be that member's own. Strings
 * are repaired to valid UTF-8 on the way in, U+0000 included.
 */
struct json *json_object(void);
struct json *json_array(void);
void json_put(struct json *obj, const char *name, struct json *take);
void json_put_str(struct json *obj, const char *name, struct str s);
void json_put_z(struct json *obj, const char *name, const char *z);
void json_put_int(struct json *obj, const char *name, int64_t v);
void json_put_num(struct json *obj, const char *name, double v);
void json_put_bool(struct json *obj, const char *name, bool v);
void json_put_null(struct json *obj, const char *name);
/* A deep copy, owned by the caller. */
struct json *json_copy(const struct json *j);
/* Removes a member from its object; the caller owns it. NULL: there is none. */
struct json *json_take(struct json *obj, const char *name);
/* Removes a child from its object or array and frees it. */
void json_drop(struct json *parent, struct json *child);
void json_push(struct json *arr, struct json *take);
void json_push_str(struct json *arr, struct str s);
void json_push_int(struct json *arr, int64_t v);

/*
 * Appends s as a JSON string with quotes, repaired as above. For writing an
 * object by hand where building one would copy a large text. -1: buffer full.
 */
int json_quote(struct buf *out, struct str s);

#endif
