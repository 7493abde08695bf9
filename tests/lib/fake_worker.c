/* SPDX-License-Identifier: MIT */
/*
 * A program that claims to be od's worker: the name of its file decides what it does.
 *
 *   hang     does not even answer     mute   starts and never serves
 *   dies     ends as soon as started  later  serves, and ends then
 */
#include "keeper/keepmsg.h"

#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void wait_for_ever(void)
{
    for (;;)
        pause();
}

static void serve(void)
{
    static char space[sizeof(struct keep_head) + KEEP_DATA];
    struct keep_msg m;
    struct pollfd p = {.fd = 3, .events = POLLIN};
    do {
        if (poll(&p, 1, -1) < 0 || keep_recv(3, &m, space) != 1)
            _exit(9);
        keep_close_fds(&m);
    } while (m.h.type != KEEP_READY);
    m = (struct keep_msg){.h = {.type = KEEP_SERVING}};
    keep_send(3, &m);
}

int main(int argc, char **argv)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = 0;
    const char *how = basename(path);
    bool check = argc == 3 && strcmp(argv[1], "--check") == 0;
    if (strcmp(how, "hang") == 0 || (strcmp(how, "mute") == 0 && !check))
        wait_for_ever();
    if (check)
        puts("ready");
    else if (strcmp(how, "later") == 0)
        serve();
    return check ? 0 : 3;
}
