/* SPDX-License-Identifier: MIT */
/*
 * Files for sessions that are made in advance, for when the disk is full.
 *
 * STATE/reserve has folders 0, 1 ..., each with the files of a session
 * (session_start.c), which have space already. A session that cannot make one of its own
 * moves one of these to its place, which takes neither space nor an inode. A helper makes
 * them a second after the start, and again when some were used and there is room.
 */
#ifndef OD_SHELL_SPARE_H
#define OD_SHELL_SPARE_H

#include <stdbool.h>

struct engine;

enum { SPARE_BYTES = 16 << 10 /* of each file: the code of a shell, a usual command */ };

/*
 * After an error that means a full disk: moves a file of this name ("p", "r", "c", and
 * the FIFOs "e", "i"; NULL: a whole folder) to path, over what is there. Returns false
 * with errno errnum if there is none, or errnum is another error.
 */
bool spare_take(struct engine *en, int errnum, const char *name, const char *path);

#endif
