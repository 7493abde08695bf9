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
/*
 * The JSON Schema of the observation of a kind that did not fail: with `event` as the log
 * and POST /events have it, with an id and a cause; without, as V0's own route has it.
 * The caller's.
 */
struct json *action_observation_schema(const struct action_kind *k, bool event);
/* The same of the observation "error", which any kind may have. */
struct json *action_error_schema(bool event);
/* The schema of the extras of a kind's observation. The caller's. */
struct json *action_result_schema(const struct action_kind *k);
/*
 * Adds to `all` the schema of each other event, under its name and "_event"; to `refs`
 * the names.
 */
void action_notices(struct json *all, struct json *refs);
/* The schema of any action in the log. The caller's. */
struct json *action_event_schema(void);
/* The schema of any observation or notice, of those that are described by no kind, too.
 */
struct json *action_other_event_schema(void);
/* [{"action", "summary", "args"}, …]: all of them with their schemas. The caller's. */
struct json *actions_json(void);

#endif
