/* SPDX-License-Identifier: MIT */
#include "action/describe.h"

#include "base/log.h"

struct json *action_args_schema(const struct action_kind *k)
{
    struct json *j = params_schema(k->takes);
    if (k->refine)
        k->refine(j);
    return j;
}

/* ---- the whole action ---- */

static const struct param order[] = {
    {.name = "client_id",
     .type = PARAM_STRING,
     .about =
         "A name that the client chooses, at most 128 bytes: a repeated action of that "
         "name is not run again"},
    {.name = "session",
     .type = PARAM_STRING,
     .ranged = true,
     .min = 1,
     .dflt = "\"main\"",
     .pattern = "^[!#-.0-\\[\\]-~]{1,40}$",
     .about = "The session, which is made at its first use"},
    {0}};

static const struct param order_foreign[] = {
    {.name = "timeout",
     .type = PARAM_NUMBER,
     .ranged = true,
     .about = "The time limit in seconds; 0: no limit"},
    {.name = "source",
     .type = PARAM_STRING,
     .choices = "agent user environment",
     .about = "Who asks"},
    {0}};

static void put_optional(struct json *props, const struct param *p)
{
    for (; p->name; p++) {
        struct json *j = json_object(), *any = json_array(), *null = json_object();
        json_put_z(null, "type", "null");
        json_push(any, param_schema(p));
        json_push(any, null);
        json_put(j, "anyOf", any);
        json_put_z(j, "description", p->about);
        json_put(props, p->name, j);
    }
}

static struct json *secrets_schema(void)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(
        STR("{\"anyOf\":[{\"type\":\"object\",\"additionalProperties\":{\"type\":"
            "\"string\"}},{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
            "{\"type\":\"null\"}],\"description\":\"Values that are hidden in every "
            "event from here on, of 4 to 8192 bytes each\"}"),
        &e);
    BUG_ON(!j);
    return j;
}

struct json *action_schema(const struct action_kind *k, const char *args_ref)
{
    struct json *j = json_object(), *props = json_object(), *name = json_object(),
                *args = json_object(), *required = json_array();
    json_put_z(name, "const", k->name);
    json_put_z(args, "$ref", args_ref);
    json_put(props, "action", name);
    json_put(props, "args", args);
    put_optional(props, order);
    if (k->foreign)
        put_optional(props, order_foreign);
    json_put(props, "secrets", secrets_schema());
    json_push_str(required, STR("action"));
    if (params_required(k->takes))
        json_push_str(required, STR("args"));
    json_put_z(j, "type", "object");
    json_put_z(j, "title", k->name);
    json_put_z(j, "description", k->takes->about);
    json_put(j, "properties", props);
    json_put(j, "required", required);
    return j;
}

struct json *actions_json(void)
{
    struct json *list = json_array();
    const struct action_kind *k;
    for (size_t i = 0; (k = action_kind_at(i)); i++) {
        struct json *row = json_object();
        json_put_z(row, "action", k->name);
        json_put_z(row, "summary", k->takes->about);
        json_put(row, "args", action_args_schema(k));
        json_push(list, row);
    }
    return list;
}
