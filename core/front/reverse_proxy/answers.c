/* SPDX-License-Identifier: MIT */
/* Answers of our own in place of an app's. */
#include "front/reverse_proxy/own.h"

enum { PAGE_MAX = 4 << 10 };

void reverse_proxy_add_slash(struct req *r, const struct reverse_proxy_target *to)
{
    struct buf b = BUF_INIT(HTTP_HEAD_MAX);
    struct str base = to->base;
    while (base.n > 0 && str_chr(base, '/') >= 0)
        str_cut(&base, '/');
    buf_addf(&b, "./%.*s/%.*s", STR_ARG(base), STR_ARG(to->rest));
    req_header_add(r, "Location", buf_z(&b));
    buf_release(&b);
    req_answer(r, 308, NULL, STR(""));
}

void reverse_proxy_show_absent(struct req *r, uint16_t port, const char *text)
{
    struct buf b = BUF_INIT(PAGE_MAX);
    buf_addf(&b,
             "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh "
             "content=2><title>Port %u</title><style>:root{color-scheme:light dark}"
             "body{font:16px/1.5 system-ui,sans-serif;margin:4rem auto;max-width:34rem;"
             "padding:0 1rem}</style><h1>Port %u</h1><p>%s. This page looks again every "
             "2 seconds.",
             port, port, text);
    req_header_add(r, "Cache-Control", "no-store");
    req_answer_take(r, 502, "text/html; charset=utf-8", &b);
}
