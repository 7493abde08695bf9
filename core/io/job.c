/* SPDX-License-Identifier: MIT */
/*
 * Three channels, all but the control optional in use: output (a pipe), input
 * (a socket pair, so that writing to a dead child is no signal), control (a
 * pipe of records: a type, a length, at most 4,092 bytes; one write is one record).
 *
 *   RUNNING --result or end of control--> LEAVING --waitpid--> GONE
 *   GONE --output consumed--> done
 *
 * The control pipe is the last descriptor that the child uses, and it ends
 * however the child ends. waitpid may report the child a little later than
 * the pipes' end: a timer calls it again.
 *
 * A paused descriptor is taken out of epoll altogether, because a hang-up is
 * reported even to those who ask for nothing.
 */
#include "io/job.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "io/job_run.h"
#include "os/file.h"
#include "os/landlock.h"
#include "os/null.h"
#include "os/spawn.h"
#include "os/within.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RECORD_NOTE = 1, RECORD_DONE };
enum { RECORD_HEAD = 4, RECORD_MAX = 4092, REAP_MS_MAX = 1000 };

struct job_record {
    uint16_t type, n;
    char bytes[RECORD_MAX];
};

enum job_state { RUNNING, LEAVING, GONE };

struct job {
    struct loop *loop;
    const struct job_events *ev;
    void *owner;
    char *what;
    pid_t pid;
    enum job_state state;
    struct io out_io, in_io, control_io;
    int out, in, control; /* owned; -1: ended */
    struct buf data, input, records;
    bool paused, cancelled, want_room, input_ended, has_result, freed;
    struct err result;
    int status;        /* of waitpid */
    struct task again; /* passes on the rest of the data, or the end */
    struct timer reap;
    int reap_ms;
};

/* ---- the child ---- */

static void put_record(int fd, int type, struct str bytes)
{
    struct job_record r = {.type = (uint16_t)type};
    bytes = str_sub(bytes, 0, sizeof(r.bytes));
    r.n = (uint16_t)bytes.n;
    if (bytes.n)
        memcpy(r.bytes, bytes.p, bytes.n);
    while (write(fd, &r, RECORD_HEAD + bytes.n) < 0 && errno == EINTR)
        ;
}

void job_note(const struct job_child *c, struct str note)
{
    put_record(c->control, RECORD_NOTE, str_sub(note, 0, JOB_NOTE_MAX));
}

bool job_input_whole(const struct job_child *c)
{
    /* The parent reads nothing here; it is EPIPE if it has closed its end. */
    return send(c->in, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

int job_put(const struct job_child *c, struct str bytes)
{
    return file_write_all(c->out, bytes);
}

static void leave(int control, const struct err *e)
{
    char text[sizeof(e->text) + 1];
    text[0] = (char)e->code;
    size_t n = strlen(e->text);
    memcpy(text + 1, e->text, n);
    put_record(control, RECORD_DONE, str_n(text, n + 1));
    _exit(0);
}

/* Address space in use now; 0 when that cannot be known. */
static uint64_t size_now(void)
{
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    struct str rest = str_n(text, n > 0 ? (size_t)n : 0);
    uint64_t pages = 0;
    if (str_to_u64(str_cut(&rest, ' '), &pages) < 0)
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Lowers a limit; one that is lower already stays. */
static int limit(int what, uint64_t value)
{
    struct rlimit r;
    if (getrlimit(what, &r) < 0)
        return -1;
    if (r.rlim_max != RLIM_INFINITY && value > r.rlim_max)
        value = r.rlim_max;
    r.rlim_cur = r.rlim_max = value;
    return setrlimit(what, &r);
}

static int set_limits(const struct job_spec *s, struct err *e)
{
    int rc = limit(RLIMIT_CORE, 0);
    if (s->memory)
        rc |= limit(RLIMIT_AS, size_now() + s->memory);
    if (s->cpu_s)
        rc |= limit(RLIMIT_CPU, s->cpu_s);
    if (s->files)
        rc |= limit(RLIMIT_NOFILE, s->files);
    if (s->file_size)
        rc |= limit(RLIMIT_FSIZE, s->file_size);
    if (rc < 0)
        return err_sys(e, errno, "cannot limit %s", s->what);
    if (s->nice)
        setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + s->nice);
    return 0;
}

static int become(const struct job_spec *s, struct err *e)
{
    if (s->as_user && (setgroups(s->groups_n, s->groups) < 0 || setgid(s->gid) < 0 ||
                       setuid(s->uid) < 0))
        return err_sys(e, errno, "cannot become user %ld for %s", (long)s->uid, s->what);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 && errno != EINVAL)
        return err_sys(e, errno, "cannot give up privileges for %s", s->what);
    if (s->cwd && chdir(s->cwd) < 0)
        return err_sys(e, errno, "cannot enter %s for %s", s->cwd, s->what);
    return 0;
}

/* Sets *e for a process that ended without a result. */
static int explain(const char *what, int status, struct err *e)
{
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (sig == SIGXCPU)
        return err_set(e, ERR_LIMIT, "%s took too much processor time", what);
    if (sig == SIGKILL)
        return err_set(e, ERR_LIMIT, "%s was killed, perhaps for lack of memory", what);
    if (sig)
        return err_set(e, ERR_INTERNAL, "%s crashed: signal %d", what, sig);
    return err_set(e, ERR_INTERNAL, "%s ended without a result", what);
}

/* ---- the child of a program ---- */

static int run_program(const struct job_spec *s, const struct job_child *c, struct err *e)
{
    const struct job_run q = {.what = s->what,
                              .argv = s->program,
                              .in = s->fds_n ? c->fds[0] : -1,
                              .out_fd = -1,
                              .err_fd = c->out};
    int status = 0;
    signal(SIGXFSZ, SIG_DFL);
    setenv("LC_ALL", "C", 1);
    if (job_run(&q, &status, e) < 0)
        return -1;
    if (!WIFEXITED(status))
        return explain(s->what, status, e);
    return WEXITSTATUS(status) == 0 ? 0
                                    : err_set(e, ERR_INVALID, "%s ended with status %d",
                                              s->what, WEXITSTATUS(status));
}

/*
 * from[i] becomes descriptor i: first all are moved up, out of each other's
 * way, then down. -1 stands for /dev/null. Everything else is closed.
 */
static int place_fds(int *from, int n)
{
    for (int i = 0; i < n; i++) {
        int null = from[i] < 0 ? null_open() : -1;
        from[i] = fcntl(from[i] < 0 ? null : from[i], F_DUPFD_CLOEXEC, n);
        if (null >= 0)
            close(null);
        if (from[i] < 0)
            return -1;
    }
    for (int i = 0; i < n; i++) {
        if (dup2(from[i], i) < 0)
            return -1;
    }
    spawn_close_from(n);
    return 0;
}

static void child(const struct job_spec *s, int in, int out, int control, pid_t parent)
{
    struct err e = ERR_INIT;
    struct job_child c = {.in = 0, .out = 1, .control = 3};
    int from[4 + JOB_FDS_MAX] = {in, out, 2, control};
    setpgid(0, 0);
    spawn_reset_signals();
    signal(SIGXFSZ, SIG_IGN); /* EFBIG is an error that can be explained */
    if (fcntl(2, F_GETFD) < 0)
        from[2] = -1;
    for (unsigned i = 0; i < s->fds_n; i++) {
        from[4 + i] = s->fds[i];
        c.fds[i] = 4 + (int)i;
    }
    /* Before its descriptor is closed. A change of user is still possible then. */
    int fence = s->unfenced ? -1 : within_ruleset();
    if (fence >= 0 && landlock_restrict(fence) < 0) {
        err_sys(&e, errno, "cannot restrict %s to the fence", s->what);
        leave(control, &e);
    }
    if (place_fds(from, 4 + (int)s->fds_n) < 0)
        _exit(1);
    within_set(-1); /* this process is in there itself */
    if (become(s, &e) < 0 || set_limits(s, &e) < 0)
        leave(c.control, &e);
    /* After the change of user, which resets it. The parent may be gone already. */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent)
        _exit(1);
    int rc = s->program ? run_program(s, &c, &e) : s->fn(s->arg, &c, &e);
    if (rc < 0 && e.code == ERR_NONE)
        err_set(&e, ERR_INTERNAL, "%s failed and did not say why", s->what);
    if (rc < 0 && fence >= 0)
        landlock_explain(&e);
    leave(c.control, &e);
}

/* ---- the parent: the end ---- */

static void close_fd(struct io *io, int *fd)
{
    io_stop(io);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void free_job(void *p)
{
    struct job *j = p;
    if (j->pid > 0 && j->ev->on_gone)
        j->ev->on_gone(j->owner);
    buf_release(&j->data);
    buf_release(&j->input);
    buf_release(&j->records);
    free(j->what);
    free(j);
}

static void bury(struct job *j)
{
    if (j->freed)
        return;
    j->freed = true;
    close_fd(&j->out_io, &j->out);
    close_fd(&j->in_io, &j->in);
    close_fd(&j->control_io, &j->control);
    task_cancel(&j->again);
    timer_stop(&j->reap);
    loop_bury(j->loop, j, free_job);
}

static void finish_if_over(struct job *j)
{
    if (j->state != GONE || j->freed)
        return;
    if (j->cancelled) {
        bury(j);
        return;
    }
    if (j->out >= 0 || j->data.n > 0 || j->paused)
        return;
    if (!j->has_result)
        explain(j->what, j->status, &j->result);
    bury(j);
    ASSERT(!j->cancelled && j->data.n == 0); /* once, after the last byte */
    j->ev->on_done(j, &j->result);
}

static void try_reap(struct timer *t)
{
    struct job *j = container_of(t, struct job, reap);
    pid_t got = waitpid(j->pid, &j->status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) {
        timer_begin(j->loop, &j->reap, j->reap_ms, try_reap);
        j->reap_ms = j->reap_ms * 2 > REAP_MS_MAX ? REAP_MS_MAX : j->reap_ms * 2;
        return;
    }
    j->state = GONE;
    finish_if_over(j);
}

/* ---- the parent: control ---- */

static void take_result(struct job *j, struct str bytes)
{
    if (!bytes.n || (unsigned char)bytes.p[0] >= ERR_COUNT)
        return;
    struct str text = str_sub(bytes, 1, sizeof(j->result.text) - 1);
    j->result.code = (enum err_code)bytes.p[0];
    memcpy(j->result.text, text.p, text.n);
    j->result.text[text.n] = 0;
    j->has_result = true;
}

static void take_records(struct job *j)
{
    struct job_record r;
    while (!j->cancelled && j->records.n >= RECORD_HEAD) {
        memcpy(&r, j->records.p, RECORD_HEAD);
        if (r.n > RECORD_MAX || j->records.n < RECORD_HEAD + (size_t)r.n)
            return;
        memcpy(r.bytes, j->records.p + RECORD_HEAD, r.n);
        buf_consume(&j->records, RECORD_HEAD + (size_t)r.n);
        if (r.type == RECORD_DONE)
            take_result(j, str_n(r.bytes, r.n));
        else if (r.type == RECORD_NOTE && j->ev->on_note)
            j->ev->on_note(j, str_n(r.bytes, r.n));
    }
}

/*
 * One read into b. 1: bytes, or b is full; 0: nothing to read now; -1: the end.
 * An incomplete record at the end of the control pipe is ignored.
 */
static int read_once(int fd, struct buf *b)
{
    size_t room = buf_room(b);
    if (!room)
        return 1;
    room = room > 64 << 10 ? 64 << 10 : room;
    char *p = buf_reserve(b, room);
    if (!p)
        return -1;
    ssize_t n;
    do
        n = read(fd, p, room);
    while (n < 0 && errno == EINTR);
    buf_commit(b, n > 0 ? (size_t)n : 0);
    if (n < 0 && errno == EAGAIN)
        return 0;
    return n > 0 ? 1 : -1;
}

static void on_control(struct io *io, uint32_t events)
{
    (void)events;
    struct job *j = container_of(io, struct job, control_io);
    int got = read_once(j->control, &j->records);
    take_records(j);
    /* A full buffer without a whole record is not from our code: stop reading. */
    if (!j->has_result && (got == 0 || (got > 0 && buf_room(&j->records) > 0)))
        return;
    close_fd(&j->control_io, &j->control);
    /* Kills what it left behind: the number is its own until it is reaped. */
    kill(-j->pid, SIGKILL);
    j->state = LEAVING;
    j->reap_ms = 1;
    try_reap(&j->reap);
}

/* ---- the parent: data ---- */

static void on_out(struct io *io, uint32_t events);

static void watch_out(struct job *j)
{
    bool want = j->out >= 0 && !j->paused && !j->cancelled && buf_room(&j->data) > 0;
    if (!want)
        io_stop(&j->out_io);
    else if (!j->out_io.loop &&
             io_start(j->loop, &j->out_io, j->out, EPOLLIN, on_out) < 0)
        log_error("cannot watch the output of %s: %m", j->what);
}

static void give_data(struct job *j)
{
    if (j->paused || j->cancelled || !j->data.n)
        return;
    if (j->ev->on_data)
        j->ev->on_data(j, &j->data);
    else
        buf_reset(&j->data);
}

static void on_out(struct io *io, uint32_t events)
{
    (void)events;
    struct job *j = container_of(io, struct job, out_io);
    size_t before = j->data.n, turn = 0;
    int got = 1;
    while (got > 0 && turn < LIMIT_READ_PER_TURN && buf_room(&j->data) > 0) {
        got = read_once(j->out, &j->data);
        turn += j->data.n - before;
        before = j->data.n;
    }
    if (got < 0)
        close_fd(&j->out_io, &j->out);
    if (turn > 0)
        give_data(j);
    if (j->freed)
        return;
    watch_out(j);
    finish_if_over(j);
}

static void on_again(struct task *t)
{
    struct job *j = container_of(t, struct job, again);
    give_data(j);
    if (j->freed)
        return;
    watch_out(j);
    finish_if_over(j);
}

void job_pause(struct job *j)
{
    j->paused = true;
    watch_out(j);
}

void job_resume(struct job *j)
{
    j->paused = false;
    task_defer(j->loop, &j->again);
}

/* ---- the parent: input ---- */

static void on_in(struct io *io, uint32_t events);

static void watch_in(struct job *j)
{
    if (j->in < 0)
        return;
    if (!j->input.n && !j->want_room)
        io_stop(&j->in_io);
    else if (!j->in_io.loop && io_start(j->loop, &j->in_io, j->in, EPOLLOUT, on_in) < 0)
        log_error("cannot watch the input of %s: %m", j->what);
}

/* Sends what the child takes now. */
static void flush_in(struct job *j)
{
    while (j->in >= 0 && j->input.n > 0) {
        ssize_t n = send(j->in, j->input.p, j->input.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            close_fd(&j->in_io, &j->in);
            buf_reset(&j->input);
            return;
        }
        buf_consume(&j->input, (size_t)n);
    }
    /* It stays open: by that the child knows this end from ours (job_input_whole). */
    if (j->input_ended && !j->input.n && j->in >= 0)
        shutdown(j->in, SHUT_WR);
    watch_in(j);
}

static void on_in(struct io *io, uint32_t events)
{
    (void)events;
    struct job *j = container_of(io, struct job, in_io);
    flush_in(j);
    if (j->want_room && j->input.n <= JOB_BUFFER / 2) {
        j->want_room = false;
        watch_in(j);
        if (j->ev->on_room && !j->cancelled)
            j->ev->on_room(j);
    }
}

int job_write(struct job *j, struct str bytes)
{
    if (j->in < 0)
        return 0;
    if (bytes.n > buf_room(&j->input) || buf_adds(&j->input, bytes) < 0) {
        j->want_room = true;
        watch_in(j);
        return -1;
    }
    flush_in(j);
    return 0;
}

void job_want_room(struct job *j)
{
    j->want_room = true;
    watch_in(j);
}

size_t job_room(const struct job *j)
{
    return j->in < 0 ? JOB_BUFFER : buf_room(&j->input);
}

void job_end_input(struct job *j)
{
    j->input_ended = true;
    flush_in(j);
}

/* ---- start and cancel ---- */

void *job_owner(const struct job *j) { return j->owner; }

void job_cancel(struct job *j)
{
    if (j->freed || j->cancelled)
        return;
    j->cancelled = true;
    if (j->state != GONE)
        kill(-j->pid, SIGKILL);
    close_fd(&j->out_io, &j->out);
    close_fd(&j->in_io, &j->in);
    finish_if_over(j);
}

static void close_all(int (*pipes)[2])
{
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            if (pipes[i][k] >= 0)
                close(pipes[i][k]);
        }
    }
}

/* Output, input, control; [0] is read by one side and [1] written by the other. */
static int open_channels(int (*pipes)[2], bool input)
{
    if (pipe2(pipes[0], O_CLOEXEC) < 0 || pipe2(pipes[2], O_CLOEXEC) < 0)
        return -1;
    if (input && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pipes[1]) < 0)
        return -1;
    fcntl(pipes[0][0], F_SETFL, O_NONBLOCK);
    fcntl(pipes[2][0], F_SETFL, O_NONBLOCK);
    return 0;
}

static struct job *new_job(struct loop *l, const struct job_spec *s, int (*pipes)[2])
{
    struct job *j = xnew(struct job);
    *j = (struct job){
        .loop = l, .ev = s->ev, .owner = s->owner, .what = xstrdup(s->what)};
    j->out = pipes[0][0];
    j->in = pipes[1][1];
    j->control = pipes[2][0];
    j->out_io.fd = j->in_io.fd = j->control_io.fd = -1;
    buf_init(&j->data, JOB_BUFFER);
    buf_init(&j->input, JOB_BUFFER);
    buf_init(&j->records, 16 << 10);
    task_init(&j->again, on_again);
    return j;
}

struct job *job_start(struct loop *l, const struct job_spec *spec, struct err *e)
{
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    pid_t parent = getpid(), pid = -1;
    struct job *j = NULL;
    BUG_ON(spec->fds_n > JOB_FDS_MAX);
    if (open_channels(pipes, spec->input) < 0)
        goto failed;
    j = new_job(l, spec, pipes);
    if (io_start(l, &j->control_io, j->control, EPOLLIN, on_control) < 0 ||
        io_start(l, &j->out_io, j->out, EPOLLIN, on_out) < 0)
        goto failed;
    pid = fork();
    if (pid == 0)
        child(spec, pipes[1][0], pipes[0][1], pipes[2][1], parent);
    if (pid < 0)
        goto failed;
    setpgid(pid, pid);
    j->pid = pid;
    close(pipes[0][1]);
    close(pipes[2][1]);
    if (pipes[1][0] >= 0)
        close(pipes[1][0]);
    return j;

failed:
    err_sys(e, errno, "cannot start %s", spec->what);
    if (j) {
        io_stop(&j->control_io);
        io_stop(&j->out_io);
        free_job(j);
    }
    close_all(pipes);
    return NULL;
}
