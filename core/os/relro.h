/* SPDX-License-Identifier: MIT */
/*
 * Memory that only relocations write, at the start: tables of pointers, which the header
 * PT_GNU_RELRO describes. A dynamic loader makes it read-only after that; in a static PIE
 * with musl, nothing does.
 */
#ifndef OD_OS_RELRO_H
#define OD_OS_RELRO_H

/* Makes it read-only in this process. Does nothing if that is refused. */
void relro_apply(void);

#endif
