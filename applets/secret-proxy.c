/* SPDX-License-Identifier: MIT */
/* `od-secret-proxy`: started by the supervisor of the network (secret/proxy.h). */
#include "applet.h"
#include "base/log.h"
#include "secret/proxy.h"

#include <stdio.h>

static int secret_proxy_applet(int argc, char **argv)
{
    (void)argv;
    if (argc != 1) {
        fprintf(stderr, "od secret-proxy: it is started by od serve\n");
        return 125;
    }
    log_init("secret-proxy", 2, LOG_INFO, false);
    return secret_proxy_main();
}

const struct applet applet_secret_proxy = {
    .name = "secret-proxy",
    .brief = "the process of od serve that puts secrets into requests of programs",
    .usage = "Started by od serve.\n",
    .main = secret_proxy_applet,
    .hidden = true,
};
