/* SPDX-License-Identifier: MIT */
/* A user of the sandbox. */
#ifndef OD_ENGINE_USER_H
#define OD_ENGINE_USER_H

#include <stdbool.h>
#include <sys/types.h>

#define USERS_NAME_MAX 32 /* as useradd(8) */

struct user {
    char name[USERS_NAME_MAX + 1], home[128], shell[32];
    uid_t uid;
    gid_t gid;
    bool listed; /* in /etc/passwd */
};

#endif
