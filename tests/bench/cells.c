/* SPDX-License-Identifier: MIT */
/*
 * cells N KERNEL CHOICE [cold]: runs `1+1` N times in the kernel of that name, over one
 * connection, and prints the quantiles of a round trip in microseconds; cold: each
 * time in a kernel that has to be started first.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double run_one(struct client *c, const char *kernel, const char *choice)
{
    char members[512];
    snprintf(members, sizeof(members),
             "\"do\":\"cell\",\"kernel\":\"%s\",\"code\":\"1+1\",\"choice\":\"%s\"",
             kernel, choice);
    double begin = now_us();
    struct json *r = ask(c, members, NULL);
    double us = now_us() - begin;
    if (!str_eq(json_str(r, "end", ""), STR("ok")))
        die("the cell failed");
    json_free(r);
    return us;
}

static void end_kernel(struct client *c, const char *kernel)
{
    char members[512];
    snprintf(members, sizeof(members),
             "\"do\":\"kernel\",\"kernel\":\"%s\",\"verb\":\"close\"", kernel);
    json_free(ask(c, members, NULL));
}

int main(int argc, char **argv)
{
    if (argc < 4)
        die("usage: cells N KERNEL CHOICE [cold]");
    int n = count_of(argv[1]), warm = n / 10 + 1;
    double *us = calloc((size_t)n, sizeof(*us));
    struct client c;
    dial(&c);
    for (int i = -warm; i < n; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%.40s", argv[2]);
        if (argc > 4)
            snprintf(name, sizeof(name), "%.20s-%d", argv[2], i + warm);
        double one = run_one(&c, name, argv[3]);
        if (argc > 4)
            end_kernel(&c, name);
        if (i >= 0)
            us[i] = one;
    }
    printf("p50 %.1f\np99 %.1f\n", quantile(us, n, 0.5), quantile(us, n, 0.99));
    client_close(&c);
    free(us);
    return 0;
}
