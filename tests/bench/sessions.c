/* SPDX-License-Identifier: MIT */
/*
 * sessions N M: starts N sessions in the server of OD_SOCKET, each with its
 * shell, and prints the milliseconds that one took and the quantiles of `true`
 * in microseconds over M commands, each in another session.
 */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>

static double run_in(struct client *c, int session)
{
    char members[128];
    snprintf(members, sizeof(members),
             "\"do\":\"run\",\"command\":\"true\",\"session\":\"bench%d\"", session);
    double begin = now_us();
    struct json *r = ask(c, members, NULL);
    double us = now_us() - begin;
    if (json_int(r, "exit", -1) != 0)
        die("true ended with %d in session %d", (int)json_int(r, "exit", -1), session);
    json_free(r);
    return us;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        die("usage: sessions N M");
    int n = count_of(argv[1]), m = count_of(argv[2]);
    double *us = calloc((size_t)m, sizeof(*us)), begin = now_us();
    struct client c;
    dial(&c);
    for (int i = 0; i < n; i++)
        run_in(&c, i);
    printf("start %.2f\n", (now_us() - begin) / 1000 / n);
    /* A prime step: neighbours in time are strangers in every table. */
    for (int i = 0; i < m; i++)
        us[i] = run_in(&c, (int)((i * 7919L) % n));
    printf("p50 %.1f\np99 %.1f\n", quantile(us, m, 0.5), quantile(us, m, 0.99));
    struct json *list = ask(&c, "\"do\":\"list\"", NULL);
    printf("live %d\n", json_count(json_get(list, "sessions")));
    json_free(list);
    client_close(&c);
    free(us);
    return 0;
}
