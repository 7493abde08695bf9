/* SPDX-License-Identifier: MIT */
/* Directories of a user that users_prepare makes. */
#ifndef OD_SETUP_USERS_HOME_H
#define OD_SETUP_USERS_HOME_H

#include "setup/users.h"

/*
 * Makes u->home from /etc/skel, whole or not at all. An existing home of root is given to
 * the user, without its content. If none can be made, u->home becomes a spare one.
 */
void users_make_home(const struct users_spec *spec, struct user *u);

/* Sets u->home to a new folder of the user in /tmp, else to /tmp itself. */
void users_make_spare_home(const struct users_spec *spec, struct user *u);

/*
 * Gives the directory itself to uid and gid, with g+rw; "/" and shared ones
 * (sticky, as /tmp is) stay as they are. Failures are logged.
 */
void users_give_dir(const char *path, uid_t uid, gid_t gid);

#endif
