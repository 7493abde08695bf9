/* SPDX-License-Identifier: MIT */
/* A folder with all that is in it. */
#ifndef OD_OS_REMOVE_H
#define OD_OS_REMOVE_H

/*
 * Removes path and what is below it, links and not what they lead to. What cannot be
 * removed stays, without a word. It waits for the file system: for small trees, or in a
 * process of their own.
 */
void remove_tree(const char *path);

#endif
