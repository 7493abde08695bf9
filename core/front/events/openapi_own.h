/* SPDX-License-Identifier: MIT */
/* The two files of GET /openapi.json: paths (openapi.c), schemas (openapi_schemas.c). */
#ifndef OD_FRONT_EVENTS_OPENAPI_OWN_H
#define OD_FRONT_EVENTS_OPENAPI_OWN_H

#include "base/json.h"

enum { OPENAPI_REF_MAX = 128 };

/* The caller owns all results. */

/* {name: text} */
struct json *openapi_with(const char *name, const char *text);
/* {name: take} */
struct json *openapi_around(const char *name, struct json *take);
/* {"$ref": the address of the schema `name`} */
struct json *openapi_ref(const char *name);
/* Parses a constant; aborts the process if it is not valid JSON. */
struct json *openapi_constant(const char *text);
/* Returns the member `components` of the description. */
struct json *openapi_components(void);

#endif
