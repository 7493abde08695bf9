/* SPDX-License-Identifier: MIT */
/* `od-browser`: the process of od serve for one browser. */
#include "applet.h"
#include "browser/host/host.h"

static int browser_main(int argc, char **argv)
{
    return browser_host_run(argc > 1 ? argv[1] : "{}");
}

const struct applet applet_browser = {
    .name = "browser",
    .brief = "the process of od serve for one browser",
    .usage = "Started by od serve.\n",
    .main = browser_main,
    .hidden = true,
};
