/* SPDX-License-Identifier: MIT */
/*
 * Which pages may read answers (the CORS protocol of the Fetch Standard), by the rules of
 * openhands-agent-server middleware.py. Credentials are always allowed.
 */
#include "front/v1/own.h"

#include "http/url.h"
#include "text/pattern.h"

#include <string.h>

/* Does the regular expression match all of text? */
static bool like(struct pattern *p, struct str text)
{
    struct err e = ERR_INIT;
    struct str line;
    return p && str_chr(text, '\n') < 0 && pattern_next(p, text, 0, &line, &e) == 1;
}

static bool is_allowed(const struct v1 *v, struct str origin)
{
    struct url u;
    struct err e = ERR_INIT;
    for (struct json *o = json_first(v->origins); o; o = json_next(o)) {
        if (str_eq(json_str_value(o, ""), origin))
            return true;
    }
    if (like(v->origin_like, origin))
        return true;
    struct str rest = origin;
    long scheme = str_find(origin, STR("://"));
    if (scheme < 1)
        return false;
    /* url_parse knows four schemes only; any may be given here. */
    struct buf b = BUF_INIT(1024);
    rest = str_sub(origin, (size_t)scheme, origin.n);
    buf_addf(&b, "http%.*s", STR_ARG(rest));
    bool ok = !buf_full(&b) && url_parse(&u, buf_str(&b), &e) == 0 &&
              (str_eq(u.host, STR("localhost")) || str_eq(u.host, STR("127.0.0.1")) ||
               (v->docker_host[0] && str_eq(u.host, str_of(v->docker_host))));
    buf_release(&b);
    return ok;
}

/* Is the path one for pages of any site? Those of the workspace cookie (9.6 of its
 * routes). */
static bool is_for_all(struct str path)
{
    static const struct str workspace = STR("/workspace");
    if (str_eq(path, STR("/api/auth/workspace-session")))
        return true;
    if (!str_starts(path, STR("/api/conversations/")))
        return false;
    struct str rest = str_sub(path, strlen("/api/conversations/"), path.n);
    long slash = str_chr(rest, '/');
    rest = str_sub(rest, slash < 0 ? rest.n : (size_t)slash, rest.n);
    return str_eq(rest, workspace) ||
           (str_starts(rest, workspace) && rest.p[workspace.n] == '/');
}

bool v1_page_may(void *f, const struct req *r, struct str origin)
{
    const struct v1 *v = f;
    if (is_for_all(req_head(r)->path))
        return str_starts(origin, STR("http://")) || str_starts(origin, STR("https://"));
    return is_allowed(v, origin);
}

static void add_field(struct req *r, const char *name, struct str value)
{
    struct buf b = BUF_INIT(HTTP_LINE_MAX);
    buf_adds(&b, value);
    req_header_add(r, name, buf_z(&b));
    buf_release(&b);
}

/* Answers an OPTIONS that is not a preflight: no route has that method. */
static void answer_options(const struct v1 *v, struct req *r)
{
    struct buf path = BUF_INIT(HTTP_LINE_MAX), allow = BUF_INIT(128);
    unsigned methods = v1_path(r, &path) == 0 ? v1_methods(v, buf_str(&path)) : 0;
    for (unsigned i = 0; http_method_names(i); i++) {
        if (methods & (1u << i))
            buf_addf(&allow, "%s%s", allow.n ? ", " : "", http_method_names(i));
    }
    if (methods)
        req_header_add(r, "Allow", buf_z(&allow));
    v1_fail(r, methods ? 405 : 404, "");
    buf_release(&path);
    buf_release(&allow);
}

bool v1_preflight(void *f, struct req *r)
{
    struct v1 *v = f;
    struct str origin = req_header(r, "Origin");
    struct str method = req_header(r, "Access-Control-Request-Method");
    struct str fields = req_header(r, "Access-Control-Request-Headers");
    bool options = str_eq(req_method(r), STR("OPTIONS"));
    bool allowed = origin.n > 0 && v1_page_may(v, r, origin);
    if (origin.n > 0)
        req_header_add(r, "Access-Control-Allow-Credentials", "true");
    if (allowed) {
        add_field(r, "Access-Control-Allow-Origin", origin);
        req_header_add(r, "Vary", "Origin");
    }
    if (options && origin.n > 0 && method.n > 0) {
        req_header_add(r, "Access-Control-Allow-Methods",
                       "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT");
        req_header_add(r, "Access-Control-Max-Age", "600");
        if (fields.n > 0)
            add_field(r, "Access-Control-Allow-Headers", fields);
        if (!allowed)
            req_header_add(r, "Vary", "Origin");
        req_answer(r, allowed ? 200 : 400, "text/plain; charset=utf-8",
                   allowed ? STR("OK") : STR("Disallowed CORS origin"));
        return true;
    }
    if (options)
        answer_options(v, r);
    return options;
}
