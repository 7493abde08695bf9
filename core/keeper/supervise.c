/* SPDX-License-Identifier: MIT */
#include "keeper/supervise.h"

#include "base/buf.h"
#include "base/log.h"
#include "keeper/keepmsg.h"
#include "os/sig.h"
#include "reach/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct supervise_self {
    struct supervisor *s;
    int keeper, link; /* owned; -1: the reaper is gone */
    int signals;      /* readable when SIGCHLD came */
    pid_t reaper;
    char space[sizeof(struct keep_head) + KEEP_DATA];
};

static void tell_refused(void *arg, const struct json *what)
{
    struct supervise_self *self = arg;
    struct buf text = BUF_INIT(KEEP_REFUSED_MAX);
    struct keep_msg m = {.h = {.type = KEEP_M_REFUSED}};
    json_print(&text, what);
    m.body = buf_str(&text);
    if (m.body.n > 0 && self->keeper >= 0)
        keep_tell(self->keeper, &m);
    buf_release(&text);
}

/* What the rules allow beside those of the start. */
static void take_rules(struct supervisor *s, struct str text)
{
    struct err e = ERR_INIT;
    struct json *rules = json_parse(text, &e);
    if (rules)
        supervisor_extend(s, rules);
    else
        log_warn("cannot read rules of the network: %s", e.text);
    json_free(rules);
}

/* One message of the reaper; false when it is gone. */
static bool serve_reaper(struct supervise_self *self)
{
    struct keep_msg m;
    int r = keep_recv(self->link, &m, self->space);
    if (r <= 0)
        return r < 0 && (errno == EAGAIN || errno == EBADMSG);
    if (m.h.type == KEEP_M_LISTENER && m.nfds == 1) {
        supervisor_add(self->s, m.fds[0]);
        m.fds[0] = -1;
    } else if (m.h.type == KEEP_M_RULES) {
        take_rules(self->s, m.body);
    }
    keep_release(&m);
    return true;
}

/* Continues a reaper that was stopped, as programs of its user can do. */
static void reap(const struct supervise_self *self)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid == self->reaper && WIFSTOPPED(status))
            kill(pid, SIGCONT);
    }
}

static void reaper_gone(struct supervise_self *self)
{
    close(self->link);
    close(self->keeper); /* it starts another reaper for the next program */
    self->link = self->keeper = -1;
}

static int run(struct supervise_self *self)
{
    int wanted[] = {SIGCHLD};
    self->signals = sig_open(wanted, 1);
    if (!self->s || self->signals < 0) {
        log_error("cannot supervise the network; no program is started");
        return 1;
    }
    while (self->link >= 0 || supervisor_listeners(self->s) > 0) {
        struct pollfd p[] = {{.fd = self->link, .events = POLLIN},
                             {.fd = self->signals, .events = POLLIN},
                             {.fd = supervisor_fd(self->s), .events = POLLIN}};
        if (poll(p, 3, supervisor_wait(self->s)) < 0 && errno != EINTR)
            return 1;
        if (p[1].revents) {
            while (sig_next(self->signals) > 0)
                ;
            reap(self);
        }
        supervisor_turn(self->s);
        if (p[0].revents && !serve_reaper(self))
            reaper_gone(self);
    }
    return 0;
}

int supervise(int keeper, int file, bool *files)
{
    static struct supervise_self one; /* it ends with its process */
    struct supervise_self *self = &one;
    struct json *rules = supervisor_read(file);
    int pair[2];
    fcntl(file, F_SETFD, FD_CLOEXEC);
    if (!rules || keep_pair(pair) < 0) {
        json_free(rules);
        return -1;
    }
    *files = json_has(rules, "files");
    pid_t pid = fork();
    if (pid <= 0) {
        close(pair[0]);
        close(file);
        json_free(rules);
        if (pid == 0)
            return pair[1];
        close(pair[1]);
        return -1;
    }
    close(pair[1]);
    self->keeper = keeper;
    self->link = pair[0];
    self->reaper = pid;
    self->s = supervisor_open(rules, file, tell_refused, self);
    json_free(rules);
    _exit(run(self));
}
