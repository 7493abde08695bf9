/* SPDX-License-Identifier: MIT */
/*
 * The form that turns a key into a cookie, and which requests are allowed
 * (front/logins.h). Pages of other ports of the same host are the same site: their
 * requests are refused by Origin and Sec-Fetch-Site. A person who follows a link from
 * there is let in.
 */
#include "front/preview/own.h"

#include "front/fronts.h"
#include "access/access.h"

#include <string.h>

enum { NEXT_MAX = 2048, PAGE_MAX = 8 << 10 };

/* ---- the form ---- */

/* Returns the path to go to after the login; "" if it is not a path of ours. */
static struct str next_of(struct buf *out)
{
    struct str next = buf_str(out);
    for (size_t i = 0; i < next.n; i++) {
        if ((unsigned char)next.p[i] <= ' ' || strchr("\"'<>\\&", next.p[i]))
            return STR("");
    }
    return next.n > 1 && next.p[0] == '/' && next.p[1] != '/' ? str_sub(next, 1, next.n)
                                                              : STR("");
}

static void show(struct req *r, int status, const char *why, struct str next)
{
    struct buf b = BUF_INIT(PAGE_MAX);
    struct str path = req_head(r)->path;
    size_t depth = str_count(path, '/');
    buf_addz(&b,
             "<!doctype html><html lang=en><meta charset=utf-8>"
             "<meta name=viewport content=\"width=device-width\"><title>Log in</title>"
             "<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,"
             "sans-serif;max-width:26rem;margin:4rem auto;padding:0 1rem}"
             "input,button{font:inherit;padding:.4rem .6rem;width:100%;"
             "box-sizing:border-box;margin:.3rem 0}</style><h1>Log in</h1>");
    buf_addf(&b, "<p role=alert>%s</p><form method=post action=\"", why);
    for (size_t i = 1; i < depth; i++)
        buf_addz(&b, "../");
    buf_addf(&b,
             "login\"><label>Key<input name=key type=password autofocus required "
             "autocomplete=current-password></label><input type=hidden name=next "
             "value=\"/%.*s\"><button>Log in</button></form>",
             STR_ARG(next));
    req_header_add(r, "Cache-Control", "no-store");
    req_header_add(r, "Content-Security-Policy",
                   "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
                   "frame-ancestors 'none'");
    req_header_add(r, "Referrer-Policy", "same-origin");
    req_answer_take(r, status, "text/html; charset=utf-8", &b);
}

void preview_show_form(struct req *r, int status, const char *why)
{
    struct buf next = BUF_INIT(NEXT_MAX);
    if (str_eq(req_method(r), STR("GET"))) {
        buf_adds(&next, req_head(r)->path);
        if (req_head(r)->query.n > 0)
            buf_addf(&next, "?%.*s", STR_ARG(req_head(r)->query));
    }
    show(r, status, why, next_of(&next));
    buf_release(&next);
}

void preview_login_get(struct req *r)
{
    show(r, 200, "The key of this server shows the apps of its sandbox.", STR(""));
}

void preview_login_post(struct req *r)
{
    struct preview *p = req_arg(r);
    struct access *a = fronts_access(p->fronts);
    struct buf key = BUF_INIT(LIMIT_API_KEY_MAX), next = BUF_INIT(NEXT_MAX),
               to = BUF_INIT(NEXT_MAX + 8);
    http_query(req_body(r), "next", &next);
    bool has = http_query(req_body(r), "key", &key) > 0;
    enum late said = LATE_WRONG;
    if (has && access_from_here(a, r))
        said = access_late(a, &preview_door, r, "key", buf_str(&key));
    if (!access_from_here(a, r)) {
        show(r, 403, "Another page sent this form. Log in here.", STR(""));
    } else if (said != LATE_COUNTS) {
        bool few = said == LATE_WRONG;
        show(r, few ? 401 : 429,
             few ? "This key is wrong." : "Too many wrong keys. Try again in a second.",
             next_of(&next));
    } else {
        access_log_in(a, r, LOGIN_COOKIE_PREVIEW);
        buf_addf(&to, "./%.*s", STR_ARG(next_of(&next)));
        req_header_add(r, "Location", buf_z(&to));
        req_header_add(r, "Cache-Control", "no-store");
        req_answer(r, 303, NULL, STR(""));
    }
    buf_release(&key);
    buf_release(&next);
    buf_release(&to);
}
