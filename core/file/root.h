/* SPDX-License-Identifier: MIT */
/*
 * Paths of a peer that must not leave a folder, the root, whatever links and `..` are
 * in them. A path is resolved to one without either, and then walked part by part without
 * following a link: if a folder is replaced by a link in between, the walk fails.
 */
#ifndef OD_FILE_ROOT_H
#define OD_FILE_ROOT_H

#include "base/err.h"
#include "base/str.h"

#include <limits.h>
#include <stdbool.h>

/*
 * Appends path to root, follows links and `..`, and writes the result to out: relative
 * to root, without links and `..`; "" is the root itself. Slashes at the beginning of
 * path mean nothing. Parts that do not exist stay as they are. Returns 0, or -1 and sets
 * *e: DENIED, the path leads out of root; INVALID, it is too long, has a zero byte or
 * more than 40 links; NOTFOUND, the root does not exist.
 */
int root_resolve(const char *root, struct str path, char out[PATH_MAX], struct err *e);
/*
 * Opens the folder that contains the last part of `inside`, a result of root_resolve.
 * parents: missing folders are made (0777 and the umask). Returns the descriptor
 * (O_PATH), which the caller owns, or -1 and sets *e: DENIED, a part is a link now; else
 * as os/file.h. *name: the last part, within inside; "." for the root itself.
 */
int root_enter(const char *root, char *inside, bool parents, const char **name,
               struct err *e);

#endif
