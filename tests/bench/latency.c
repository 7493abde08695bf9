/* SPDX-License-Identifier: MIT */
/*
 * latency N [COMMAND]: runs COMMAND (true) N times in one session over one
 * connection and prints the quantiles of a round trip in microseconds.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 2)
        die("usage: latency N [COMMAND]");
    int n = count_of(argv[1]), warm = n / 10 + 1;
    double *us = calloc((size_t)n, sizeof(*us));
    char members[256];
    struct client c;
    dial(&c);
    snprintf(members, sizeof(members), "\"do\":\"run\",\"command\":\"%s\"",
             argc > 2 ? argv[2] : "true");
    for (int i = -warm; i < n; i++) {
        double begin = now_us();
        struct json *r = ask(&c, members, NULL);
        if (i >= 0)
            us[i] = now_us() - begin;
        if (json_int(r, "exit", -1) != 0)
            die("the command ended with %d", (int)json_int(r, "exit", -1));
        json_free(r);
    }
    printf("p50 %.1f\np99 %.1f\n", quantile(us, n, 0.5), quantile(us, n, 0.99));
    client_close(&c);
    free(us);
    return 0;
}
