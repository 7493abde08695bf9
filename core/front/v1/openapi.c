/* SPDX-License-Identifier: MIT */
/* GET /openapi.json, made from the tables of routes, and the pages that lead to it. */
#include "front/v1/own.h"

#include "base/param.h"
#include "http/url.h"

#include <stdio.h>
#include <string.h>

enum { PART_MAX = 128 };

static struct json *around(const char *name, struct json *take)
{
    struct json *j = json_object();
    json_put(j, name, take);
    return j;
}

static struct json *with(const char *name, const char *text)
{
    struct json *j = json_object();
    json_put_z(j, name, text);
    return j;
}

static struct json *parameters(const struct route *t)
{
    struct json *list = json_array();
    for (const struct param *p = t->query; p && p->name; p++) {
        char part[PART_MAX];
        snprintf(part, sizeof(part), "{%s}", p->name);
        bool path = strstr(t->path, part) != NULL;
        struct json *j = with("name", p->name);
        json_put_z(j, "in", path ? "path" : "query");
        json_put_bool(j, "required", path || p->required);
        json_put_z(j, "description", p->about);
        json_put(j, "schema", param_schema(p));
        json_push(list, j);
    }
    return list;
}

static struct json *operation(const struct route *t)
{
    struct json *j = with("summary", t->about ? t->about : t->path);
    struct json *answers = json_object(), *list = parameters(t);
    if (json_count(list) > 0)
        json_put(j, "parameters", list);
    else
        json_free(list);
    json_put(answers, "200", with("description", "Successful Response"));
    if (t->query || t->body_max > 0 || t->body)
        json_put(answers, "422", with("description", "Validation Error"));
    if (t->body_max > 0 || t->body) {
        const char *type = t->takes ? t->takes : "application/json";
        struct json *schema = around("schema", with("type", "object"));
        json_put(j, "requestBody", around("content", around(type, schema)));
    }
    if (!open_find("v1", t)) {
        struct json *security = json_array();
        json_push(security, around("APIKeyHeader", json_array()));
        json_put(j, "security", security);
    }
    json_put(j, "responses", answers);
    return j;
}

static void put_route(struct json *paths, const struct route *t)
{
    static const char *const names[] = {"get", "post", "put", "delete", "patch"};
    if (t->marks & ROUTE_MESSAGE || strchr(t->path, '*'))
        return; /* OpenAPI cannot describe WebSockets and rests of paths */
    if (!json_has(paths, t->path))
        json_put(paths, t->path, json_object());
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (t->methods & (1u << i))
            json_put(json_get(paths, t->path), names[i], operation(t));
    }
}

/* Adds the path of the public URL, without its last slash. */
static void put_root(const struct v1 *v, struct json *to)
{
    struct url u;
    struct err e = ERR_INIT;
    if (!v->web_url[0] || url_parse(&u, str_of(v->web_url), &e) < 0)
        return;
    struct str path = str_cut(&u.target, '?');
    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    if (path.n == 0)
        return;
    struct json *server = json_object(), *list = json_array();
    json_put_str(server, "url", path);
    json_push(list, server);
    json_put(to, "servers", list);
}

static void openapi(struct req *r)
{
    const struct v1 *v = v1_of(r);
    struct json *j = with("openapi", "3.1.0"), *info = json_object();
    struct json *paths = json_object(), *scheme = with("type", "apiKey");
    json_put_z(info, "title", "OpenHands Agent Server");
    json_put_z(info, "version", V1_LINE);
    json_put(j, "info", info);
    put_root(v, j);
    for (size_t i = 0; i < v->ntables; i++) {
        const struct http_front *f = &v->tables[i];
        for (size_t k = 0; f->routes != v1_elsewhere_table.routes && k < f->nroutes; k++)
            put_route(paths, &f->routes[k]);
    }
    json_put(j, "paths", paths);
    json_put_z(scheme, "in", "header");
    json_put_z(scheme, "name", "X-Session-API-Key");
    json_put(j, "components", around("securitySchemes", around("APIKeyHeader", scheme)));
    v1_answer(r, 200, j);
}

static void docs(struct req *r)
{
    req_answer(r, 200, "text/html; charset=utf-8",
               STR("<!DOCTYPE html>\n<title>OpenHands Agent Server</title>\n"
                   "<p>The routes are described in <a href=\"openapi.json\">openapi.json"
                   "</a>.\n"));
}

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/openapi.json",
     .run = openapi,
     .about = "This description"},
    {.methods = HTTP_GET,
     .path = "/docs",
     .run = docs,
     .gives = "text/html",
     .about = "A page that leads to the description"},
    {.methods = HTTP_GET,
     .path = "/redoc",
     .run = docs,
     .gives = "text/html",
     .about = "A page that leads to the description"},
};

const struct http_front v1_openapi_table = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = v1_fail};
