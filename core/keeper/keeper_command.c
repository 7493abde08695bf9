/* SPDX-License-Identifier: MIT */
/*
 * The image's own program: a child of the keeper like any other, but with the
 * server's stdin, stdout, stderr and terminal, and with its signals. It is
 * started once. When it ends the server ends, with its status. In a fence it is the child
 * of a reaper, as all programs are.
 */
#include "keeper/keeper_own.h"

#include "base/log.h"
#include "keeper/reaper.h"
#include "os/null.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS_CANNOT_RUN = 126, STATUS_NOT_FOUND = 127, STATUS_SIGNAL = 128 };

void command_init(struct keeper *k)
{
    k->command = (struct keeper_child){.report = {.kind = WATCH_COMMAND, .fd = -1},
                                       .tty = -1};
}

/* Puts our own process group back in the foreground of the terminal. */
static void give_back_tty(struct keeper_child *m)
{
    if (m->tty < 0)
        return;
    tcsetpgrp(m->tty, getpgrp());
    close(m->tty);
    m->tty = -1;
}

static void failed(struct keeper *k, int step, int errnum)
{
    const struct keeper_command *c = k->conf->command;
    if (step == SPAWN_CWD)
        log_error("cannot run %s in %s: %s", c->argv[0], c->cwd, strerror(errnum));
    else
        log_error("cannot run %s%s: %s", c->argv[0],
                  step == SPAWN_FENCE ? " within its fence" : "", strerror(errnum));
    k->status = step == SPAWN_EXEC && (errnum == ENOENT || errnum == ENOTDIR)
                    ? STATUS_NOT_FOUND
                    : STATUS_CANNOT_RUN;
    k->command.pid = 0;
    give_back_tty(&k->command);
    keeper_drain(k, true);
}

/* The command has them now: we read no input, and keep no copy of its output open. */
static void let_go_of_stdio(void)
{
    int null = null_open();
    if (null < 0)
        return;
    dup2(null, 0);
    dup2(null, 1);
    close(null);
}

/* Has a reaper start it. */
static int start_below(struct keeper *k)
{
    const struct keeper_command *c = k->conf->command;
    struct reaper *mi = reaper_for(k, getuid(), getgid());
    struct buf body = BUF_INIT(KEEP_FAR_MAX);
    struct keep_msg m = {
        .h = {.type = KEEP_M_SPAWN, .id = COMMAND_ID, .flags = KEEP_FRONT},
        .fds = {0, 1, 2},
        .nfds = 3};
    int rc = -1;
    errno = mi ? E2BIG : errno;
    if (mi && reaper_spawn_body(&body, c->argv[0], c->cwd, c->argv, c->envp) == 0) {
        m.body = buf_str(&body);
        rc = keep_send(mi->w.fd, &m);
    }
    int why = errno;
    k->command_by = rc == 0 ? mi : NULL;
    buf_release(&body);
    errno = why;
    return rc;
}

void command_spawned(struct keeper *k, pid_t pid, int step, int errnum)
{
    k->command_by = NULL;
    k->command.pid = pid;
    if (pid == 0)
        failed(k, step, errnum);
}

void command_start(struct keeper *k)
{
    const struct keeper_command *c = k->conf->command;
    struct keeper_child *m = &k->command;
    struct spawn s = {.path = c->argv[0],
                      .argv = c->argv,
                      .envp = c->envp,
                      .cwd = *c->cwd ? c->cwd : NULL,
                      .fds = {0, 1, 2},
                      .in_front = true,
                      .limited = true,
                      .nofile = k->nofile,
                      .oom = k->oom};
    signal(SIGTTOU, SIG_IGN); /* a log line from the background */
    if (tcgetpgrp(0) == getpgrp())
        m->tty = fcntl(0, F_DUPFD_CLOEXEC, 3);
    bool below = k->conf->fence >= 0;
    if (below ? start_below(k) < 0 : spawn_start(&s, &m->pid, &m->report.fd) < 0) {
        failed(k, SPAWN_FORK, errno);
        return;
    }
    if (!below) {
        fcntl(m->report.fd, F_SETFL, O_NONBLOCK);
        watch_set(k, &m->report, EPOLLIN);
    }
    let_go_of_stdio();
}

void command_reported(struct keeper *k)
{
    struct spawn_failure f;
    ssize_t n = read(k->command.report.fd, &f, sizeof(f));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    watch_close(k, &k->command.report);
    if (n == (ssize_t)sizeof(f))
        failed(k, f.step, f.errnum);
}

bool command_reaped(struct keeper *k, pid_t pid, int status)
{
    struct keeper_child *m = &k->command;
    if (m->pid == 0 || pid != m->pid)
        return false;
    give_back_tty(m);
    if (m->report.fd >= 0)
        command_reported(k);
    if (m->pid == 0) /* it never ran */
        return true;
    m->pid = 0;
    int code = WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status)
                                   : WEXITSTATUS(status);
    log_info("%s ended with status %d", k->conf->command->argv[0], code);
    if (k->conf->command->stay)
        return true;
    k->status = code;
    keeper_drain(k, true);
    return true;
}

bool command_signal(struct keeper *k, int sig)
{
    if (k->command.pid == 0)
        return false;
    kill(k->command.pid, sig);
    return true;
}
