/* SPDX-License-Identifier: MIT */
/* Signals as a descriptor. */
#include "os/sig.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int self_pipe = -1; /* the writing end */

static void on_signal(int signo)
{
    int saved = errno;
    unsigned char byte = (unsigned char)signo;
    /* A full pipe: its bytes wake the reader up anyway. */
    ssize_t ignored = write(self_pipe, &byte, 1);
    (void)ignored;
    errno = saved;
}

static int open_pipe(const int *signals, int count, int flags, bool ignored_too)
{
    int p[2];
    if (pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    self_pipe = p[1];
    struct sigaction take = {.sa_handler = on_signal, .sa_flags = flags}, before;
    for (int i = 0; i < count; i++) {
        if (sigaction(signals[i], &take, &before) == 0 && before.sa_handler == SIG_IGN &&
            !ignored_too)
            sigaction(signals[i], &before, NULL);
    }
    return p[0];
}

int sig_pipe(const int *signals, int count)
{
    return open_pipe(signals, count, 0, false);
}

int sig_open(const int *signals, int count)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < count; i++)
        sigaddset(&set, signals[i]);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return open_pipe(signals, count, SA_RESTART, true);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return fd;
}

int sig_next(int fd)
{
    if (self_pipe >= 0) {
        unsigned char byte;
        return read(fd, &byte, 1) == 1 ? byte : 0;
    }
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo
                                                                  : 0;
}

int sig_number(struct str text, int64_t n)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},
                 {"KILL", SIGKILL}, {"TERM", SIGTERM}, {"USR1", SIGUSR1},
                 {"USR2", SIGUSR2}, {"CONT", SIGCONT}, {"STOP", SIGSTOP},
                 {"TSTP", SIGTSTP}, {"ALRM", SIGALRM}, {"WINCH", SIGWINCH},
                 {"PIPE", SIGPIPE}, {"ABRT", SIGABRT}, {"TTIN", SIGTTIN},
                 {"TTOU", SIGTTOU}};
    uint64_t written;
    if (str_to_u64(text, &written) == 0)
        n = written < _NSIG ? (int64_t)written : 0;
    if (n > 0 && n < _NSIG)
        return (int)n;
    if (text.n > 3 && strncasecmp(text.p, "SIG", 3) == 0)
        text = str_sub(text, 3, text.n);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (text.n == strlen(names[i].name) &&
            strncasecmp(text.p, names[i].name, text.n) == 0)
            return names[i].number;
    }
    return 0;
}
