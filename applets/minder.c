/* SPDX-License-Identifier: MIT */
/* `od-minder UID GID NOFILE OOM FENCE REACH`: started by the keeper (keeper/minder.h). */
#include "applet.h"
#include "base/log.h"
#include "keeper/minder.h"

#include <stdio.h>
#include <stdlib.h>

static int minder_applet(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "od minder: it is started by od serve\n");
        return 125;
    }
    log_init("minder", 2, LOG_INFO, false);
    return minder_main((uid_t)strtoul(argv[1], NULL, 10),
                       (gid_t)strtoul(argv[2], NULL, 10), strtol(argv[3], NULL, 10),
                       (int)strtol(argv[4], NULL, 10), (int)strtol(argv[5], NULL, 10),
                       (int)strtol(argv[6], NULL, 10));
}

const struct applet applet_minder = {
    .name = "minder",
    .brief = "the process of od serve that is the parent of one user's shells",
    .usage = "Started by od serve.\n",
    .main = minder_applet,
    .hidden = true,
};
