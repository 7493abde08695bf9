/* SPDX-License-Identifier: MIT */
#include "engine/users.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int users_make_dir(const char *path, struct err *e)
{
    char part[4096];
    size_t n = strlen(path);
    struct stat st;
    if (n >= sizeof(part))
        return err_set(e, ERR_LIMIT, "the name of the working directory is too long");
    mode_t before = umask(002);
    int failed = 0;
    for (size_t i = 1; i <= n && !failed; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0777) < 0 && stat(part, &st) < 0)
            failed = errno;
    }
    umask(before);
    return failed ? err_sys(e, failed, "cannot make the working directory %s", path) : 0;
}
