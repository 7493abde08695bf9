/* SPDX-License-Identifier: MIT */
/* The helper process of an applet whose server is elsewhere (ipc/relay.h). */
#include "ipc/relay.h"

#include "applet.h"

#include <unistd.h>

static int relay_main(int argc, char **argv)
{
    if (argc < 2)
        return 1;
    return relay_run(STDIN_FILENO, argv[1], argc > 2 ? argv[2] : NULL);
}

const struct applet applet_relay = {
    .name = "relay",
    .brief = "the helper process of an applet whose server is elsewhere",
    .usage = "Started by the applets that take --server URL.\n",
    .main = relay_main,
    .hidden = true,
};
