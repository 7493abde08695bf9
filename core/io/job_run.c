/* SPDX-License-Identifier: MIT */
/*
 * The child reports a failed start through a close-on-exec pipe: the number of the error,
 * and whether it was the directory. SIGCHLD is blocked except in ppoll, so that the end
 * of the program ends the wait, also while a process that it left behind holds its pipes.
 */
#include "io/job_run.h"

#include "base/clock.h"
#include "os/file.h"
#include "os/null.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 64 << 10 };

extern char **environ;

struct start_failure {
    int errnum, cwd;
};

struct job_running {
    const struct job_run *q;
    pid_t pid;
    int report[2], out[2], err[2]; /* owned; -1: closed, or not there */
    int null;                      /* owned */
    int64_t since;                 /* of its start, or of its last output */
    bool ended;
    int status;
};

static const char *name_of(const struct job_run *q)
{
    return q->what ? q->what : q->argv[0];
}

/* ---- the start ---- */

static void become(const struct job_running *r)
{
    const struct job_run *q = r->q;
    int out = q->out || q->out_fd >= 0 ? r->out[1] : r->null;
    int err = q->err ? r->err[1] : q->err_fd >= 0 ? q->err_fd : r->null;
    int from[4] = {q->in >= 0 ? q->in : r->null, out, err, r->report[1]};
    struct start_failure why = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    spawn_reset_signals();
    for (int i = 0; i < 4; i++) /* out of each other's way */
        from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 4);
    for (int i = 0; i < 4; i++) {
        if (from[i] < 0 || dup2(from[i], i) < 0)
            _exit(127);
    }
    fcntl(3, F_SETFD, FD_CLOEXEC);
    spawn_close_from(4);
    if (q->cwd && chdir(q->cwd) < 0) {
        why = (struct start_failure){errno, 1};
    } else {
        if (q->env)
            environ = (char **)q->env;
        execvp(q->argv[0], q->argv);
        why.errnum = errno;
    }
    while (write(3, &why, sizeof(why)) < 0 && errno == EINTR)
        ;
    _exit(127);
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int open_pipes(struct job_running *r)
{
    const struct job_run *q = r->q;
    r->null = null_open();
    if (r->null < 0 || pipe2(r->report, O_CLOEXEC) < 0 ||
        ((q->out || q->out_fd >= 0) && pipe2(r->out, O_CLOEXEC) < 0) ||
        (q->err && pipe2(r->err, O_CLOEXEC) < 0))
        return -1;
    return 0;
}

static void close_all(struct job_running *r)
{
    for (int i = 0; i < 2; i++) {
        close_one(&r->report[i]);
        close_one(&r->out[i]);
        close_one(&r->err[i]);
    }
    close_one(&r->null);
}

/* -1: it does not run, and *e says why. */
static int start(struct job_running *r, struct err *e)
{
    const struct job_run *q = r->q;
    struct start_failure why = {0};
    ssize_t n;
    if (open_pipes(r) < 0 || (r->pid = fork()) < 0)
        return err_sys(e, errno, "cannot start %s", name_of(q));
    if (r->pid == 0)
        become(r);
    close_one(&r->report[1]);
    close_one(&r->out[1]);
    close_one(&r->err[1]);
    do
        n = read(r->report[0], &why, sizeof(why));
    while (n < 0 && errno == EINTR);
    if (n != sizeof(why))
        return 0;
    while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return why.cwd
               ? err_sys(e, why.errnum, "cannot enter %s for %s", q->cwd, name_of(q))
               : err_sys(e, why.errnum, "cannot run %s for %s", q->argv[0], name_of(q));
}

/* ---- its output ---- */

/* Takes what there is to read. -1: *e. */
static int take_out(struct job_running *r, struct err *e)
{
    const struct job_run *q = r->q;
    static char block[BLOCK];
    ssize_t n = read(r->out[0], block, sizeof(block));
    if (n < 0 && errno == EINTR)
        return 0;
    if (n <= 0) {
        close_one(&r->out[0]);
    } else if (q->out) {
        if (buf_add(q->out, block, (size_t)n) < 0)
            return err_set(e, ERR_LIMIT, "%s gives more than %zu bytes", name_of(q),
                           q->out->max);
    } else if (file_write_all(q->out_fd, str_n(block, (size_t)n)) < 0) {
        return err_sys(e, errno, "cannot pass on the output of %s", name_of(q));
    } else {
        r->since = clock_ms();
    }
    return 0;
}

static void take_err(struct job_running *r)
{
    char block[4096];
    ssize_t n = read(r->err[0], block, sizeof(block));
    if (n > 0) {
        size_t room = buf_room(r->q->err);
        buf_add(r->q->err, block, room < (size_t)n ? room : (size_t)n);
    } else if (n == 0 || errno != EINTR) {
        close_one(&r->err[0]);
    }
}

/* ---- the wait ---- */

/* Milliseconds until the time is up; -1: any. */
static int64_t left(const struct job_running *r)
{
    const struct job_run *q = r->q;
    int64_t most = r->ended                  ? JOB_RUN_GRACE_MS
                   : q->out || q->out_fd < 0 ? q->within_ms
                                             : q->quiet_ms;
    int64_t gone = clock_ms() - r->since;
    return most == 0 ? -1 : gone < most ? most - gone : 0;
}

static void look_for_end(struct job_running *r)
{
    if (!r->ended && waitpid(r->pid, &r->status, WNOHANG) == r->pid) {
        r->ended = true;
        r->since = clock_ms();
    }
}

/* Waits for output or the end, and takes it. 1: it is over; 0: not yet; -1: *e. */
static int step(struct job_running *r, const sigset_t *open, struct err *e)
{
    struct pollfd p[2] = {{.fd = r->out[0], .events = POLLIN},
                          {.fd = r->err[0], .events = POLLIN}};
    look_for_end(r);
    if (r->ended && r->out[0] < 0 && r->err[0] < 0)
        return 1;
    int64_t ms = left(r);
    if (ms == 0)
        return r->ended ? 1
                        : err_set(e, ERR_TIMEOUT,
                                  "%s took longer than %u s and was ended", name_of(r->q),
                                  (r->q->out || r->q->out_fd < 0 ? r->q->within_ms
                                                                 : r->q->quiet_ms) /
                                      1000);
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    int n = ppoll(p, 2, ms < 0 ? NULL : &t, open);
    if (n < 0 && errno != EINTR)
        return err_sys(e, errno, "cannot wait for %s", name_of(r->q));
    if (n > 0 && p[1].revents)
        take_err(r);
    return n > 0 && p[0].revents ? take_out(r, e) : 0;
}

static void on_child(int sig) { (void)sig; }

int job_run(const struct job_run *q, int *status, struct err *e)
{
    struct job_running r = {
        .q = q, .report = {-1, -1}, .out = {-1, -1}, .err = {-1, -1}, .null = -1};
    struct sigaction note = {.sa_handler = on_child}, old;
    sigset_t chld, before, open;
    int rc;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, &before);
    open = before;
    sigdelset(&open, SIGCHLD);
    sigaction(SIGCHLD, &note, &old);
    rc = start(&r, e);
    if (rc == 0) {
        r.since = clock_ms();
        while ((rc = step(&r, &open, e)) == 0)
            ;
        if (rc < 0 && !r.ended) {
            kill(r.pid, SIGKILL);
            while (waitpid(r.pid, &r.status, 0) < 0 && errno == EINTR)
                ;
        }
    }
    close_all(&r);
    sigaction(SIGCHLD, &old, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    *status = r.status;
    return rc < 0 ? -1 : 0;
}
