/* SPDX-License-Identifier: MIT */
/*
 * The description of the server in OpenAPI 3.1, made from the tables that it serves: the
 * routes of its fronts, the parameters of its actions, the list of error codes. So a new
 * route or action needs no line here.
 */
#include "front/events/openapi.h"

#include "front/events/openapi_own.h"
#include "front/events/own.h"
#include "base/member.h"
#include "http/httpd.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 2 << 20 };

static const char json_type[] = "application/json";

static struct json *content(const char *type, struct json *take_schema)
{
    return openapi_around(type, openapi_around("schema", take_schema));
}

/* ---- an operation ---- */

/* Whether the path contains {NAME}. */
static bool in_path(const char *path, const char *name)
{
    char part[OPENAPI_REF_MAX];
    snprintf(part, sizeof(part), "{%s}", name);
    return str_find(str_of(path), str_of(part)) >= 0;
}

static void put_parameter(struct json *list, const struct param *p, const char *name,
                          bool path)
{
    struct json *j = openapi_with("name", name);
    json_put_z(j, "in", path ? "path" : "query");
    json_put_z(j, "description", p->about);
    /* One of a path's two names is enough. */
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
            char other[OPENAPI_REF_MAX];
            snprintf(other, sizeof(other), "%s_base64", p->name);
            put_parameter(list, p, other, false);
        }
    }
    return list;
}

static struct json *body(const struct route *t)
{
    struct json *schema = t->schema  ? openapi_ref(t->schema)
                          : t->takes ? json_object()
                                     : openapi_with("type", "object");
    struct json *j = openapi_around("content",
                                    content(t->takes ? t->takes : json_type, schema));
    json_put_bool(j, "required", t->schema || t->takes);
    return j;
}

/* ---- answers ---- */

static struct json *answer_schema(const struct route_answer *a)
{
    if (a->schema)
        return openapi_ref(a->schema);
    if (a->value)
        return member_schema(a->value);
    return a->type && strncmp(a->type, "text/", 5) == 0 ? openapi_with("type", "string")
                                                        : json_object();
}

/* Two answers with the same status are two media types. */
static void put_answer(struct json *all, const struct route_answer *a)
{
    char status[16];
    snprintf(status, sizeof(status), "%d", a->status);
    if (!json_has(all, status))
        json_put(all, status, openapi_with("description", a->about ? a->about : "Done"));
    struct json *j = json_get(all, status);
    if (a->type && !*a->type)
        return;
    if (!json_has(j, "content"))
        json_put(j, "content", json_object());
    json_put(json_get(j, "content"), a->type ? a->type : json_type,
             openapi_around("schema", answer_schema(a)));
}

/* Names of the schemas of errors: of a front, and of requests without a key. */
struct errors {
    const char *own, *refused;
};

static struct errors errors_of(const struct http_front *f, const struct http_front *first)
{
    struct errors e = {.own = f->error ? f->error : "Error"};
    e.refused = f->challenge ? e.own : first->error ? first->error : "Error";
    return e;
}

static struct json *either(const struct errors *e)
{
    if (strcmp(e->own, e->refused) == 0)
        return openapi_ref(e->own);
    struct json *any = json_array();
    json_push(any, openapi_ref(e->own));
    json_push(any, openapi_ref(e->refused));
    return openapi_around("anyOf", any);
}

static void put_error(struct json *all, const char *status, const char *about,
                      struct json *take_schema)
{
    if (json_has(all, status)) {
        json_free(take_schema);
        return;
    }
    struct json *j = openapi_with("description", about);
    json_put(j, "content", content(json_type, take_schema));
    json_put(all, status, j);
}

/* Adds one response for each status of an error code, with the names of those codes. */
static void put_errors(struct json *all, const struct errors *e)
{
    for (int i = ERR_NONE + 1; i < ERR_COUNT; i++) {
        char status[16];
        struct buf about = BUF_INIT(1024);
        int code = err_words((enum err_code)i)->http;
        snprintf(status, sizeof(status), "%d", code);
        for (int k = ERR_NONE + 1; k < ERR_COUNT; k++) {
            const struct err_words *w = err_words((enum err_code)k);
            if (w->http == code)
                buf_addf(&about, "%s%s: %s", about.n ? "; " : "", w->name, w->sentence);
        }
        put_error(all, status, buf_z(&about),
                  code == 400 || code == 403 ? either(e) : openapi_ref(e->own));
        buf_release(&about);
    }
}

static bool is_open(const struct route *t)
{
    for (size_t i = 0; front_list[i]; i++) {
        const struct open_row *open = front_list[i]->native
                                          ? open_find(front_list[i]->name, t)
                                          : NULL;
        if (open && open->when == OPEN_ALWAYS)
            return true;
    }
    return false;
}

static struct json *responses(const struct route *t, const struct http_front *f,
                              const struct errors *e)
{
    struct route_answer any[] = {{.status = 200, .type = t->gives}, {0}};
    struct json *all = json_object();
    for (const struct route_answer *a = t->answers ? t->answers : any; a->status; a++)
        put_answer(all, a);
    if (!f->error)
        put_errors(all, e);
    if (!is_open(t)) {
        put_error(all, f->challenge ? "401" : "403",
                  "The key is missing or wrong, or does not allow the request",
                  either(e));
        put_error(all, "429", "Too many wrong keys; Retry-After has the time to wait",
                  openapi_ref(e->refused));
    }
    if (t->body || t->body_max > 0)
        put_error(all, "413", "The body is too long", openapi_ref(e->own));
    put_error(all, "default", "Not done; the body has the reason", either(e));
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
                              const struct http_front *f, const struct errors *e)
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
    if (is_open(t))
        json_put(j, "security", json_array());
    if (t->marks & ROUTE_MESSAGE)
        json_put_z(
            j, "description",
            "A WebSocket may send the key in its first message, {\"api_key\":KEY}, "
            "instead of the request's head.");
    json_put(j, "responses", responses(t, f, e));
    return j;
}

static void put_route(struct json *paths, const struct route *t,
                      const struct http_front *f, const struct errors *e)
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
            /* The first row for a path and method is the one that answers. */
            if (!json_has(json_get(paths, path), method))
                json_put(json_get(paths, path), method,
                         operation(t, path, str_of(method), f, e));
        }
    }
}

static struct json *paths_of(const struct req *r)
{
    struct json *paths = json_object();
    const struct http_front *f;
    for (size_t i = 0; (f = req_front(r, i)); i++) {
        struct errors e = errors_of(f, req_front(r, 0));
        for (size_t k = 0; k < f->nroutes; k++)
            put_route(paths, &f->routes[k], f, &e);
    }
    return paths;
}

void openapi_get(struct req *r)
{
    struct buf b = BUF_INIT(TEXT_MAX);
    struct json *j = openapi_constant(
        "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"od\",\"version\":\"1\","
        "\"description\":\"A computer for an AI agent. A server that was started without "
        "a key needs none.\",\"license\":{\"name\":\"MIT\",\"identifier\":\"MIT\"}},"
        "\"security\":[{\"key\":[]},{\"bearer\":[]}]}");
    json_put(j, "paths", paths_of(r));
    json_put(j, "components", openapi_components());
    json_print(&b, j);
    json_free(j);
    req_answer_take(r, 200, json_type, &b);
}
