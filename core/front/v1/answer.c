/* SPDX-License-Identifier: MIT */
/* Answers and refusals in the agent-server's form, and the place of its key. */
#include "front/v1/own.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

const char v1_json[] = "application/json";

static const char ws_path[] = "/sockets/bash-events";

struct v1 *v1_of(const struct req *r) { return req_arg(r); }
void v1_touch(struct v1 *v) { v->busy_ms = clock_ms(); }

/* ---- answers ---- */

void v1_answer(struct req *r, int status, struct json *take)
{
    struct buf b = BUF_INIT(V1_ANSWER_MAX);
    ASSERT(take);
    json_print(&b, take);
    json_free(take);
    req_answer_take(r, status, v1_json, &b);
}

void v1_detail(struct req *r, int status, const char *text)
{
    struct json *j = json_object();
    json_put_z(j, "detail", text);
    v1_answer(r, status, j);
}

static struct json *internal_error(const char *exception)
{
    struct json *j = json_object();
    json_put_z(j, "detail", "Internal Server Error");
    json_put_z(j, "exception", exception);
    return j;
}

void v1_broken(struct req *r, int status, const char *text)
{
    struct buf b = BUF_INIT(8 << 10);
    buf_addf(&b, "%d: %s", status, text);
    log_error("v1: HTTPException %d %.*s: %s", status, STR_ARG(req_head(r)->path), text);
    v1_answer(r, status, internal_error(buf_z(&b)));
    buf_release(&b);
}

void v1_unforeseen(struct req *r, const char *text)
{
    char id[33];
    random_hex(id, 32);
    struct json *j = internal_error(text);
    json_put_z(j, "error_id", id);
    log_error("v1: error %s at %.*s: %s", id, STR_ARG(req_head(r)->path), text);
    v1_answer(r, 500, j);
}

/* ---- routes ---- */

/* Does the pattern of a route match the path? The same rules as for routes in
 * http/httpd.h. */
static bool fits(struct str pattern, struct str path)
{
    while (pattern.n > 0 && path.n > 0) {
        struct str p = str_sub(pattern, 1, pattern.n), s = str_sub(path, 1, path.n);
        if (str_eq(p, STR("*")))
            return true;
        long pe = str_chr(p, '/'), se = str_chr(s, '/');
        struct str want = str_sub(p, 0, pe < 0 ? p.n : (size_t)pe);
        struct str got = str_sub(s, 0, se < 0 ? s.n : (size_t)se);
        bool any = want.n > 2 && want.p[0] == '{' && got.n > 0;
        if (!any && !str_eq(want, got))
            return false;
        pattern = str_sub(p, want.n, p.n);
        path = str_sub(s, got.n, s.n);
    }
    return pattern.n == 0 && path.n == 0;
}

unsigned v1_methods(const struct v1 *v, struct str path)
{
    unsigned methods = 0;
    for (size_t i = 0; i < v->ntables; i++) {
        for (size_t k = 0; k < v->tables[i].nroutes; k++) {
            const struct route *t = &v->tables[i].routes[k];
            if (fits(str_of(t->path), path))
                methods |= t->methods;
        }
    }
    return methods;
}

int v1_path(const struct req *r, struct buf *out)
{
    return http_decode(out, req_head(r)->path, false);
}

/* If the path exists with one slash more or less, redirects there with 307, as Starlette
 * does. */
static bool redirect(struct req *r)
{
    const struct http_front *f = req_front(r, 0);
    const struct http_head *h = req_head(r);
    struct buf path = BUF_INIT(HTTP_LINE_MAX + 1), to = BUF_INIT(2 * HTTP_LINE_MAX);
    bool slash = h->path.n > 1 && h->path.p[h->path.n - 1] == '/';
    if (h->path.n == 0 || h->path.p[0] != '/')
        return false;
    struct str plain = str_sub(h->path, 0, slash ? h->path.n - 1 : h->path.n);
    http_decode(&path, plain, false);
    if (!slash)
        buf_addc(&path, '/');
    bool there = !buf_full(&path) && v1_methods(f->arg, buf_str(&path)) != 0;
    if (there) {
        buf_addf(&to, "http%s://%.*s%.*s%s", req_is_secure(r) ? "s" : "",
                 STR_ARG(h->host), STR_ARG(plain), slash ? "" : "/");
        if (h->query.p)
            buf_addf(&to, "?%.*s", STR_ARG(h->query));
        req_header_add(r, "Location", buf_z(&to));
        req_answer(r, 307, NULL, STR(""));
    }
    buf_release(&path);
    buf_release(&to);
    return there;
}

void v1_fail(struct req *r, int status, const char *text)
{
    if (status == 404 && !req_served_by(r) && redirect(r))
        return;
    if (status == 404)
        v1_detail(r, 404, "Not Found");
    else if (status == 405 || status == 501)
        v1_detail(r, 405, "Method Not Allowed");
    else if (status == 413 || status < 500)
        v1_detail(r, status, text);
    else
        v1_broken(r, status, text);
}

/* ---- proofs ---- */

/* For a WebSocket, as browsers cannot send a field there, the query may have the key
 * (openhands-agent-server sockets.py). */
static const struct proof proofs[] = {
    {.place = PROOF_FIELD, .name = "X-Session-API-Key"},
    {.place = PROOF_QUERY, .name = "session_api_key", .on = ROUTE_MESSAGE},
    {.place = PROOF_MESSAGE, .name = "session_api_key", .on = ROUTE_MESSAGE},
    {.place = PROOF_FIELD,
     .name = "X-Init-API-Key",
     .kind = PROOF_SECRET,
     .on = ROUTE_SETUP},
    {.place = PROOF_END}};
const struct door v1_door = {.proofs = proofs,
                             .missing = 401,
                             .wrong = 401,
                             .missing_text = "Unauthorized",
                             .wrong_text = "Unauthorized",
                             .page_may = v1_page_may};

void v1_refuse(void *f, struct req *r, enum refusal why, int status, const char *text)
{
    (void)f;
    bool unknown = why == REFUSE_MISSING || why == REFUSE_WRONG;
    if (unknown && str_eq(req_head(r)->path, str_of(ws_path)))
        v1_detail(r, 403, "Forbidden");
    else if (status < 500)
        v1_detail(r, status, text);
    else
        v1_broken(r, status, text);
}
