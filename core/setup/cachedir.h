/* SPDX-License-Identifier: MIT */
/*
 * A folder that outlives containers, for what pip, npm and apt download: od serve
 * --cache-dir. pip and npm refuse a cache with files of another user in it, so each
 * user has folders of their own; apt's is root's.
 */
#ifndef OD_SETUP_CACHEDIR_H
#define OD_SETUP_CACHEDIR_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Prepares an existing folder: makes apt's part of it, and the apt.conf that APT_CONFIG
 * names. Writes nothing outside the folder. Returns -1 and sets *e if it cannot be used.
 */
int cachedir_prepare(const char *dir, struct err *e);
/*
 * Earlier versions wrote this file into containers, and into machines that they took for
 * one. apt fails while the file names a folder that is gone.
 */
#define CACHEDIR_LEFTOVER "/etc/apt/apt.conf.d/99od-cache"
/*
 * True if that file exists, is one of od's, and names a folder that is gone, which is
 * written to dir. root is put before the path, for tests; "" is the system.
 */
bool cachedir_leftover(const char *root, char *dir, size_t size);
/*
 * Appends the variables for a user's programs, each ending in NUL, and makes the folders
 * that they name. dir "": does nothing.
 */
void cachedir_variables(const char *dir, uid_t uid, gid_t gid, struct buf *out);

#endif
