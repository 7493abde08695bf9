/* SPDX-License-Identifier: MIT */
#include "front/client/client.h"

#include "archive/zip_text.h"
#include "front/client/client.py.gz.h"
#include "front/client/client.ts.gz.h"

#include <string.h>

int client_text(struct buf *out, const char *language)
{
    if (strcmp(language, "python") == 0)
        zip_text(out, str_n(client_py_gz, sizeof(client_py_gz)));
    else if (strcmp(language, "typescript") == 0)
        zip_text(out, str_n(client_ts_gz, sizeof(client_ts_gz)));
    else
        return -1;
    return 0;
}
