/* SPDX-License-Identifier: MIT */
/*
 * Which web pages may read answers (the CORS protocol of the Fetch Standard): if a key is
 * needed, all, as with envd. A page has to know the token or a signature, because
 * browsers add neither by themselves. Without a key the guard refuses every page.
 */
#include "front/e2b/e2b.h"

#include "access/access.h"

bool e2b_cors(const struct access *a, const char *at, struct req *r)
{
    struct str names = req_header(r, "Access-Control-Request-Headers");
    if (!access_keyed(a, at))
        return false;
    req_header_add(r, "Access-Control-Allow-Origin", "*");
    req_header_add(r, "Access-Control-Expose-Headers", "*");
    if (!str_eq(req_method(r), STR("OPTIONS")) || !req_header(r, "Origin").p ||
        !req_header(r, "Access-Control-Request-Method").p)
        return false;
    req_header_add(r, "Access-Control-Allow-Methods",
                   "HEAD, GET, POST, PUT, PATCH, DELETE");
    req_header_add(r, "Access-Control-Max-Age", "7200");
    if (names.n > 0) { /* "*" would not include Authorization */
        struct buf b = BUF_INIT(HTTP_LINE_MAX);
        buf_adds(&b, names);
        req_header_add(r, "Access-Control-Allow-Headers", buf_z(&b));
        buf_release(&b);
    }
    req_answer(r, 204, NULL, STR(""));
    return true;
}
