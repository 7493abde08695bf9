/* SPDX-License-Identifier: MIT */
/*
 * soak KILLS BYTES COMMAND: runs COMMAND, which writes BYTES bytes as
 * `lines` does, and reads its output as od exec would, while another process
 * kills the worker KILLS times, each time at another moment of its life. Every
 * byte is compared with what it must be. Prints how many kills there were, how
 * many bytes are missing, came twice or differ, and MB/s while kills went on.
 */
#include "common.h"

#include "ipc/call.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shared { /* between reader and killer */
    volatile uint64_t bytes;
    volatile int kills, done;
    volatile double first, last;       /* of the kills, now_us */
    volatile uint64_t at_first, at_last; /* bytes by then */
};

static struct shared *both;

static int take(struct call *c, bool error, struct str bytes)
{
    static char want[64 << 10];
    (void)c;
    (void)error;
    while (bytes.n > 0) {
        size_t skip = (size_t)(both->bytes % LINE), n = sizeof(want) - skip;
        struct str now = str_sub(bytes, 0, n);
        fill_lines(want, sizeof(want), both->bytes - skip);
        if (memcmp(now.p, want + skip, now.n) != 0) {
            fprintf(stderr, "bytes differ after %llu\n", (unsigned long long)both->bytes);
            errno = EILSEQ;
            return -1;
        }
        both->bytes += now.n;
        bytes = str_sub(bytes, now.n, bytes.n);
    }
    return 0;
}

static struct json *request_to(const char *what)
{
    struct json *q = json_object();
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", what);
    return q;
}

static pid_t worker_now(void)
{
    struct err e = ERR_INIT;
    struct json *q = request_to("info"), *r = call_simple(NULL, q, 30000, &e);
    pid_t pid = r ? (pid_t)json_int(r, "worker", 0) : 0;
    json_free(r);
    json_free(q);
    return pid;
}

/* Every worker lives from 0 to 40 ms after its first answer. */
static void killer(int kills)
{
    unsigned seed = 20240607;
    pid_t before = 0;
    while (both->kills < kills && !both->done) {
        pid_t worker = worker_now();
        if (worker <= 0 || worker == before)
            continue;
        seed = seed * 1103515245 + 12345;
        nanosleep(&(struct timespec){0, (long)(seed >> 8) % 40000000}, NULL);
        if (both->done || kill(worker, SIGKILL) < 0)
            continue;
        before = worker;
        both->last = now_us();
        both->at_last = both->bytes;
        if (both->kills++ == 0) {
            both->first = both->last;
            both->at_first = both->bytes;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        die("usage: soak KILLS BYTES COMMAND");
    int kills = count_of(argv[1]);
    uint64_t all = (uint64_t)count_of(argv[2]);
    both = mmap(NULL, sizeof(*both), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (both == MAP_FAILED)
        die("no memory to share");
    pid_t pid = fork();
    if (pid == 0) {
        killer(kills);
        _exit(0);
    }
    static const struct call_events events = {.on_output = take};
    struct err e = ERR_INIT;
    struct client client;
    struct call c;
    struct json *request = request_to("run");
    json_put_z(request, "command", argv[3]);
    json_put_bool(request, "stream", true);
    if (client_open(&client, NULL, false, &e) < 0)
        die("%s", e.text);
    call_init(&c, &client, request, &events);
    struct json *r = call_run(&c, &e);
    both->done = 1;
    waitpid(pid, NULL, 0);
    if (!r)
        die("after %d kills: %s", both->kills, e.text);
    if (!json_bool(r, "ok", false))
        die("after %d kills: %.*s", both->kills,
            STR_ARG(json_str(json_get(r, "error"), "text", "no reason given")));
    struct json *gaps = json_get(r, "gaps");
    double us = both->last - both->first;
    printf("kills %d\nlost %lld\nexit %d\ngaps %d\nrate %.1f\n", both->kills,
           (long long)(all - both->bytes), (int)json_int(r, "exit", -1), json_count(gaps),
           us > 0 ? (double)(both->at_last - both->at_first) / us : 0);
    json_free(r);
    json_free(request);
    call_release(&c);
    client_close(&client);
    return 0;
}
