/* SPDX-License-Identifier: MIT */
/*
 * `od-keeper`: what `od serve` becomes (see serve.c and os/keeper.h). Its
 * arguments are descriptors: the options, the listening socket, the lock of
 * the state directory, the one to say "ready" to or -1, and our own file, which
 * nobody could find again in an image without /proc.
 */
#include "applet.h"
#include "base/json.h"
#include "base/log.h"
#include "os/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

static int read_all(int fd, struct buf *out)
{
    for (;;) {
        char *p = buf_reserve(out, 16 << 10);
        if (!p)
            return -1;
        ssize_t n = read(fd, p, 16 << 10);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        buf_commit(out, (size_t)n);
    }
}

static int keeper_main(int argc, char **argv)
{
    struct buf options = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    if (argc != 6) {
        fprintf(stderr, "od keeper: it is started by od serve\n");
        return 125;
    }
    int fds[5];
    for (int i = 0; i < 5; i++) {
        fds[i] = (int)strtol(argv[i + 1], NULL, 10);
        if (fds[i] > 2) /* what we start gets what it is given, nothing else */
            fcntl(fds[i], F_SETFD, FD_CLOEXEC);
    }
    if (read_all(fds[0], &options) < 0)
        return 125;
    close(fds[0]);
    struct json *o = json_parse(buf_str(&options), &e);
    if (!o)
        return 125;
    log_init("keeper", 2, (enum log_level)json_int(o, "log_level", LOG_INFO),
             json_bool(o, "log_json", false));
    log_trace_init(getenv("OD_TRACE"));
    json_free(o);

    char *worker[] = {(char *)(uintptr_t)"od-worker", NULL};
    struct keeper_config c = {.self = fds[4],
                              .worker = worker,
                              .worker_env = environ,
                              .minder_env = environ,
                              .minder = "od-minder",
                              .state_key = STR("options"),
                              .state = buf_str(&options),
                              .listen_name = "local",
                              .listen_fd = fds[1]};
    if (fds[3] >= 0) {
        if (write(fds[3], "ready\n", 6) < 0)
            log_debug("nobody waits for us to be ready");
        if (fds[3] > 2)
            close(fds[3]);
    }
    return keeper_run(&c);
}

const struct applet applet_keeper = {
    .name = "keeper",
    .brief = "the process of od serve that outlives its worker",
    .usage = "Started by od serve.\n",
    .main = keeper_main,
    .hidden = true,
};
