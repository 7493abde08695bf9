/* SPDX-License-Identifier: MIT */
#include "os/halt.h"

#include "base/clock.h"

#include <stddef.h>

bool halt_over(const struct halt *h)
{
    return h && (h->ended || h->cut || (h->end_ms && clock_ms() >= h->end_ms));
}

int64_t halt_end(const struct halt *h, int64_t end_ms)
{
    return h && h->end_ms && h->end_ms < end_ms ? h->end_ms : end_ms;
}

void halt_check(struct halt *h)
{
    if (h->check)
        h->check(h);
    else
        h->ended = true;
}

int halt_poll(struct halt *h, struct pollfd fds[2], int64_t end_ms)
{
    struct pollfd all[2 + HALT_FDS] = {fds[0], fds[1], {-1, POLLIN, 0}, {-1, POLLIN, 0}};
    for (int i = 0; h && i < HALT_FDS; i++)
        all[2 + i].fd = h->fds[i];
    for (;;) {
        int64_t left = halt_end(h, end_ms) - clock_ms();
        if (h && h->ended)
            return -1;
        if (left < 0 || (h && h->cut))
            return 0;
        int r = poll(all, 2 + HALT_FDS, left > INT32_MAX ? INT32_MAX : (int)left);
        if (r == 0)
            return 0;
        if (r > 0 && (all[2].revents || all[3].revents)) {
            halt_check(h);
            continue;
        }
        fds[0].revents = r > 0 ? all[0].revents : 0;
        fds[1].revents = r > 0 ? all[1].revents : 0;
        if (fds[0].revents || fds[1].revents)
            return 1;
    }
}
