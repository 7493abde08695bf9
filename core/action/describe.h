/* SPDX-License-Identifier: MIT */
/*
 * The actions as JSON Schemas, for `od help actions`, GET /openapi.json and other lists.
 */
#ifndef OD_ACTION_DESCRIBE_H
#define OD_ACTION_DESCRIBE_H

#include "action/action.h"

/* The JSON Schema of the arguments of a kind. The caller's. */
struct json *action_args_schema(const struct action_kind *k);
/*
 * The JSON Schema of the whole action, as POST /events takes it; args_ref is the address
 * of the schema of its arguments. The caller's.
 */
struct json *action_schema(const struct action_kind *k, const char *args_ref);
/* [{"action", "summary", "args"}, …]: all of them with their schemas. The caller's. */
struct json *actions_json(void);

#endif
