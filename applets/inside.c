/* SPDX-License-Identifier: MIT */
#include "inside.h"

#include "os/pty.h"
#include "os/sig.h"
#include "os/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
    BLOCK = 16 << 10,
    REST_MAX = 1 << 20 /* read after the end of the program, if others still write */
};

/* What runs. */
struct inside_now {
    const struct inside *x;
    int master, signals;
    pid_t pid;
    bool typed_over, input_over; /* the sources of input have ended */
    bool exited, ended;          /* the program; the recording, by a signal */
    int eof_mode;                /* how it read at the last end of file; -1: none yet */
    int status;
    struct termios before;
    bool raw;
    char in[BLOCK]; /* input for the program */
    size_t in_n, in_at;
};

int inside_write(int fd, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(fd, bytes.p, bytes.n);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            poll(&p, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            return -1;
        }
        bytes = str_sub(bytes, n > 0 ? (size_t)n : 0, bytes.n);
    }
    return 0;
}

int inside_exit(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void inside_size(const struct inside *x, int *rows, int *cols)
{
    struct winsize w = {0};
    if (x->terminal >= 0 && ioctl(x->terminal, TIOCGWINSZ, &w) < 0)
        w = (struct winsize){0};
    *rows = x->rows ? x->rows : w.ws_row ? w.ws_row : 24;
    *cols = x->cols ? x->cols : w.ws_col ? w.ws_col : 80;
}

/* ---- start and end ---- */

static int start(struct inside_now *n, int slave, struct err *e)
{
    struct spawn s = {.path = n->x->path ? n->x->path : n->x->argv[0],
                      .argv = n->x->argv,
                      .envp = environ,
                      .fds = {slave, slave, slave},
                      .tty = true};
    struct spawn_failure why;
    int report;
    if (spawn_start(&s, &n->pid, &report) < 0)
        return err_sys(e, errno, "cannot start %.200s", s.path);
    ssize_t got;
    while ((got = read(report, &why, sizeof(why))) < 0 && errno == EINTR)
        continue;
    close(report);
    if (got != (ssize_t)sizeof(why))
        return 0;
    waitpid(n->pid, NULL, 0);
    return err_sys(e, why.errnum, "failed to execute %.200s", s.path);
}

static int open_terminal(struct inside_now *n, int fds[2], struct err *e)
{
    const struct inside *x = n->x;
    struct termios modes;
    int rows, cols;
    bool have = x->terminal >= 0 && tcgetattr(x->terminal, &n->before) == 0;
    inside_size(x, &rows, &cols);
    if (pty_open(fds, rows, cols, have && x->terminal_modes ? &n->before : NULL,
                 geteuid()) < 0)
        return err_sys(e, errno, "cannot make a terminal");
    if (x->no_echo && tcgetattr(fds[1], &modes) == 0) {
        modes.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(fds[1], TCSANOW, &modes);
    }
    if (!have)
        return 0;
    modes = n->before;
    cfmakeraw(&modes);
    n->raw = tcsetattr(x->terminal, TCSADRAIN, &modes) == 0;
    return 0;
}

/* ---- bytes ---- */

/* Passes on one block. Returns how long it was; 0: there is none now; -1: none will come.
 */
static ssize_t pass_output(struct inside_now *n)
{
    char block[BLOCK];
    ssize_t got = read(n->master, block, sizeof(block));
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (got <= 0)
        return -1;
    struct str bytes = str_n(block, (size_t)got);
    n->x->calls->output(n->x->arg, bytes);
    if (n->x->output >= 0)
        inside_write(n->x->output, bytes); /* a terminal that is gone ends by HUP */
    return got;
}

/*
 * Sends the end of file at the end of input, and again when the program has switched
 * between lines and keys: the kernel drops one that was not read by then.
 */
static void end_of_input(struct inside_now *n)
{
    struct termios t;
    if (!n->x->flush_end || !n->typed_over || !n->input_over || n->in_n > 0 ||
        tcgetattr(n->master, &t) < 0)
        return;
    int mode = (t.c_lflag & ICANON) != 0;
    if (mode == n->eof_mode)
        return;
    n->eof_mode = mode;
    n->in[0] = t.c_cc[VEOF] ? (char)t.c_cc[VEOF] : 4;
    n->in_at = 0;
    n->in_n = 1;
}

/* Reads from a source of input, when nothing waits for the program. */
static void take_input(struct inside_now *n, int fd, bool *over)
{
    ssize_t got = read(fd, n->in, sizeof(n->in));
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        *over = true;
        return;
    }
    n->in_at = 0;
    n->in_n = n->x->calls->input(n->x->arg, str_n(n->in, (size_t)got)) ? (size_t)got : 0;
}

static void give_input(struct inside_now *n)
{
    ssize_t put = write(n->master, n->in + n->in_at, n->in_n);
    if (put < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    size_t gone = put < 0 ? n->in_n : (size_t)put;
    n->in_at += gone;
    n->in_n -= gone;
}

static void take_signals(struct inside_now *n)
{
    const struct inside *x = n->x;
    for (int s; (s = sig_next(n->signals)) != 0;) {
        if (s == SIGCHLD) {
            n->exited = n->exited || waitpid(n->pid, &n->status, WNOHANG) == n->pid;
        } else if (s == SIGWINCH) {
            int rows, cols;
            inside_size(x, &rows, &cols);
            pty_resize(n->master, rows, cols);
            if (x->calls->resized)
                x->calls->resized(x->arg, rows, cols);
        } else {
            n->ended = true;
        }
        if (s != SIGCHLD && x->calls->signal)
            x->calls->signal(x->arg, s);
    }
}

static void turn(struct inside_now *n, bool *output_over)
{
    const struct inside *x = n->x;
    bool free_in = n->in_n == 0;
    struct pollfd p[4] = {
        {.fd = n->signals, .events = POLLIN},
        {.fd = *output_over ? -1 : n->master,
         .events = (short)(POLLIN | (free_in ? 0 : POLLOUT))},
        {.fd = free_in && !n->typed_over ? x->terminal : -1, .events = POLLIN},
        {.fd = free_in && !n->input_over ? x->input : -1, .events = POLLIN},
    };
    if (poll(p, 4, -1) < 0)
        return;
    if (p[1].revents & (POLLIN | POLLHUP | POLLERR))
        *output_over = pass_output(n) < 0;
    if (p[1].revents & POLLOUT)
        give_input(n);
    if (p[2].revents)
        take_input(n, x->terminal, &n->typed_over);
    else if (p[3].revents)
        take_input(n, x->input, &n->input_over);
    end_of_input(n);
    if (p[0].revents)
        take_signals(n);
}

int inside_run(const struct inside *x, int *status, struct err *e)
{
    static const int signals[] = {SIGCHLD, SIGWINCH, SIGTERM, SIGHUP, SIGQUIT, SIGINT};
    static struct inside_now now;
    struct inside_now *n = &now;
    int fds[2];
    *n = (struct inside_now){.x = x,
                             .typed_over = x->terminal < 0,
                             .input_over = x->input < 0,
                             .eof_mode = -1};
    n->signals = sig_pipe(signals, sizeof(signals) / sizeof(signals[0]));
    if (n->signals < 0)
        return err_sys(e, errno, "cannot wait for signals");
    if (open_terminal(n, fds, e) < 0)
        return -1;
    n->master = fds[0];
    int r = start(n, fds[1], e);
    close(fds[1]);
    bool output_over = false;
    while (r == 0 && !n->exited && !n->ended && !x->stop)
        turn(n, &output_over);
    ssize_t rest = 0, got;
    while (r == 0 && rest < REST_MAX && (got = pass_output(n)) > 0)
        rest += got;
    close(n->master); /* HUP for those that are still there */
    while (r == 0 && !n->exited) {
        pid_t pid = waitpid(n->pid, &n->status, 0);
        n->exited = pid == n->pid || (pid < 0 && errno != EINTR);
    }
    if (n->raw)
        tcsetattr(x->terminal, TCSADRAIN, &n->before);
    close(n->signals);
    *status = n->status;
    return r;
}
