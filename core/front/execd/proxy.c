/* SPDX-License-Identifier: MIT */
/*
 * /proxy/PORT/rest: requests to a port of the sandbox (front/reverse_proxy).
 * OpenSandbox's Docker provider publishes the daemon's own port and gives this path as
 * the endpoint of others.
 */
#include "front/execd/own.h"

#include "base/log.h"

#include <strings.h>

#define PREFIX "/proxy"

static bool hides(const struct reverse_proxy *p, const struct req *r, struct str name)
{
    static const struct str token = STR("X-EXECD-ACCESS-TOKEN");
    (void)p;
    (void)r;
    return name.n == token.n && strncasecmp(name.p, token.p, token.n) == 0;
}

static void fail(struct req *r, int status, const char *text)
{
    if (status == 502) {
        log_debug("execd: %s: %s", PREFIX, text);
        text = "Bad Gateway";
    }
    req_answer(r, status, "text/plain", str_of(text));
}

static void answer_absent(struct req *r, uint16_t port, const char *text)
{
    (void)port;
    fail(r, 502, text);
}

static const struct reverse_proxy_rules rules = {
    .prefix = PREFIX, .hides = hides, .fail = fail, .absent = answer_absent};

void execd_proxy_init(struct execd *f, struct fronts *all)
{
    reverse_proxy_init(&f->reverse_proxy, all, &rules);
}

void execd_proxy(struct req *r)
{
    struct execd *f = req_arg(r);
    struct reverse_proxy_target to;
    engine_touch(f->en);
    if (reverse_proxy_target_of(&rules, r, &to))
        reverse_proxy_request(&f->reverse_proxy, r, &to);
    else
        fail(r, 400, "port is required");
}
