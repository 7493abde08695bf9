/* SPDX-License-Identifier: MIT */
/*
 * A folder that outlives containers, for what pip, npm and apt download: od serve
 * --cache-dir. pip and npm refuse a cache with files of another user in it, so each
 * user has folders of their own; apt's is root's.
 */
#ifndef OD_ENGINE_CACHEDIR_H
#define OD_ENGINE_CACHEDIR_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

/*
 * Of a folder that is there, makes apt's part, and as root of a container a file in
 * etc/apt/apt.conf.d, which sudo leaves in force (root: put before it, for tests; ""
 * for the system). -1: e, the folder cannot be used.
 */
int cachedir_prepare(const char *dir, const char *root, struct err *e);
/*
 * The variables of a user's programs, each ending in NUL, and the folders they name.
 * "" as dir: none.
 */
void cachedir_variables(const char *dir, uid_t uid, gid_t gid, struct buf *out);

#endif
