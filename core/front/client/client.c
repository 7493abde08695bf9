/* SPDX-License-Identifier: MIT */
#include "front/client/client.h"

#include "archive/zip_text.h"
#include "base/log.h"
#include "front/client/client.py.gz.h"
#include "front/client/client.ts.gz.h"

#include <string.h>

static int unpack(struct buf *out, const unsigned char *gz, size_t n)
{
    BUG_ON(zip_text(out, str_n(gz, n)) < 0);
    return 0;
}

int client_text(struct buf *out, const char *language)
{
    if (strcmp(language, "python") == 0)
        return unpack(out, client_py_gz, sizeof(client_py_gz));
    if (strcmp(language, "typescript") == 0)
        return unpack(out, client_ts_gz, sizeof(client_ts_gz));
    return -1;
}
