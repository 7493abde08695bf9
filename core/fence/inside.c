/* SPDX-License-Identifier: MIT */
#include "fence/fence.h"
#include "os/procfs.h"

enum { STEPS_MAX = 4096 }; /* of a chain of parents */

bool fence_is_inside(pid_t pid, pid_t keeper, pid_t worker)
{
    struct procfs_stat st;
    for (int i = 0; i < STEPS_MAX; i++) {
        if (pid == keeper)
            return i > 0;
        if (pid == worker || pid == 0)
            return false;
        if (pid < 0 || procfs_stat(pid, &st) < 0)
            return true; /* it ended, or there is no /proc: not known */
        pid = st.ppid;
    }
    return true;
}
