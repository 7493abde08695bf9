/* SPDX-License-Identifier: MIT */
/*
 * http N: round trips of a fixed answer of http/httpd.h, and what N / 10 idle
 * connections that were used once cost it (idle-bytes, of each).
 */
#include "http_client.h"

#include "http/httpd.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static void hello(struct req *r) { req_answer(r, 200, "text/plain", STR("hello\n")); }

static void fail(struct req *r, int status, const char *text)
{
    req_answer(r, status, "text/plain", str_of(text));
}

static void serve(int listening)
{
    static const struct route routes[] = {
        {.methods = HTTP_GET, .path = "/hello", .run = hello}};
    static const struct http_front front = {.routes = routes, .nroutes = 1, .fail = fail};
    static const struct http_front *const fronts[] = {&front};
    struct httpd_config c = {.fronts = fronts, .nfronts = 1};
    struct loop *l = loop_new();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (l && httpd_listen(httpd_open(l, &c), listening) == 0)
        loop_run(l);
    _exit(1);
}

/* Bytes of memory that are the process's own. */
static double memory_of(pid_t pid)
{
    char path[64], line[256];
    long kib = 0, some;
    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "Private_Dirty: %ld", &some) == 1)
            kib = some;
    }
    if (f)
        fclose(f);
    return (double)kib * 1024;
}

int main(int argc, char **argv)
{
    struct sockaddr_in a;
    int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0, idle = n / 10;
    struct rlimit files = {(rlim_t)idle + 256, (rlim_t)idle + 256};
    if (n <= 0)
        return 1;
    setrlimit(RLIMIT_NOFILE, &files);
    int fd = http_listen(&a);
    pid_t pid = fork();
    if (pid == 0)
        serve(fd);
    http_measure(&a, n);
    double before = memory_of(pid);
    for (int i = 0; i < idle; i++) {
        int c = http_connect(&a);
        http_ask(c);
        http_take(c);
    }
    printf("idle-bytes %.0f\n",
           (memory_of(pid) - before) / (double)(idle > 0 ? idle : 1));
    return 0;
}
