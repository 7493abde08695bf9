/* SPDX-License-Identifier: MIT */
/*
 * flow stream|text BYTES COMMAND: runs COMMAND in a session, as od exec does
 * with its output streamed, or with the text in the answer, and prints MB/s
 * from the request to the answer. All BYTES must have gone through the spool,
 * and with stream through the connection too.
 */
#include "common.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc < 4)
        die("usage: flow stream|text BYTES COMMAND");
    bool stream = strcmp(argv[1], "stream") == 0;
    uint64_t all = (uint64_t)count_of(argv[2]), got = 0;
    char members[1024];
    snprintf(members, sizeof(members), "\"do\":\"run\",\"%s\":true,\"command\":\"%s\"",
             stream ? "stream" : "text", argv[3]);
    struct client c;
    dial(&c);
    double begin = now_us();
    struct json *r = ask(&c, members, &got);
    double us = now_us() - begin;
    if (json_int(r, "exit", -1) != 0)
        die("the command ended with %d", (int)json_int(r, "exit", -1));
    uint64_t spooled = (uint64_t)(json_int(r, "to", 0) - json_int(r, "from", 0));
    if (spooled != all || (stream && got != all))
        die("of %" PRIu64 " bytes, %" PRIu64 " were spooled and %" PRIu64 " arrived", all,
            spooled, got);
    if (!stream && json_str(r, "output", "").n == 0)
        die("the answer holds no text");
    printf("rate %.1f\n", (double)all / us);
    json_free(r);
    client_close(&c);
    return 0;
}
