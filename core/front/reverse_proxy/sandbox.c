/* SPDX-License-Identifier: MIT */
/*
 * Gives an app at our own origin an opaque one, by a Content-Security-Policy of ours in
 * addition to its own: its pages have no storage, no cookies, and can neither read nor
 * change a page of this server, in a frame or in their own tab. Their requests to their
 * own server then go to another origin, so the fields with which the app would refuse or
 * answer such requests are replaced. All this needs the token of the path.
 */
#include "front/reverse_proxy/own.h"

#include "access/access.h"

#include <string.h>
#include <strings.h>

#define POLICY \
    "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads"

enum { FIELD_MAX = HTTP_HEAD_MAX };

static bool is_name(struct str name, const char *word)
{
    return name.n == strlen(word) && strncasecmp(name.p, word, name.n) == 0;
}

/*
 * Was r sent by a page of the app, as far as one can tell? A proxy in between may drop
 * Origin, so a request with the token of the path counts as one.
 */
static bool is_opaque(const struct req *r)
{
    struct str token;
    uint16_t port;
    return req_right(r) != RIGHT_NONE && (str_eq(req_header(r, "Origin"), STR("null")) ||
                                          (access_app_of(r, &port, &token) && token.p));
}

static void add_copy(struct req *r, const char *name, struct str value)
{
    struct buf b = BUF_INIT(FIELD_MAX);
    buf_adds(&b, value);
    req_header_add(r, name, buf_z(&b));
    buf_release(&b);
}

/* Adds the app's policies without frame-ancestors, as our own page frames it. */
static void add_policies(struct req *r, struct str value)
{
    struct buf out = BUF_INIT(FIELD_MAX);
    while (value.n > 0) {
        struct str policy = str_cut(&value, ',');
        const char *before = out.n > 0 ? ", " : "";
        while (policy.n > 0) {
            struct str directive = str_trim(str_cut(&policy, ';')), rest = directive;
            if (directive.n == 0 || is_name(str_cut(&rest, ' '), "frame-ancestors"))
                continue;
            buf_addf(&out, "%s%.*s", before, STR_ARG(directive));
            before = "; ";
        }
    }
    if (out.n > 0)
        req_header_add(r, "Content-Security-Policy", buf_z(&out));
    buf_release(&out);
}

bool sandbox_takes(struct req *r, struct str name, struct str value)
{
    static const char *const replaced[] = {"X-Frame-Options",
                                           "Cross-Origin-Opener-Policy",
                                           "Cross-Origin-Resource-Policy", NULL};
    static const char cors[] = "Access-Control-";
    const char *const *w = replaced;
    if (is_name(name, "Content-Security-Policy")) {
        add_policies(r, value);
        return true;
    }
    while (*w && !is_name(name, *w))
        w++;
    return *w || (is_opaque(r) && name.n > strlen(cors) &&
                  strncasecmp(name.p, cors, strlen(cors)) == 0);
}

void reverse_proxy_sandbox(struct req *r)
{
    req_header_add(r, "Content-Security-Policy", POLICY);
    req_header_add(r, "Cross-Origin-Resource-Policy", "cross-origin");
    if (!is_opaque(r))
        return;
    req_header_add(r, "Access-Control-Allow-Origin", "null");
    req_header_add(r, "Access-Control-Allow-Credentials", "true");
    req_header_add(r, "Access-Control-Expose-Headers", "*");
}

bool reverse_proxy_preflight(struct req *r)
{
    struct str method = req_header(r, "Access-Control-Request-Method"),
               fields = req_header(r, "Access-Control-Request-Headers");
    if (!str_eq(req_method(r), STR("OPTIONS")) || !is_opaque(r) || !method.p)
        return false;
    reverse_proxy_sandbox(r);
    add_copy(r, "Access-Control-Allow-Methods", method);
    if (fields.p)
        add_copy(r, "Access-Control-Allow-Headers", fields);
    req_header_add(r, "Access-Control-Max-Age", "600");
    req_answer(r, 204, NULL, STR(""));
    return true;
}
