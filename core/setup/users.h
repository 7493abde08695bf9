/* SPDX-License-Identifier: MIT */
/*
 * The sandbox's user and working directory, as OpenHands expects them. They are
 * made if the image has none, in any image, with or without useradd, sudo,
 * /etc/passwd or a writable /etc.
 *
 * All steps can be repeated: after a crash, by the next worker, by two servers at
 * once. Files of /etc are replaced whole (temporary file, rename) under a lock, and
 * the line in /etc/passwd comes last, so a user that exists is complete. An existing
 * user is not changed.
 */
#ifndef OD_SETUP_USERS_H
#define OD_SETUP_USERS_H

#include "base/err.h"
#include "engine/user.h"

#include <stdbool.h>
#include <sys/types.h>

struct users_spec {
    const char *root;  /* put before every path, "" for the system; for tests */
    const char *name;  /* letters, digits, _ and -; NULL or "": no user */
    uid_t uid;         /* of a user that is made */
    const char *group; /* a name or number: the directory's; NULL: root */
    const char *dir;   /* the working directory; NULL or "": none */
};

/*
 * Makes user and directory if they are missing, and sets *out (or NULL) to the user.
 * Takes some milliseconds; file access only, no child.
 *
 *   the user exists       its uid counts, with a warning if it is another
 *   it does not           a line in /etc/passwd (group root, supplementary
 *                         sudo if there is such a group), a locked one in
 *                         /etc/shadow, a home from /etc/skel, and where sudo
 *                         is installed, the right to use it without a password.
 *                         A uid that has a name already gets a second one
 *   /etc is not writable  a warning; the bare uid, listed false, and a home
 *                         in /tmp
 *   we are not root       a warning; our own ids, name ""; nothing is made but
 *                         the directory
 *
 * The directory itself, not its content, is given to user and group, with g+rw; a
 * failure of that is a warning. Returns -1 and sets *e if the name is not valid or the
 * directory cannot be made.
 */
int users_prepare(const struct users_spec *spec, struct user *out, struct err *e);

/* mkdir -p with a umask of 002. */
int users_make_dir(const char *path, struct err *e);

#endif
