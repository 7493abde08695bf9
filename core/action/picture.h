/* SPDX-License-Identifier: MIT */
/*
 * Files of what cells and pages show, in the state directory, for the user of the
 * session.
 */
#ifndef OD_ACTION_PICTURE_H
#define OD_ACTION_PICTURE_H

#include "engine/engine.h"

#include <stdbool.h>
#include <sys/types.h>

enum { PICTURE_PATH = 400 };

/* The user who reads a file. */
struct picture_reader {
    bool other; /* not the user of this process, which is then root */
    uid_t uid;
    gid_t gid;
};
/*
 * Writes a file that only the reader can read; dir is an existing folder. Returns false
 * and leaves no file if it cannot be written, or the reader could not reach it.
 */
bool picture_write(const char *path, struct str bytes, const struct picture_reader *r);
/* Writes a file of that name for the session's user, as above; path "" if that fails. */
void picture_keep(struct engine *en, struct str session, const char *name,
                  struct str bytes, char path[PICTURE_PATH]);

#endif
