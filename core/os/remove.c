/* SPDX-License-Identifier: MIT */
#include "os/remove.h"

#include <ftw.h>
#include <stdio.h>

enum { OPEN_FOLDERS = 16 };

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    remove(path);
    return 0;
}

void remove_tree(const char *path)
{
    nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}
