/* SPDX-License-Identifier: MIT */
/* `od-reaper UID GID NOFILE OOM FENCE REACH`: started by the keeper (keeper/reaper.h). */
#include "applet.h"
#include "base/log.h"
#include "keeper/reaper.h"

#include <stdio.h>
#include <stdlib.h>

static int reaper_applet(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "od reaper: it is started by od serve\n");
        return 125;
    }
    log_init("reaper", 2, LOG_INFO, false);
    return reaper_main((uid_t)strtoul(argv[1], NULL, 10),
                       (gid_t)strtoul(argv[2], NULL, 10), strtol(argv[3], NULL, 10),
                       (int)strtol(argv[4], NULL, 10), (int)strtol(argv[5], NULL, 10),
                       (int)strtol(argv[6], NULL, 10));
}

const struct applet applet_reaper = {
    .name = "reaper",
    .brief = "the process of od serve that is the parent of one user's shells",
    .usage = "Started by od serve.\n",
    .main = reaper_applet,
    .hidden = true,
};
