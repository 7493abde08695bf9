/* SPDX-License-Identifier: MIT */
/* Set-Cookie fields, one a line: what is said of them has no line in it. */
#include "base/log.h"
#include "http/cookies.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cookies *c = cookies_new();
    struct cookies_where w = {STR("www.a.example"), STR("/x/y?z"), true};
    struct str rest = str_n(data, n);
    struct buf out = BUF_INIT(4 << 20);
    while (rest.n)
        cookies_take(c, &w, str_cut(&rest, '\n'), 1000000000);
    BUG_ON(cookies_count(c) > COOKIES_MAX);
    BUG_ON(cookies_say(c, &w, 1000000000, &out) < 0);
    BUG_ON(str_chr(buf_str(&out), '\n') >= 0 || str_chr(buf_str(&out), '\r') >= 0);
    buf_release(&out);
    cookies_free(c);
    return 0;
}
