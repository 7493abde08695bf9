/* SPDX-License-Identifier: MIT */
#include "front/live_page/live_page.h"

int live_page_link(struct buf *out, struct str address, struct str prefix,
                   const char *token)
{
    static const struct {
        const char *all, *one; /* of every address of this machine, one of them */
    } names[] = {{"0.0.0.0:", "127.0.0.1:"}, {"[::]:", "[::1]:"}};
    long end = str_find(address, STR("://"));
    size_t host = end < 0 ? 0 : (size_t)end + 3;
    if (str_find(address, STR("@")) >= 0 || str_starts(address, STR("unix:")))
        return -1;
    buf_adds(out, end < 0 ? STR("http://") : str_sub(address, 0, host));
    address = str_sub(address, host, address.n);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct str all = str_of(names[i].all);
        if (!str_starts(address, all))
            continue;
        buf_addz(out, names[i].one);
        address = str_sub(address, all.n, address.n);
    }
    buf_addf(out, "%.*s%.*s/ui/#once=%s", STR_ARG(address), STR_ARG(prefix), token);
    return 0;
}
