/* SPDX-License-Identifier: MIT */
/*
 * Every action that the event stream accepts, with what it takes: for `od help actions`,
 * GET /openapi.json and whoever else lists them.
 */
#ifndef OD_ACTION_DESCRIBE_H
#define OD_ACTION_DESCRIBE_H

#include "base/param.h"

#include <stddef.h>

struct action_about {
    const char *name;
    const struct param_list *takes;
    bool in_turn; /* it waits for the actions before it in its session */
    bool native;  /* its arguments are checked by takes alone, else by V0's decoder */
};

/* The action at place i. Returns false if there are no more. */
bool action_about(size_t i, struct action_about *out);
/* By its name. Returns false if there is none. */
bool action_find(struct str name, struct action_about *out);
/* What a native action's check makes of arguments (an object, or NULL), as native_check.
 */
int action_check_args(struct str name, const struct json *args, struct err *e);
/* The JSON Schema of its arguments. The caller's. */
struct json *action_args_schema(const struct action_about *a);
/*
 * The JSON Schema of the whole action, as POST /events takes it; args_ref is the address
 * of the schema of its arguments. The caller's.
 */
struct json *action_schema(const struct action_about *a, const char *args_ref);
/* [{"action", "summary", "args"}, …]: all of them with their schemas. The caller's. */
struct json *action_list(void);

#endif
