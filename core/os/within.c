/* SPDX-License-Identifier: MIT */
#include "os/within.h"

#include "os/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 512 << 10 };

static int set = -1;

struct within_step {
    void (*fn)(void *arg);
    void *arg;
    int errnum; /* of the restriction */
    bool done;
};

void within_set(int ruleset) { set = ruleset; }

int within_ruleset(void) { return set; }

static int step(void *p)
{
    struct within_step *s = p;
    if (landlock_restrict(set) < 0) {
        s->errnum = errno;
        return 0;
    }
    s->fn(s->arg);
    s->done = true;
    return 0;
}

int within_call(void (*fn)(void *arg), void *arg)
{
    struct within_step s = {.fn = fn, .arg = arg, .errnum = ECHILD};
    if (set < 0) {
        fn(arg);
        return 0;
    }
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return -1;
    pid_t pid = clone(step, stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD,
                      &s);
    if (pid < 0)
        s.errnum = errno;
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    munmap(stack, STACK);
    errno = s.errnum;
    return s.done ? 0 : -1;
}

struct within_file {
    const char *path;
    int flags, fd, errnum;
    mode_t mode;
};

static void open_file(void *p)
{
    struct within_file *f = p;
    f->fd = open(f->path, f->flags, f->mode);
    f->errnum = errno;
}

int within_open(const char *path, int flags, mode_t mode)
{
    struct within_file f = {.path = path, .flags = flags, .fd = -1, .mode = mode};
    if (within_call(open_file, &f) < 0)
        return -1;
    errno = f.errnum;
    return f.fd;
}

static void unlink_file(void *p)
{
    struct within_file *f = p;
    f->fd = unlink(f->path);
    f->errnum = errno;
}

int within_unlink(const char *path)
{
    struct within_file f = {.path = path, .fd = -1};
    if (within_call(unlink_file, &f) < 0)
        return -1;
    errno = f.errnum;
    return f.fd;
}
