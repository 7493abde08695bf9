/* SPDX-License-Identifier: MIT */
/* Removing a folder with its content. */
#ifndef OD_OS_REMOVE_H
#define OD_OS_REMOVE_H

/*
 * Removes path and everything below it; links are removed, not followed. What cannot be
 * removed stays, without an error. Blocks on the file system: for small trees, or in a
 * process of its own.
 */
void remove_tree(const char *path);

#endif
