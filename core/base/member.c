/* SPDX-License-Identifier: MIT */
/* The schema of a list of members. */
#include "base/member.h"

#include "base/buf.h"

#include <stdio.h>

enum { NAME_SIZE = 48 };

static struct json *typed(const char *type)
{
    struct json *j = json_object();
    json_put_z(j, "type", type);
    return j;
}

static struct json *array_of(struct json *take)
{
    struct json *j = typed("array");
    json_put(j, "items", take);
    return j;
}

static struct json *pair_schema(void)
{
    struct json *j = array_of(typed("integer"));
    json_put_int(j, "minItems", 2);
    json_put_int(j, "maxItems", 2);
    return j;
}

static struct json *string_schema(const struct member *m)
{
    struct json *j = typed("string"), *all = json_array();
    for (struct str rest = str_of(m->choices ? m->choices : ""); rest.n > 0;)
        json_push_str(all, str_cut(&rest, ' '));
    if (m->choices)
        json_put(j, "enum", all);
    else
        json_free(all);
    return j;
}

static struct json *value_schema(const struct member *m)
{
    switch (m->type) {
    case MEMBER_STRING:
    case MEMBER_PATH:
        break;
    case MEMBER_INT:
        return typed("integer");
    case MEMBER_NUMBER:
        return typed("number");
    case MEMBER_BOOL:
        return typed("boolean");
    case MEMBER_OBJECT:
        return members_schema(m->members);
    case MEMBER_OBJECTS:
        return array_of(members_schema(m->members));
    case MEMBER_STRINGS:
        return array_of(typed("string"));
    case MEMBER_PAIRS:
        return array_of(pair_schema());
    case MEMBER_ANY:
        return json_object();
    }
    return string_schema(m);
}

struct json *member_schema(const struct member *m)
{
    struct json *j = value_schema(m);
    if (m->nullable) {
        struct json *any = json_array();
        json_push(any, j);
        json_push(any, typed("null"));
        j = json_object();
        json_put(j, "anyOf", any);
    }
    if (m->about)
        json_put_z(j, "description", m->about);
    return j;
}

static void put_bytes(struct json *props, const struct member *m)
{
    char name[NAME_SIZE];
    struct json *j = typed("string");
    json_put_z(j, "contentEncoding", "base64");
    json_put_z(j, "description", "The exact bytes, if they are not UTF-8");
    snprintf(name, sizeof(name), "%s_base64", m->name);
    json_put(props, name, j);
}

void members_add(struct json *schema, const struct member *list)
{
    for (const struct member *m = list; m && m->name; m++) {
        if (!json_has(schema, "properties"))
            json_put(schema, "properties", json_object());
        json_put(json_get(schema, "properties"), m->name, member_schema(m));
        if (m->type == MEMBER_PATH)
            put_bytes(json_get(schema, "properties"), m);
        if (m->optional)
            continue;
        if (!json_has(schema, "required"))
            json_put(schema, "required", json_array());
        json_push_str(json_get(schema, "required"), str_of(m->name));
    }
}

struct json *members_schema(const struct member *list)
{
    struct json *j = typed("object");
    members_add(j, list);
    return j;
}
