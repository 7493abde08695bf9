/* SPDX-License-Identifier: MIT */
/*
 * The description of the server in OpenAPI 3.1, made from the tables that it serves: the
 * routes of its fronts, the parameters of its actions, the list of error codes. So a new
 * route or action is in it without a line here.
 */
#include "front/events/openapi.h"

#include "action/describe.h"
#include "front/events/own.h"
#include "base/log.h"
#include "file/fileact.h"
#include "http/httpd.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20, REF_MAX = 128 };

static const char json_type[] = "application/json";

/* ---- small values ---- */

/* {"name": text}; the caller's. */
static struct json *with(const char *name, const char *text)
{
    struct json *j = json_object();
    json_put_z(j, name, text);
    return j;
}

/* {"name": take} */
static struct json *around(const char *name, struct json *take)
{
    struct json *j = json_object();
    json_put(j, name, take);
    return j;
}

static void schema_path(const char *name, char out[REF_MAX])
{
    snprintf(out, REF_MAX, "#/components/schemas/%.60s", name);
}

static struct json *schema_ref(const char *name)
{
    char ref[REF_MAX];
    schema_path(name, ref);
    return with("$ref", ref);
}

/* A constant of this file. */
static struct json *constant(const char *text)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(str_of(text), &e);
    BUG_ON(!j);
    return j;
}

static struct json *content(const char *type, struct json *take_schema)
{
    return around(type, around("schema", take_schema));
}

/* ---- an operation ---- */

/* Whether path has {NAME}. */
static bool in_path(const char *path, const char *name)
{
    char part[REF_MAX];
    snprintf(part, sizeof(part), "{%s}", name);
    return str_find(str_of(path), str_of(part)) >= 0;
}

static void put_parameter(struct json *list, const struct param *p, const char *name,
                          bool path)
{
    struct json *j = with("name", name);
    json_put_z(j, "in", path ? "path" : "query");
    json_put_z(j, "description", p->about);
    /* Of a path's two names either will do. */
    json_put_bool(j, "required", path || (p->required && p->type != PARAM_PATH));
    json_put(j, "schema", param_schema(p));
    json_push(list, j);
}

static struct json *parameters(const struct route *t)
{
    struct json *list = json_array();
    for (const struct param *p = t->query; p && p->name; p++) {
        put_parameter(list, p, p->name, in_path(t->path, p->name));
        if (p->type == PARAM_PATH) {
            char other[REF_MAX];
            snprintf(other, sizeof(other), "%s_base64", p->name);
            put_parameter(list, p, other, false);
        }
    }
    return list;
}

static struct json *body(const struct route *t)
{
    struct json *schema = t->schema  ? schema_ref(t->schema)
                          : t->takes ? json_object()
                                     : with("type", "object");
    struct json *j = around("content", content(t->takes ? t->takes : json_type, schema));
    json_put_bool(j, "required", t->schema || t->takes);
    return j;
}

/* The schema of what POST /events and GET /events answer; of other routes any value. */
static struct json *answer_schema(const struct route *t)
{
    if (strcmp(t->path, "/events") != 0)
        return json_object();
    return schema_ref(t->methods & HTTP_POST ? "Observation" : "Events");
}

/* One response for each status that an error code has, with the names of its codes. */
static void put_errors(struct json *all)
{
    for (int i = ERR_NONE + 1; i < ERR_COUNT; i++) {
        char status[16];
        struct buf about = BUF_INIT(1024);
        snprintf(status, sizeof(status), "%d", err_words((enum err_code)i)->http);
        for (int k = ERR_NONE + 1; k < ERR_COUNT; k++) {
            const struct err_words *w = err_words((enum err_code)k);
            if (w->http == err_words((enum err_code)i)->http)
                buf_addf(&about, "%s%s: %s", about.n ? "; " : "", w->name, w->sentence);
        }
        if (!json_has(all, status)) {
            struct json *bad = with("description", buf_z(&about));
            json_put(bad, "content", content(json_type, schema_ref("Error")));
            json_put(all, status, bad);
        }
        buf_release(&about);
    }
}

static struct json *responses(const struct route *t, bool ours)
{
    struct json *all = json_object(), *good = with("description", "Done");
    struct json *bad = with("description", "Not done; the body has the reason");
    json_put(good, "content", content(t->gives ? t->gives : json_type, answer_schema(t)));
    json_put(bad, "content", content(json_type, schema_ref(ours ? "Error" : "Detail")));
    json_put(all, "2XX", good);
    if (!t->open)
        json_put(all, "403", with("$ref", "#/components/responses/Refused"));
    if (ours)
        put_errors(all);
    json_put(all, "default", bad);
    return all;
}

/* "post_files_verb" */
static void put_id(struct json *to, struct str method, const char *path)
{
    struct buf id = BUF_INIT(HTTP_LINE_MAX);
    buf_adds(&id, method);
    for (const char *c = path; *c; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '_';
        if (letter || *c == '/' || *c == '.')
            buf_addc(&id, letter ? *c : '_');
    }
    json_put_str(to, "operationId", buf_str(&id));
    buf_release(&id);
}

static struct json *operation(const struct route *t, const char *path, struct str method,
                              bool ours)
{
    struct json *j = json_object(), *list = parameters(t);
    put_id(j, method, path);
    json_put_z(j, "summary", t->about ? t->about : path);
    if (json_count(list) > 0)
        json_put(j, "parameters", list);
    else
        json_free(list);
    if (t->body || t->body_max > 0)
        json_put(j, "requestBody", body(t));
    if (t->open)
        json_put(j, "security", json_array());
    if (t->key_in_message)
        json_put_z(
            j, "description",
            "A WebSocket may send the key in its first message, {\"api_key\":KEY}, "
            "instead of the request's head.");
    json_put(j, "responses", responses(t, ours));
    return j;
}

static void put_route(struct json *paths, const struct route *t, bool ours)
{
    const char *path = t->path;
    char method[16];
    if (!json_get(paths, path))
        json_put(paths, path, json_object());
    for (unsigned bit = 0; http_method_names(bit); bit++) {
        struct str names = str_of(t->methods & (1u << bit) ? http_method_names(bit) : "");
        while (names.n > 0) {
            struct str name = str_trim(str_cut(&names, ','));
            size_t n = 0;
            for (; n < name.n && n + 1 < sizeof(method); n++)
                method[n] = (char)(name.p[n] | 0x20);
            method[n] = 0;
            /* The row that comes first is the one that answers. */
            if (!json_has(json_get(paths, path), method))
                json_put(json_get(paths, path), method,
                         operation(t, path, str_of(method), ours));
        }
    }
}

static struct json *paths_of(const struct req *r)
{
    struct json *paths = json_object();
    const struct http_front *f;
    for (size_t i = 0; (f = req_front(r, i)); i++) {
        for (size_t k = 0; k < f->nroutes; k++)
            put_route(paths, &f->routes[k], f->fail == events_http_fail);
    }
    return paths;
}

/* ---- components ---- */

static struct json *error_schema(void)
{
    struct json *codes = json_array(), *code = with("type", "string"), *j;
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
    j = constant(
        "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":"
        "{\"type\":\"object\",\"required\":[\"code\",\"message\"],"
        "\"properties\":{\"message\":{\"type\":\"string\",\"description\":"
        "\"One sentence for people\"}}}}}");
    json_put(json_get(json_get(json_get(j, "properties"), "error"), "properties"), "code",
             code);
    buf_release(&about);
    return j;
}

static struct json *schemas(void)
{
    struct json *all = json_object(), *actions = json_array(), *files = json_array();
    struct json *theirs = json_array(), *mapping = json_object();
    const struct action_kind *k;
    char args[REF_MAX], name[REF_MAX], path[REF_MAX];
    for (size_t i = 0; (k = action_kind_at(i)); i++) {
        snprintf(args, sizeof(args), "%s_arguments", k->name);
        snprintf(name, sizeof(name), "%s_action", k->name);
        schema_path(args, path);
        json_put(all, args, action_args_schema(k));
        json_put(all, name, action_schema(k, path));
        json_push(actions, schema_ref(name));
        if (fileact_known(str_of(k->name)))
            json_push(files, schema_ref(args));
        if (k->foreign)
            json_push(theirs, schema_ref(name));
        schema_path(name, path);
        json_put_z(mapping, k->name, path);
    }
    struct json *action = around("oneOf", actions);
    json_put(action, "discriminator", with("propertyName", "action"));
    json_put(json_get(action, "discriminator"), "mapping", mapping);
    json_put(all, "Action", action);
    json_put(all, "FileArguments", around("anyOf", files));
    struct json *request = constant("{\"type\":\"object\",\"required\":[\"action\"]}");
    json_put(request, "properties", around("action", around("oneOf", theirs)));
    json_put(all, "V0Request", request);
    json_put(all, "Error", error_schema());
    json_put(all, "Observation",
             constant(
                 "{\"type\":\"object\",\"description\":\"The observation of an action; "
                 "with wait=0 only the id of the action\",\"required\":[\"id\"],"
                 "\"properties\":{\"id\":{\"type\":\"integer\"},\"cause\":{\"type\":"
                 "\"integer\"},\"session\":{\"type\":\"string\"},\"observation\":"
                 "{\"type\":\"string\"},\"content\":{\"type\":\"string\"},"
                 "\"exit_code\":{\"type\":[\"integer\",\"null\"]},\"waiting\":{\"type\":"
                 "\"object\"},\"extras\":{\"type\":\"object\"}}}"));
    json_put(all, "Events",
             constant(
                 "{\"type\":\"object\",\"required\":[\"events\",\"last\"],"
                 "\"properties\":{\"events\":{\"type\":\"array\",\"items\":{\"type\":"
                 "\"object\"}},\"last\":{\"type\":\"integer\"}}}"));
    json_put(all, "Detail",
             constant("{\"type\":\"object\",\"description\":\"An error in the words of "
                      "OpenHands' V0 runtime API\",\"properties\":{\"detail\":{}}}"));
    return all;
}

static struct json *components(void)
{
    struct json *j = constant(
        "{\"securitySchemes\":{\"key\":{\"type\":\"apiKey\",\"in\":\"header\",\"name\":"
        "\"X-Session-API-Key\"},\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"}},"
        "\"responses\":{\"Refused\":{\"description\":\"The key is missing or wrong, or "
        "the "
        "request may not be done\",\"content\":{\"application/json\":{\"schema\":{"
        "\"anyOf\":[{\"$ref\":\"#/components/schemas/Error\"},{\"$ref\":"
        "\"#/components/schemas/Detail\"}]}}}}}}");
    json_put(j, "schemas", schemas());
    return j;
}

void openapi_get(struct req *r)
{
    struct buf b = BUF_INIT(TEXT_MAX);
    struct json *j = constant(
        "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"od\",\"version\":\"1\","
        "\"description\":\"A computer for an AI agent. A server that was started without "
        "a key needs none.\",\"license\":{\"name\":\"MIT\",\"identifier\":\"MIT\"}},"
        "\"security\":[{\"key\":[]},{\"bearer\":[]}]}");
    json_put(j, "paths", paths_of(r));
    json_put(j, "components", components());
    json_print(&b, j);
    json_free(j);
    req_answer_take(r, 200, json_type, &b);
}
