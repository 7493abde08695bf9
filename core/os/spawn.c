/* SPDX-License-Identifier: MIT */
/*
 * fork, then only async-signal-safe steps, then exec. The process has no
 * threads, so the child could call anything; it still makes only system calls.
 */
#include "os/spawn.h"

#include "base/log.h"
#include "os/landlock.h"
#include "os/null.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

void spawn_close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) == 0)
        return;
#endif
    /* Before Linux 5.9, or refused: those in /proc/self/fd, else all up to the limit. */
    DIR *d = opendir("/proc/self/fd");
    if (d) {
        struct dirent *e;
        while ((e = readdir(d))) {
            int fd = (int)strtol(e->d_name, NULL, 10);
            if (fd >= first && fd != dirfd(d))
                close(fd);
        }
        closedir(d);
        return;
    }
    struct rlimit r;
    int top = 1024;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
        top = r.rlim_cur < 65536 ? (int)r.rlim_cur : 65536;
    for (int fd = first; fd < top; fd++)
        close(fd);
}

void spawn_reset_signals(void)
{
    /* By system call: libc refuses the signals it uses itself. All zero is SIG_DFL. */
    char dfl[64] = {0};
    for (int s = 1; s < _NSIG; s++)
        syscall(SYS_rt_sigaction, s, dfl, NULL, 8);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void fail(int report, enum spawn_step step)
{
    struct spawn_failure f = {(int32_t)step, errno};
    ssize_t ignored = write(report, &f, sizeof(f));
    (void)ignored;
    _exit(127);
}

/* Moves a descriptor out of the way of 0, 1 and 2. */
static int above_stdio(int fd, int report)
{
    int up = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (up < 0)
        fail(report, SPAWN_TTY);
    return up;
}

static void exec_in_path(const struct spawn *s)
{
    if (strchr(s->path, '/')) {
        execve(s->path, s->argv, s->envp);
        return;
    }
    const char *path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    for (char *const *e = s->envp; *e; e++) {
        if (strncmp(*e, "PATH=", 5) == 0)
            path = *e + 5;
    }
    int seen = ENOENT;
    for (;;) {
        size_t n = strcspn(path, ":"); /* 0: the current directory (POSIX, 8.3 PATH) */
        char file[4096];
        int len = snprintf(file, sizeof(file), "%.*s%s%s", (int)n, path, n ? "/" : "",
                           s->path);
        if (len > 0 && (size_t)len < sizeof(file)) {
            execve(file, s->argv, s->envp);
            if (errno != ENOENT && errno != ENOTDIR)
                seen = errno;
        }
        if (!path[n])
            break;
        path += n + 1;
    }
    errno = seen;
}

void spawn_give_limits(long nofile, int oom)
{
    struct rlimit r;
    if (nofile >= 0 && getrlimit(RLIMIT_NOFILE, &r) == 0) {
        r.rlim_cur = (rlim_t)nofile;
        setrlimit(RLIMIT_NOFILE, &r);
    }
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    char text[16];
    int n = snprintf(text, sizeof(text), "%d", oom);
    /* Refused only if raising ours was refused too: then the value is right already. */
    ssize_t ignored = fd >= 0 ? write(fd, text, (size_t)n) : 0;
    (void)ignored;
    if (fd >= 0)
        close(fd);
}

/* As a shell starts a job: keys like C-c on our terminal are for it. */
static void come_to_front(int tty)
{
    bool ours = tcgetpgrp(tty) == getpgrp();
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN); /* we are in the background until tcsetpgrp is done */
    if (ours)
        tcsetpgrp(tty, getpgrp());
    signal(SIGTTOU, SIG_DFL);
}

static void child(const struct spawn *s, int report)
{
    spawn_reset_signals();
    if (s->in_front)
        come_to_front(s->fds[0]);
    else
        setsid();
    if (s->limited)
        spawn_give_limits(s->nofile, s->oom);
    if (s->cwd && chdir(s->cwd) < 0)
        fail(report, SPAWN_CWD);

    report = above_stdio(report, report);
    int in[3];
    for (int i = 0; i < 3; i++)
        in[i] = above_stdio(s->fds[i], report);
    for (int i = 0; i < 3; i++) {
        if (dup2(in[i], i) < 0)
            fail(report, SPAWN_TTY);
    }
    if (s->tty && ioctl(0, TIOCSCTTY, 0) < 0)
        fail(report, SPAWN_TTY);
    if (s->fence && landlock_restrict(*s->fence) < 0)
        fail(report, SPAWN_FENCE);
    /* Everything else is closed, except the report, which exec closes. */
    if (dup2(report, 3) < 0)
        fail(report, SPAWN_TTY);
    fcntl(3, F_SETFD, FD_CLOEXEC);
    spawn_close_from(4);
    if (s->subreaper)
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (s->before && s->before(3) < 0)
        fail(3, SPAWN_FENCE);
    exec_in_path(s);
    fail(3, SPAWN_EXEC);
}

int spawn_start(const struct spawn *s, pid_t *pid, int *report)
{
    int p[2];
    if (s->before ? socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p) < 0
                  : pipe2(p, O_CLOEXEC) < 0)
        return -1;
    pid_t got = fork();
    if (got == 0)
        child(s, p[1]);
    int saved = errno;
    close(p[1]);
    if (got < 0) {
        close(p[0]);
        errno = saved;
        return -1;
    }
    *pid = got;
    *report = p[0];
    return 0;
}

/* /dev/null becomes 0 to 2, fds 3 and up; first all move above, to overwrite none. */
static int place_behind_stdio(const int *fds, int n)
{
    int null = null_open(), up[3 + SPAWN_COPIES_MAX];
    for (int i = 0; i < 3 + n; i++) {
        up[i] = fcntl(i < 3 ? null : fds[i - 3], F_DUPFD_CLOEXEC, 3 + n);
        if (up[i] < 0)
            return -1;
    }
    for (int i = 0; i < 3 + n; i++) {
        if (dup2(up[i], i) < 0)
            return -1;
    }
    spawn_close_from(3 + n);
    return 0;
}

pid_t spawn_copy(const int *fds, int n)
{
    BUG_ON(n > SPAWN_COPIES_MAX);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    setpgid(0, 0);
    spawn_reset_signals();
    if (place_behind_stdio(fds, n) < 0)
        _exit(127);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return 0;
}
