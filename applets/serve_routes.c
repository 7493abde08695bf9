/* SPDX-License-Identifier: MIT */
/* `od serve --routes`: the HTTP routes, and where each needs a key. */
#include "base/json.h"
#include "front/fronts.h"
#include "serve.h"

#include <stdio.h>

enum { STATUS_OURS = 125, TEXT_MAX = 1 << 20 };

/* Prints a JSON array, one route a line. */
int serve_routes(void)
{
    struct json *list = fronts_routes();
    struct buf b = BUF_INIT(TEXT_MAX);
    int rc = 0;
    for (struct json *row = json_first(list); row && rc == 0; row = json_next(row)) {
        rc = buf_addz(&b, b.n > 0 ? ",\n" : "[");
        rc = rc < 0 ? rc : json_print(&b, row);
    }
    rc = rc < 0 ? rc : buf_addz(&b, "]\n");
    json_free(list);
    if (rc == 0 && (fwrite(b.p, 1, b.n, stdout) != b.n || fflush(stdout) != 0))
        rc = -1;
    buf_release(&b);
    return rc == 0 ? 0 : STATUS_OURS;
}
