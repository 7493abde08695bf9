/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "browser/browsing.h"

#include <string.h>
#include <unistd.h>

void browsing_address(struct buf *out, struct str cwd, struct str given)
{
    static const char *const schemes[] = {
        "http:", "https:", "file:", "about:", "data:", "view-source:"};
    struct buf path = BUF_INIT(cwd.n + 2 + given.n);
    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
        if (str_starts(given, str_of(schemes[i]))) {
            buf_adds(out, given);
            return;
        }
    }
    bool absolute = given.n > 0 && given.p[0] == '/';
    if (!absolute)
        buf_addf(&path, "%.*s/", STR_ARG(cwd));
    buf_adds(&path, given);
    if (absolute || access(buf_z(&path), F_OK) == 0) {
        buf_addz(out, "file://");
        for (size_t i = 0; i < path.n; i++) {
            unsigned char c = (unsigned char)path.p[i];
            if (strchr("%?#\"\\", c) || c < ' ')
                buf_addf(out, "%%%02x", c);
            else
                buf_addc(out, (char)c);
        }
    } else {
        buf_addf(out, "http://%.*s", STR_ARG(given));
    }
    buf_release(&path);
}
