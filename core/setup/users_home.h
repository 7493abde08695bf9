/* SPDX-License-Identifier: MIT */
/* Directories of a user that users_prepare makes. */
#ifndef OD_SETUP_USERS_HOME_H
#define OD_SETUP_USERS_HOME_H

#include "setup/users.h"

/*
 * Makes u->home from /etc/skel, whole or not at all; one that is there and is
 * root's becomes theirs, its content as it is. Where none can be made, u->home
 * becomes a spare one.
 */
void users_make_home(const struct users_spec *spec, struct user *u);

/* A folder in /tmp of their own as u->home, else /tmp itself. */
void users_make_spare_home(const struct users_spec *spec, struct user *u);

/*
 * Gives the directory itself to uid and gid, with g+rw; "/" and shared ones
 * (sticky, as /tmp is) stay as they are. What cannot be done is logged.
 */
void users_give_dir(const char *path, uid_t uid, gid_t gid);

#endif
