/* SPDX-License-Identifier: MIT */
/*
 * `micromamba run -n openhands poetry run python -u -m
 * openhands.runtime.action_execution_server PORT OPTIONS...`: how OpenHands'
 * Docker runtime starts its server in a container (OpenHands,
 * runtime/utils/command.py, DEFAULT_PYTHON_PREFIX: the path
 * /openhands/micromamba/bin/micromamba is fixed). A link of that name to us
 * makes any image one of its runtime images; od --install --openhands makes it.
 *
 * That client sends no key and comes from outside the container, so this
 * listens on every interface, with a key only if SESSION_API_KEY or another
 * of serve's has one.
 */
#include "applet.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_OURS = 125 };

/* Returns the index of the word after "-m MODULE", from 1; 0 if there is none. */
static int after_module(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "-m") == 0 &&
            strcmp(argv[i + 1], "openhands.runtime.action_execution_server") == 0)
            return i + 2;
    }
    return 0;
}

static int micromamba_main(int argc, char **argv)
{
    int port = after_module(argc, argv);
    if (argc < 2 || strcmp(argv[1], "run") != 0 || port == 0 || port >= argc ||
        argv[port][0] == '-') {
        fprintf(stderr,
                "micromamba: this is od in place of OpenHands' runtime; it takes: run -n "
                "openhands poetry run python -u -m "
                "openhands.runtime.action_execution_server PORT [OPTIONS]\n");
        return STATUS_OURS;
    }
    char listen[64];
    snprintf(listen, sizeof(listen), "0.0.0.0:%.50s", argv[port]);
    const char *ours[] = {"serve",         "--listen",   listen,       "--insecure-open",
                          "--working-dir", "/workspace", "--username", "openhands"};
    int n = (int)(sizeof(ours) / sizeof(ours[0])), rest = argc - port - 1;
    const char **words = xcalloc((size_t)(n + rest) + 1, sizeof(*words));
    memcpy(words, ours, sizeof(ours));
    /* A later option counts; argv ends in NULL. */
    for (int i = 0; i < rest; i++)
        words[n + i] = argv[port + 1 + i];
    int status = applet_serve.main(n + rest, (char **)(uintptr_t)words);
    free(words);
    return status;
}

const struct applet applet_micromamba = {
    .name = "micromamba",
    .also = "micromamba",
    .brief = "od serve, as OpenHands' client starts its runtime",
    .usage = "A link of this name is made by od --install --openhands.\n",
    .main = micromamba_main,
    .hidden = true,
};
