/* SPDX-License-Identifier: MIT */
/*
 * The schemas of GET /openapi.json. Those of arguments, observations and events are made
 * from the lists of each kind of action (action/describe.h), those of errors from the
 * codes.
 */
#include "front/events/openapi_own.h"

#include "action/describe.h"
#include "base/log.h"
#include "base/member.h"
#include "file/fileact.h"

#include <stdio.h>
#include <string.h>

/* ---- small values ---- */

struct json *openapi_with(const char *name, const char *text)
{
    struct json *j = json_object();
    json_put_z(j, name, text);
    return j;
}

struct json *openapi_around(const char *name, struct json *take)
{
    struct json *j = json_object();
    json_put(j, name, take);
    return j;
}

/* Writes the address of the schema of this name. */
static void openapi_path(const char *name, char out[OPENAPI_REF_MAX])
{
    snprintf(out, OPENAPI_REF_MAX, "#/components/schemas/%.60s", name);
}

struct json *openapi_ref(const char *name)
{
    char ref[OPENAPI_REF_MAX];
    openapi_path(name, ref);
    return openapi_with("$ref", ref);
}

struct json *openapi_constant(const char *text)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(str_of(text), &e);
    BUG_ON(!j);
    return j;
}

/* ---- components ---- */

static struct json *error_schema(void)
{
    struct json *codes = json_array(), *code = openapi_with("type", "string"), *j;
    struct buf about = BUF_INIT(4096);
    buf_addz(&about, "What kind of error it is:");
    for (int i = ERR_NONE + 1; i < ERR_COUNT; i++) {
        const struct err_words *w = err_words((enum err_code)i);
        json_push_str(codes, str_of(w->name));
        buf_addf(&about, "%s %s (status %d): %s", i > ERR_NONE + 1 ? ";" : "", w->name,
                 w->http, w->sentence);
    }
    json_put(code, "enum", codes);
    json_put_z(code, "description", buf_z(&about));
    j = openapi_constant(
        "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":"
        "{\"type\":\"object\",\"required\":[\"code\",\"message\"],"
        "\"properties\":{\"message\":{\"type\":\"string\",\"description\":"
        "\"One sentence for people\"}}}}}");
    json_put(json_get(json_get(json_get(j, "properties"), "error"), "properties"), "code",
             code);
    buf_release(&about);
    return j;
}

/* ---- actions ---- */

/* Lists of references for the schemas that are about all actions together. */
struct lists {
    struct json *actions, *mapping, *files, *results, *observations;
    struct json *theirs, *answers; /* of V0's own route */
};

static void put_kind(struct json *all, struct lists *l, const struct action_kind *k)
{
    char name[OPENAPI_REF_MAX], path[OPENAPI_REF_MAX];
    snprintf(name, sizeof(name), "%s_arguments", k->name);
    openapi_path(name, path);
    json_put(all, name, action_args_schema(k));
    if (fileact_known(str_of(k->name)))
        json_push(l->files, openapi_ref(name));
    snprintf(name, sizeof(name), "%s_action", k->name);
    json_put(all, name, action_schema(k, path));
    json_push(l->actions, openapi_ref(name));
    if (k->foreign)
        json_push(l->theirs, openapi_ref(name));
    openapi_path(name, path);
    json_put_z(l->mapping, k->name, path);
    snprintf(name, sizeof(name), "%s_result", k->name);
    json_put(all, name, action_result_schema(k));
    if (fileact_known(str_of(k->name)) && strcmp(k->name, "watch") != 0)
        json_push(l->results, openapi_ref(name));
    snprintf(name, sizeof(name), "%s_observation", k->name);
    json_put(all, name, action_observation_schema(k, true));
    json_push(l->observations, openapi_ref(name));
    if (k->foreign)
        json_push(l->answers, action_observation_schema(k, false));
}

static void put_actions(struct json *all)
{
    const struct action_kind *k;
    struct lists l = {json_array(), json_object(), json_array(), json_array(),
                      json_array(), json_array(),  json_array()};
    for (size_t i = 0; (k = action_kind_at(i)); i++)
        put_kind(all, &l, k);
    struct json *action = openapi_around("oneOf", l.actions);
    json_put(action, "discriminator", openapi_with("propertyName", "action"));
    json_put(json_get(action, "discriminator"), "mapping", l.mapping);
    json_put(all, "Action", action);
    json_put(all, "FileArguments", openapi_around("anyOf", l.files));
    json_put(all, "FileResult", openapi_around("anyOf", l.results));
    json_put(all, "error_observation", action_error_schema(true));
    json_push(l.observations, openapi_ref("error_observation"));
    json_put(all, "Observation", openapi_around("anyOf", l.observations));
    struct json *request = openapi_constant(
        "{\"type\":\"object\",\"required\":[\"action\"]}");
    json_put(request, "properties",
             openapi_around("action", openapi_around("oneOf", l.theirs)));
    json_put(all, "V0Request", request);
    json_push(l.answers, action_error_schema(false));
    json_put(all, "V0Observation", openapi_around("anyOf", l.answers));
}

/* The result of a skill by its own route also has the text. */
static struct json *skill_result(void)
{
    static const struct member content[] = {{.name = "content",
                                             .type = MEMBER_STRING,
                                             .optional = true,
                                             .about = "The text, if there is one"},
                                            {0}};
    struct json *j = action_result_schema(&action_skill);
    members_add(j, content);
    return j;
}

/* ---- events ---- */

/* Adds the schema of any event. Notices and observations have types of their own. */
static void put_events(struct json *all)
{
    struct json *notices = json_array(), *refs = json_array(), *any = json_array();
    action_notices(all, notices);
    for (const struct json *n = json_first(notices); n; n = json_next(n)) {
        char name[OPENAPI_REF_MAX];
        struct str s = json_str_value(n, "");
        snprintf(name, sizeof(name), "%.*s", STR_ARG(s));
        json_push(refs, openapi_ref(name));
    }
    json_free(notices);
    json_put(all, "Notice", openapi_around("anyOf", refs));
    json_put(all, "ActionEvent", action_event_schema());
    json_put(all, "ObservationEvent", action_other_event_schema());
    json_push(any, openapi_ref("ActionEvent"));
    json_push(any, openapi_ref("ObservationEvent"));
    json_put(all, "Event", openapi_around("anyOf", any));
    json_put(all, "Events",
             openapi_constant(
                 "{\"type\":\"object\",\"required\":[\"events\",\"last\"],"
                 "\"properties\":{\"events\":{\"type\":\"array\",\"items\":{\"$ref\":"
                 "\"#/components/schemas/Event\"}},\"last\":{\"type\":\"integer\","
                 "\"description\":\"The since of the next request\"}}}"));
    json_put(all, "Accepted",
             openapi_constant("{\"type\":\"object\",\"required\":[\"id\"],"
                              "\"properties\":{\"id\":{\"type\":\"integer\","
                              "\"description\":\"The id of the action\"},\"message\":"
                              "{\"type\":\"string\",\"description\":\"Why there is no "
                              "observation yet\"}}}"));
}

/* ---- all of them ---- */

static struct json *schemas(void)
{
    struct json *all = json_object();
    put_actions(all);
    put_events(all);
    json_put(all, "SkillResult", skill_result());
    json_put(all, "Error", error_schema());
    json_put(all, "Detail",
             openapi_constant(
                 "{\"type\":\"object\",\"description\":\"An error in the words of "
                 "OpenHands' V0 runtime API\",\"required\":[\"detail\"],"
                 "\"properties\":{\"detail\":{\"type\":\"string\"},\"errors\":"
                 "{\"type\":\"string\"}}}"));
    json_put(all, "RpcError",
             openapi_constant(
                 "{\"type\":\"object\",\"description\":\"An error of JSON-RPC 2.0\","
                 "\"required\":[\"jsonrpc\",\"error\"],\"properties\":{\"jsonrpc\":"
                 "{\"const\":\"2.0\"},\"id\":{},\"error\":{\"type\":\"object\","
                 "\"required\":[\"code\",\"message\"],\"properties\":{\"code\":"
                 "{\"type\":\"integer\"},\"message\":{\"type\":\"string\"}}}}}"));
    json_put(all, "RpcAnswer",
             openapi_constant("{\"description\":\"A message of JSON-RPC 2.0, or an array "
                              "of them\",\"type\":[\"object\",\"array\"]}"));
    return all;
}

struct json *openapi_components(void)
{
    struct json *j = openapi_constant(
        "{\"securitySchemes\":{\"key\":{\"type\":\"apiKey\",\"in\":\"header\",\"name\":"
        "\"X-Session-API-Key\"},\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"}}}");
    json_put(j, "schemas", schemas());
    return j;
}
