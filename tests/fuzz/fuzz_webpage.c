/* SPDX-License-Identifier: MIT */
/* A page of HTML: the text is UTF-8 if the page was, and each number stands once. */
#include "base/log.h"
#include "base/utf8.h"
#include "webpage/webpage.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err e = ERR_INIT;
    struct webpage p;
    struct str html = str_n(data, n);
    webpage_init(&p);
    int rc = webpage_html(&p, html, STR("http://h/d/"), &e);
    BUG_ON(rc < 0 && (!e.code || !e.text[0]));
    BUG_ON(rc == 0 && utf8_valid(html) && !utf8_valid(buf_str(&p.text)));
    uint64_t last = 0;
    for (const struct json *j = json_first(p.items); j; j = json_next(j)) {
        uint64_t bid = 0;
        struct str s = json_str(j, "bid", "");
        if (s.n && str_to_u64(s, &bid) == 0) {
            BUG_ON(bid != last + 1);
            last = bid;
        }
    }
    webpage_release(&p);
    return 0;
}
