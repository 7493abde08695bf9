/* SPDX-License-Identifier: MIT */
/*
 * What fault.c and fault_alloc.c have agreed on: the number of a system call that no
 * kernel has. A program makes it before each allocation; it fails with ENOSYS, or with
 * ENOMEM if that allocation shall fail.
 */
#ifndef OD_TESTS_FAULT_H
#define OD_TESTS_FAULT_H

#include <stdbool.h>

#define FAULT_ALLOC 5555

#endif
