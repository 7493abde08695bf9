/* SPDX-License-Identifier: MIT */
/*
 * Memory for a piece of output that is read and used within one turn of the loop. It is
 * not on the stack: there, every call would write to each page of it, and the process
 * would keep all of these pages, however little was read.
 */
#ifndef OD_BASE_SCRATCH_H
#define OD_BASE_SCRATCH_H

enum { SCRATCH = 64 << 10 }; /* bytes */

/*
 * Returns SCRATCH bytes of undefined content; the same function gives them back with
 * scratch_give. Two at a time are static memory, for a reader that calls another reader;
 * more come from the heap.
 */
char *scratch_take(void);
void scratch_give(char *s);

#endif
