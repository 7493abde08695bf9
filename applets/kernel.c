/* SPDX-License-Identifier: MIT */
/* `od-kernel`: the process of od serve for one Jupyter kernel. */
#include "applet.h"
#include "kernel/host/host.h"

static int kernel_main(int argc, char **argv)
{
    return kernel_host_run(argc > 1 ? argv[1] : "{}");
}

const struct applet applet_kernel = {
    .name = "kernel",
    .brief = "the process of od serve for one Jupyter kernel",
    .usage = "Started by od serve.\n",
    .main = kernel_main,
    .hidden = true,
};
