/* SPDX-License-Identifier: MIT */
/*
 * The actions as JSON Schemas, for `od help actions`, GET /openapi.json and other lists.
 */
#ifndef OD_ACTION_DESCRIBE_H
#define OD_ACTION_DESCRIBE_H

#include "action/action.h"

/* Each returned schema is owned by the caller. */

/* Returns the JSON Schema of the arguments of a kind. */
struct json *action_args_schema(const struct action_kind *k);
/*
 * Returns the JSON Schema of the whole action, as POST /events takes it; args_ref is the
 * address of the schema of its arguments.
 */
struct json *action_schema(const struct action_kind *k, const char *args_ref);
/*
 * Returns the JSON Schema of a kind's observation if the action did not fail. With
 * `event` it is that of the log and POST /events, with an id and a cause; else that of
 * V0's own route.
 */
struct json *action_observation_schema(const struct action_kind *k, bool event);
/* The same for the observation "error", which any kind may have. */
struct json *action_error_schema(bool event);
/* Returns the schema of the extras of a kind's observation. */
struct json *action_result_schema(const struct action_kind *k);
/* Adds the schema of each other event to `all` as NAME_event, and that name to `refs`. */
void action_notices(struct json *all, struct json *refs);
/* Returns the schema of any action in the log. */
struct json *action_event_schema(void);
/* Returns the schema of any observation or notice, even if no kind describes it. */
struct json *action_other_event_schema(void);
/* Returns [{"action", "summary", "args"}, …]: all actions with their schemas. */
struct json *actions_json(void);

#endif
