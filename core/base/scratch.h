/* SPDX-License-Identifier: MIT */
/*
 * Memory to read a piece of output into, and to be done with it before the turn is over.
 * It is not on the stack: there, each page of it would be written to at every call, and
 * stay the process's for good, however little was read.
 */
#ifndef OD_BASE_SCRATCH_H
#define OD_BASE_SCRATCH_H

enum { SCRATCH = 64 << 10 }; /* bytes */

/*
 * Returns SCRATCH bytes that nobody else has, with anything in them, to be given back in
 * the same function. Two can be had at a time for nothing, as when what reads calls what
 * reads; more come from the heap.
 */
char *scratch_take(void);
void scratch_give(char *s);

#endif
