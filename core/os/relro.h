/* SPDX-License-Identifier: MIT */
/*
 * Memory that only the relocations of the start write: tables of pointers, which the
 * header PT_GNU_RELRO names. A dynamic loader makes it read-only when it has relocated;
 * in a static PIE of musl nobody does.
 */
#ifndef OD_OS_RELRO_H
#define OD_OS_RELRO_H

/* Makes it read-only in this process. Nothing happens where that is refused. */
void relro_apply(void);

#endif
