/* SPDX-License-Identifier: MIT */
/* Owner, mode, times and xattrs of what a restore makes, or adjusts. */
#ifndef OD_CHECKPOINT_META_H
#define OD_CHECKPOINT_META_H

#include "checkpoint/manifest.h"

/*
 * Sets what differs (entry_differs) of the file at fd, which may be an O_PATH one and is
 * no link. Does all it can. Returns 0, or -1 with the first errno; *what
 * names it: "owner".
 */
int meta_set(int fd, const struct file_node *want, unsigned differs, const char **what);
/* The same for a symbolic link: its owner and time. */
int meta_set_link(int at, const char *name, const struct file_node *want,
                  unsigned differs, const char **what);
/* Lets the owner change what is in the folder at fd. */
void meta_open_up(int fd, uint32_t mode);

#endif
