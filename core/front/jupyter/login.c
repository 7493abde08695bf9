/* SPDX-License-Identifier: MIT */
/*
 * The login of browsers, as Jupyter has it (jupyter_server/auth/login.py): a form for the
 * token, or a page's address with ?token=TOKEN, is turned into a cookie. core/access
 * judges: a request that changes something has the cookie _xsrf in X-XSRFToken or as
 * _xsrf, too, and a page of another origin gets nothing.
 */
#include "front/jupyter/own.h"

#include "access/access.h"

#include <string.h>

enum { NEXT_MAX = 2048, PAGE_MAX = 8 << 10 };

void nb_redirect(struct req *r, const char *path, struct str query)
{
    const struct jupyter *f = req_arg(r);
    struct buf to = BUF_INIT(4 * NEXT_MAX);
    buf_addf(&to, "%s%s%s%.*s", f->base, path, query.n ? "?" : "", STR_ARG(query));
    req_header_add(r, "Location", buf_full(&to) ? "/" : buf_z(&to));
    req_header_add(r, "Cache-Control", "no-store");
    req_answer(r, 302, NULL, STR(""));
    buf_release(&to);
}

/* Answers with the form, whose action has the same query. */
static void show(struct req *r, int status, const char *why)
{
    struct buf b = BUF_INIT(PAGE_MAX);
    char token[LOGIN_TOKEN_HEX + 1];
    access_form_token(r, token);
    buf_addf(&b,
             "<!doctype html><html lang=en><meta charset=utf-8><title>Log in</title>"
             "<h1>Log in</h1><p role=alert>%s"
             "</p><form method=post><input type=hidden name=_xsrf value=%s><label>Token "
             "<input name=password type=password autofocus required></label> <button>Log "
             "in</button></form>",
             why, token);
    req_header_add(r, "Cache-Control", "no-store");
    req_header_add(r, "Content-Security-Policy",
                   "default-src 'none'; form-action 'self'; "
                   "frame-ancestors 'none'");
    req_header_add(r, "Referrer-Policy", "same-origin");
    req_answer_take(r, status, "text/html; charset=utf-8", &b);
}

/* A token in the address is judged at the address that it leads to. */
void nb_get_login(struct req *r)
{
    struct str query = req_head(r)->query;
    struct buf token = BUF_INIT(LIMIT_API_KEY_MAX);
    if (req_query(r, "token", &token))
        nb_redirect(r, "/", query);
    else
        show(r, 200, "The token of this server is what it was started with.");
    buf_release(&token);
}

/* Goes to the path of ours that the query has as `next`. */
static void go_on(struct req *r)
{
    const struct jupyter *f = req_arg(r);
    struct buf next = BUF_INIT(NEXT_MAX);
    struct str to;
    bool plain = req_query(r, "next", &next) > 0;
    to = buf_str(&next);
    plain = plain && str_starts(to, str_of(f->base));
    to = str_sub(to, strlen(f->base), to.n);
    for (size_t i = 0; i < to.n; i++)
        plain = plain && to.p[i] > ' ' && to.p[i] < 0x7f && to.p[i] != '\\';
    if (!plain || !str_starts(to, STR("/")) || str_starts(to, STR("//")))
        to = STR("/");
    nb_redirect(r, to.p, STR(""));
    buf_release(&next);
}

void nb_post_login(struct req *r)
{
    const struct jupyter *f = req_arg(r);
    struct buf xsrf = BUF_INIT(LIMIT_API_KEY_MAX), given = BUF_INIT(LIMIT_API_KEY_MAX);
    enum late said = LATE_WRONG;
    bool own = http_query(req_body(r), "_xsrf", &xsrf) > 0 &&
               access_is_own_form(f->access, r, buf_str(&xsrf));
    if (own && http_query(req_body(r), "password", &given) > 0)
        said = access_late(f->access, &nb_door, r, "password", buf_str(&given));
    if (!own) {
        show(r, 403, "'_xsrf' argument missing from POST, or another page sent it.");
    } else if (said != LATE_COUNTS) {
        show(r, said == LATE_MANY ? 429 : 401, "Invalid credentials");
    } else {
        access_log_in(f->access, r, LOGIN_COOKIE_JUPYTER);
        go_on(r);
    }
    buf_release(&xsrf);
    buf_release(&given);
}

void nb_get_logout(struct req *r)
{
    const struct jupyter *f = req_arg(r);
    access_log_out(f->access, r, LOGIN_COOKIE_JUPYTER);
    nb_redirect(r, "/login", STR(""));
}

void nb_refuse(void *f, struct req *r, enum refusal why, int status, const char *text)
{
    struct str path = req_head(r)->path;
    struct buf next = BUF_INIT(NEXT_MAX);
    const struct jupyter *j = f;
    if (why != REFUSE_MISSING || !str_eq(req_method(r), STR("GET")) || !req_route(r) ||
        str_find(req_header(r, "Accept"), STR("text/html")) < 0) {
        nb_fail(r, status, text);
        return;
    }
    buf_addz(&next, "next=");
    nb_put_path(&next, str_of(j->base));
    nb_put_path(&next, path);
    nb_redirect(r, "/login", buf_full(&next) ? STR("") : buf_str(&next));
    buf_release(&next);
}
