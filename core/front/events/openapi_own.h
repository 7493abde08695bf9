/* SPDX-License-Identifier: MIT */
/* The two files of GET /openapi.json: paths (openapi.c), schemas (openapi_schemas.c). */
#ifndef OD_FRONT_EVENTS_OPENAPI_OWN_H
#define OD_FRONT_EVENTS_OPENAPI_OWN_H

#include "base/json.h"

enum { OPENAPI_REF_MAX = 128 };

/* All results are the caller's. */

/* {name: text} */
struct json *openapi_with(const char *name, const char *text);
/* {name: take} */
struct json *openapi_around(const char *name, struct json *take);
/* {"$ref": that address} */
struct json *openapi_ref(const char *name);
/* The JSON of a constant; the process aborts if it is not valid. */
struct json *openapi_constant(const char *text);
/* The member `components` of the description. */
struct json *openapi_components(void);

#endif
