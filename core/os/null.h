/* SPDX-License-Identifier: MIT */
/*
 * /dev/null, and its replacement in a root that has none: a chroot, an image whose /dev
 * is empty. A file of that name which is not the device is never used.
 */
#ifndef OD_OS_NULL_H
#define OD_OS_NULL_H

#include <stdbool.h>

bool null_there(void); /* whether /dev/null is the device */
/*
 * Returns a close-on-exec descriptor that reads as end of file, or -1 with errno. Writes
 * are dropped if it is the device, and fail otherwise.
 */
int null_open(void);
/* Opens those of the descriptors 0, 1 and 2 that are closed. Returns -1 with errno. */
int null_fill(void);

#endif
