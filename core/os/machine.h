/* SPDX-License-Identifier: MIT */
/* Processors, memory and disk of this machine, as /proc and statvfs(3) report them. */
#ifndef OD_OS_MACHINE_H
#define OD_OS_MACHINE_H

#include "base/str.h"

#include <stdint.h>

struct machine {
    unsigned cpus;                /* online; at least 1 */
    uint64_t cpu_busy, cpu_total; /* ticks of all processors since the boot */
    uint64_t mem_total, mem_available, mem_cache; /* bytes */
    uint64_t disk_total, disk_used;               /* bytes, of the root file system */
};

/* Fills m; what cannot be read (no /proc) is 0. */
void machine_measure(struct machine *m);
/* Reads the beginning of a file into space. Returns "" if it cannot be read. */
struct str machine_read(const char *path, char *space, size_t size);
/* The number of a line "NAME: 123 …" of such a text, as in proc_meminfo(5); 0: none. */
uint64_t machine_field(struct str text, const char *name);
/* Percent of all processors that was busy between two looks; 0 if nothing has passed. */
double machine_busy(const struct machine *before, const struct machine *now);

#endif
