/* SPDX-License-Identifier: MIT */
#include "action/picture.h"

#include "setup/sandbox.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether this user may go through the folder. */
static bool may_pass(const struct stat *st, const struct picture_reader *r)
{
    mode_t bit = st->st_uid == r->uid   ? S_IXUSR
                 : st->st_gid == r->gid ? S_IXGRP
                                        : S_IXOTH;
    return r->uid == 0 || (st->st_mode & bit);
}

/* Whether this user may go through every folder of the path. */
static bool reaches(const char *path, const struct picture_reader *r)
{
    char folder[PATH_MAX];
    struct stat st;
    for (const char *c = strchr(path, '/'); c; c = strchr(c + 1, '/')) {
        snprintf(folder, sizeof(folder), "%.*s", c == path ? 1 : (int)(c - path), path);
        if (stat(folder, &st) < 0 || !may_pass(&st, r))
            return false;
    }
    return true;
}

bool picture_write(const char *path, struct str bytes, const struct picture_reader *r)
{
    if (r->other && !reaches(path, r))
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool good = write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n &&
                (!r->other || fchown(fd, r->uid, r->gid) == 0);
    close(fd);
    if (!good)
        unlink(path);
    return good;
}

void picture_keep(struct engine *en, struct str session, const char *name,
                  struct str bytes, char path[PICTURE_PATH])
{
    struct err e = ERR_INIT;
    struct sandbox_place place;
    char dir[256];
    path[0] = 0;
    if (sandbox_place(en->sandbox, session, &place, &e) < 0 ||
        engine_state_folder(en, "pictures", 0711, dir, sizeof(dir), &e) < 0 ||
        (place.as_user && chmod(dir, 0711) < 0))
        return;
    int len = snprintf(path, PICTURE_PATH, "%s/%s", dir, name);
    struct picture_reader r = {place.as_user, place.uid, place.gid};
    if (len < 0 || len >= PICTURE_PATH || !picture_write(path, bytes, &r))
        path[0] = 0;
}
