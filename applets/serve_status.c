/* SPDX-License-Identifier: MIT */
/* `od serve --status`: how a server is that runs, and its link to the backend. */
#include "base/json.h"
#include "proto/call.h"
#include "serve.h"

#include <stdio.h>

enum { STATUS_OURS = 125, STATUS_MS = 10000 };

static double seconds(const struct json *j, const char *name)
{
    return (double)json_int(j, name, 0) / 1000;
}

static void say_connect(const struct json *c)
{
    const struct json *last = json_get(c, "last");
    struct str state = json_str(c, "state", "");
    printf("backend: %s, %.*s", json_str(c, "backend", "").p, STR_ARG(state));
    if (json_has(c, "up_ms"))
        printf(" for %.1f s", seconds(c, "up_ms"));
    if (json_has(c, "next_ms"))
        printf(", next try in %.1f s", seconds(c, "next_ms"));
    printf("; %lld links, %lld tries\nsandbox: %s\n", (long long)json_int(c, "links", 0),
           (long long)json_int(c, "tries", 0), json_str(c, "sandbox", "").p);
    if (last)
        printf("last end: %.1f s ago, %s: %s\n", seconds(last, "ago_ms"),
               json_str(last, "outcome", "").p, json_str(last, "error", "").p);
}

int serve_status(const struct serve_options *o)
{
    struct err e = ERR_INIT;
    struct json *q = json_object();
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", "info");
    struct json *r = call_simple(o->socket, q, STATUS_MS, &e);
    json_free(q);
    if (!r) {
        fprintf(stderr, "od serve: %s\n", e.text);
        return STATUS_OURS;
    }
    struct str state = json_str(r, "state_dir", "");
    printf("server: process %lld, worker %lld, up for %.1f s; state in %s\n",
           (long long)json_int(r, "pid", 0), (long long)json_int(r, "worker", 0),
           seconds(r, "uptime_ms"), state.n > 0 ? state.p : "memory");
    if (json_has(r, "connect"))
        say_connect(json_get(r, "connect"));
    json_free(r);
    return fflush(stdout) == 0 ? 0 : STATUS_OURS;
}
