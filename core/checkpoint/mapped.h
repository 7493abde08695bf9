/* SPDX-License-Identifier: MIT */
/*
 * Files that programs have mapped for writing, shared with the file (mmap(2),
 * MAP_SHARED). The kernel sets the time of such a file at the first write to a page, and
 * not again before it has written the page to the disk, half a minute later: until then
 * the times say nothing of its content.
 */
#ifndef OD_CHECKPOINT_MAPPED_H
#define OD_CHECKPOINT_MAPPED_H

#include "checkpoint/store.h"

#include <sys/types.h>

struct mapped_file {
    uint64_t ino[2]; /* as /proc has it, and as the path has it; 0: not known */
    char *path;      /* owned, as /proc has it; "": not known */
    bool elsewhere;  /* the path is one of another mount namespace */
};

/* Zeroed, it is empty. */
struct mapped {
    struct mapped_file *v; /* owned */
    size_t n, cap;
    uint64_t *inos; /* owned, sorted: of all files */
    size_t inos_n;
    struct mapped_process {
        pid_t pid;
        bool hidden; /* it may not be looked at */
    } * all;         /* owned: all that have memory, so no threads of the kernel */
    size_t all_n;
    bool failed; /* the processes could not be listed */
    int64_t at;  /* clock_wall_ms at its begin */
};

/* Looks at all processes, with the rights of the store's server and of its user. */
void mapped_find(struct mapped *m, const struct store *s);
/* Is it one of them? Other file systems may have the same number: then yes, too. */
bool mapped_has(const struct mapped *m, uint64_t ino);
void mapped_release(struct mapped *m);

/* At most so many processes are looked at. */
enum { MAPPED_PROCESSES = 1 << 16 };

#endif
