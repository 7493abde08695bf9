/* SPDX-License-Identifier: MIT */
/*
 * The shell's exported variables, taken a moment after each command has ended, so
 * that a shell which follows this one begins where it was. In memory only.
 */
#include "engine/session_own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

void session_env_done(struct session *s)
{
    if (s->env_io.loop) {
        int fd = s->env_io.fd;
        io_stop(&s->env_io);
        close(fd);
    }
    buf_reset(&s->env_text);
}

static void keep_env(struct session *s)
{
    struct buf parsed = BUF_INIT(ENV_MAX), key = BUF_INIT(128);
    struct str text = str_n(s->env_text.p, s->env_text.n - 1);
    if (shell_parse_env(&parsed, text) == 0 && parsed.n > 0 &&
        !str_eq(buf_str(&parsed), buf_str(&s->env))) {
        buf_reset(&s->env);
        buf_adds(&s->env, buf_str(&parsed));
        buf_addf(&key, "environ/%s", s->name);
        hold_put(s->en->hold, buf_str(&key), buf_str(&s->env));
    }
    buf_release(&parsed);
    buf_release(&key);
}

static void on_env(struct io *io, uint32_t events)
{
    struct session *s = container_of(io, struct session, env_io);
    char bytes[4096];
    (void)events;
    ssize_t n = read(io->fd, bytes, sizeof(bytes));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || buf_add(&s->env_text, bytes, (size_t)n) < 0) {
        session_env_done(s);
        return;
    }
    if (s->env_text.p[s->env_text.n - 1] == 0) {
        keep_env(s);
        session_env_done(s);
    }
}

/*
 * Opens the FIFO, to which the shell will write. A worker that takes over does so
 * at once: the one before may have asked, and a shell waits until somebody reads.
 */
int session_env_listen(struct session *s)
{
    char path[300];
    session_env_done(s);
    snprintf(path, sizeof(path), "%s/e", s->sh.dir);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    if (io_start(s->en->loop, &s->env_io, fd, EPOLLIN, on_env) < 0) {
        close(fd);
        return -1;
    }
    return 0;
}

static void on_env_timer(struct timer *t)
{
    struct session *s = container_of(t, struct session, env_timer);
    if (s->state != SESSION_IDLE || s->switching)
        return; /* the mark that ends that sets the timer again */
    if (!list_empty(&s->viewers) || !s->sh.pty) {
        session_save(s);
        return;
    }
    if (session_env_listen(s) == 0)
        session_say(s, LINE_ENV);
}

void session_env_later(struct session *s)
{
    timer_begin(s->en->loop, &s->env_timer, ENV_AFTER_MS, on_env_timer);
}
