/* SPDX-License-Identifier: MIT */
/*
 * Shared by fault.c and fault_alloc.c: the number of a system call that no kernel has. A
 * program makes it before each allocation; it fails with ENOSYS, or with ENOMEM to make
 * that allocation fail.
 */
#ifndef OD_TESTS_FAULT_H
#define OD_TESTS_FAULT_H

#include <stdbool.h>

#define FAULT_ALLOC 5555

#endif
