/* SPDX-License-Identifier: MIT */
/*
 * `od-keeper OPTIONS LOCK READY SELF COMMAND FENCE REACH [SOCKET NAME]...`: what
 * `od serve` becomes (see serve.c and keeper/keeper.h). All but the names are
 * descriptors: the options, the lock of the state directory, the one for "ready" or -1,
 * our own file, which could not be found again in an image without /proc, the program to
 * run too (keeper/reaper.h's body of a spawn) or -1, the ruleset of programs
 * (fence/fence.h) or -1, the rules of their network (reach/supervisor.h) or -1, and the
 * listening sockets.
 */
#include "applet.h"
#include "base/json.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/fronts.h"
#include "keeper/keeper.h"
#include "keeper/reaper.h"
#include "serve.h"

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

/* Returns a descriptor that was handed to us; our children do not get it. */
static int given_fd(const char *word)
{
    int fd = (int)strtol(word, NULL, 10);
    if (fd > 2)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

static void say_ready(int fd)
{
    if (fd < 0)
        return;
    if (write(fd, "ready\n", 6) < 0)
        log_debug("no process waits for us to be ready");
    if (fd > 2)
        close(fd);
}

/* Reads the command to run from fd; its memory is never freed. */
static int read_command(int fd, struct keeper_command *out)
{
    static struct buf body = BUF_INIT(SERVE_COMMAND_MAX);
    struct reaper_program p;
    if (read_all(fd, &body) < 0 || reaper_spawn_parse(buf_str(&body), &p) < 0 ||
        !p.argv[0])
        return -1;
    out->argv = p.argv;
    out->envp = p.envp;
    out->cwd = p.cwd;
    close(fd);
    return 0;
}

static int keeper_main(int argc, char **argv)
{
    enum { OPTIONS = 1, LOCK, READY, SELF, COMMAND, FENCE, REACH, LISTENERS };
    struct buf options = BUF_INIT(LIMIT_SPAWN_MAX), format = BUF_INIT(256);
    struct keeper_command command = {0};
    struct err e = ERR_INIT;
    if (argc < LISTENERS || (argc - LISTENERS) % 2 != 0) {
        fprintf(stderr, "od keeper: it is started by od serve\n");
        return 125;
    }
    int from = given_fd(argv[OPTIONS]), ready = given_fd(argv[READY]);
    int n = (argc - LISTENERS) / 2;
    struct keeper_listener *l = xcalloc((size_t)n + 1, sizeof(*l));
    for (int i = 0; i < n; i++) {
        l[i].fd = given_fd(argv[LISTENERS + 2 * i]);
        l[i].name = argv[LISTENERS + 2 * i + 1];
    }
    given_fd(argv[LOCK]);
    if (read_all(from, &options) < 0)
        return 125;
    close(from);
    struct json *o = json_parse(buf_str(&options), &e);
    if (!o)
        return 125;
    log_init("keeper", 2, (enum log_level)json_int(o, "log_level", LOG_INFO),
             json_bool(o, "log_json", false));
    log_trace_init(getenv("OD_TRACE"));
    int run = given_fd(argv[COMMAND]);
    if (run >= 0 && read_command(run, &command) < 0)
        return 125;
    command.stay = json_bool(o, "stay", false);
    engine_format(&format);
    fronts_format(&format);

    struct str path = json_str(o, "path", "");
    char *worker[] = {(char *)(uintptr_t) "od-worker", NULL};
    struct keeper_config c = {.self = given_fd(argv[SELF]),
                              .path = xstrndup(path.p, path.n),
                              .format = buf_z(&format),
                              .fence = given_fd(argv[FENCE]),
                              .reach = given_fd(argv[REACH]),
                              .command = run >= 0 ? &command : NULL,
                              .worker = worker,
                              .worker_env = environ,
                              .reaper_env = environ,
                              .reaper = "od-reaper",
                              .state_key = STR("options"),
                              .state = buf_str(&options),
                              .flush_ms = json_has(o, "bus") ? LIMIT_BUS_FLUSH_MS : 0,
                              .listeners = l,
                              .nlisteners = n};
    json_free(o);
    say_ready(ready);
    return keeper_run(&c);
}

const struct applet applet_keeper = {
    .name = "keeper",
    .brief = "the process of od serve that outlives its worker",
    .usage = "Started by od serve.\n",
    .main = keeper_main,
    .hidden = true,
};
