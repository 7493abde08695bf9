/* SPDX-License-Identifier: MIT */
/*
 * `swerex-remote --auth-token T`: a link of a program's name to us is od serve with what
 * that program's command line means (front/program.h).
 */
#include "program.h"

#include "applet.h"
#include "base/called.h"
#include "front/program.h"

#include <stdint.h>

int program_run(const struct program *p, int argc, char **argv)
{
    struct program_words words = {.n = 0};
    called_set(CALLED_OWN, argv[0], "serve");
    argv[0] = (char *)(uintptr_t)p->name;
    int status = p->read(argc, argv, &words);
    if (status != PROGRAM_SERVE)
        return status;
    const char *serve[1 + PROGRAM_WORDS_MAX + 1] = {"serve"};
    for (size_t i = 0; i < words.n; i++)
        serve[1 + i] = words.v[i];
    return applet_serve.main((int)words.n + 1, (char **)(uintptr_t)serve);
}
