/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share.
 *
 *   model.c    checks of values against their fields, and errors
 *   request.c  queries, paths and bodies of requests; the answer 422
 *   scalar.c   UUIDs and times as text
 */
#ifndef OD_FRONT_MODEL_OWN_H
#define OD_FRONT_MODEL_OWN_H

#include "front/model/model.h"

/*
 * Checks one value, whose errors are reported at [loc, f->name]. Returns the converted
 * value, which the caller owns; NULL after adding to *errors.
 */
struct json *model_value(const struct model_field *f, const struct json *value,
                         const char *loc, struct json **errors);
/* Reads a UUID with or without hyphens, "urn:uuid:" or braces. Returns false if s is
 * anything else. */
bool model_uuid(struct str s, char hex[33]);
/*
 * Reads YYYY-MM-DD, with a time HH:MM[:SS[.ffffff]] after T, a blank or _, and a zone Z
 * or ±HH[:]MM (RFC 3339 5.6, and what pydantic accepts beyond it). Returns NULL and sets
 * *us, microseconds since 1970; or returns the error.
 */
const char *model_time(struct str s, int64_t *us);

#endif
