/* SPDX-License-Identifier: MIT */
/*
 * The shell's exported variables: a snapshot shortly after the end of each command, and
 * what the shell wrote when it exited, so that the next shell begins in the same state.
 * Variables are kept in memory only.
 */
#include "shell/session_own.h"

#include "base/limits.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

void session_env_done(struct session *s)
{
    if (s->env.io.loop) {
        int fd = s->env.io.fd;
        io_stop(&s->env.io);
        close(fd);
    }
    timer_stop(&s->env.gather);
    s->env.begun = false;
    buf_release(&s->env.text);
}

/* A snapshot is too long: the previous one stays, and env.lost says so. */
static void note_too_long(struct session *s)
{
    snprintf(s->env.lost, sizeof(s->env.lost),
             "the last exported variables are lost: they exceed %d bytes", ENV_MAX);
}

/* Bytes that execve takes in all: a quarter of the stack limit, up to a fixed maximum. */
static size_t kernel_takes(void)
{
    enum { LEAST = 128 << 10 };
    struct rlimit stack;
    size_t most = LIMIT_SPAWN_MAX;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur / 4 < most)
        most = (size_t)(stack.rlim_cur / 4);
    return most > LEAST ? most : LEAST;
}

void session_env_add(struct session *s, struct buf *out)
{
    for (size_t at = 0, n; at < s->env.vars.n; at += n) {
        const char *entry = s->env.vars.p + at;
        n = strlen(entry) + 1;
        if (n <= LIMIT_SPAWN_STRING)
            buf_add(out, entry, n);
        else
            snprintf(s->env.lost, sizeof(s->env.lost),
                     "it lacks %.*s: with its name it has %zu bytes, and the kernel "
                     "passes at most %d",
                     (int)strcspn(entry, "=") < 60 ? (int)strcspn(entry, "=") : 60, entry,
                     n - 1, LIMIT_SPAWN_STRING - 1);
    }
}

bool session_env_fits(struct session *s, char *const *env)
{
    enum { OWN = 16 << 10 }; /* the shell's arguments, and what the kernel adds */
    size_t all = OWN, most = kernel_takes();
    for (; *env; env++)
        all += strlen(*env) + 1 + sizeof(*env);
    if (all <= most)
        return true;
    snprintf(s->env.lost, sizeof(s->env.lost),
             "the exported variables are lost: with them the environment has %zu bytes, "
             "and the kernel passes at most %zu",
             all, most);
    return false;
}

/* text: without the NUL at its end. */
static void keep_env(struct session *s, struct str text)
{
    struct buf parsed = BUF_INIT(ENV_MAX), key = BUF_INIT(128);
    int r = shell_parse_env(&parsed, text);
    s->env.lost[0] = 0;
    if (buf_full(&parsed)) {
        note_too_long(s);
    } else if (r == 0 && parsed.n > 0 &&
               !str_eq(buf_str(&parsed), buf_str(&s->env.vars))) {
        buf_reset(&s->env.vars);
        buf_adds(&s->env.vars, buf_str(&parsed));
        BUG_ON(buf_full(&s->env.vars)); /* of the same maximum */
        buf_addf(&key, "environ/%s", s->name);
        keeper_client_put(s->en->keeper, buf_str(&key), buf_str(&s->env.vars));
    }
    buf_release(&parsed);
    buf_release(&key);
}

/*
 * A NUL has come: env.text is a whole text if SHELL_ENV_BEGINS came before it, else the
 * rest of one that the previous worker had begun to read. Shells of earlier versions
 * write the text alone. Returns false if nothing more is expected.
 */
static bool on_env_nul(struct session *s)
{
    struct str text = buf_str(&s->env.text);
    bool begins = str_eq(text, STR(SHELL_ENV_BEGINS));
    if (buf_full(&s->env.text))
        note_too_long(s);
    else if (!begins && (s->env.begun || !s->env.asked))
        keep_env(s, text);
    bool more = begins || s->env.asked;
    s->env.begun = begins;
    buf_reset(&s->env.text);
    return more;
}

/*
 * Reads a part of what the shell writes; the FIFO may be closed after it. A text that is
 * too long is read to its end, too, because the shell blocks until then. Returns whether
 * there were bytes.
 */
static bool read_env(struct session *s)
{
    char bytes[4096];
    ssize_t n = read(s->env.io.fd, bytes, sizeof(bytes));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    struct str rest = str_n(bytes, n > 0 ? (size_t)n : 0);
    bool more = n > 0;
    while (more && rest.n > 0) {
        long nul = str_chr(rest, 0);
        size_t len = nul < 0 ? rest.n : (size_t)nul;
        buf_add(&s->env.text, rest.p, len);
        if (nul >= 0)
            more = on_env_nul(s);
        rest = str_sub(rest, len + 1, rest.n);
    }
    if (!more)
        session_env_done(s);
    return n > 0;
}

/* Reads until the FIFO is empty or the snapshot ends. */
static void read_all(struct session *s)
{
    enum { PARTS = 32 }; /* a FIFO has 64 KiB */
    for (int i = 0; i < PARTS && s->env.io.loop && read_env(s); i++)
        continue;
}

static void on_gathered(struct timer *t)
{
    struct session *s = container_of(t, struct session, env.gather);
    read_all(s);
    if (s->env.io.loop)
        io_set(&s->env.io, EPOLLIN);
}

/*
 * The shell makes one write for each variable. Reading after each of them would take the
 * processor from the shell some 40 times.
 */
static void on_env(struct io *io, uint32_t events)
{
    struct session *s = container_of(io, struct session, env.io);
    (void)events;
    io_set(io, 0);
    timer_begin(s->en->loop, &s->env.gather, ENV_GATHER_MS, on_gathered);
}

/*
 * Opens the FIFO to which the shell will write. A worker that takes over opens it at
 * once: the previous worker may have asked, and a shell that fills the FIFO blocks until
 * it is read.
 */
static int session_env_listen(struct session *s)
{
    char path[300];
    session_env_done(s);
    snprintf(path, sizeof(path), "%s/e", s->sh.dir);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    if (io_start(s->en->loop, &s->env.io, fd, EPOLLIN, on_env) < 0) {
        close(fd);
        return -1;
    }
    return 0;
}

/* The shell is gone: the rest of what it wrote is in the FIFO. */
static void read_rest(struct session *s)
{
    read_all(s);
    session_env_done(s);
}

/* Reads the regular file x into text. False: it does not exist, or is not whole. */
static bool read_left(struct session *s, struct buf *text)
{
    char path[300], bytes[4096];
    struct stat st;
    snprintf(path, sizeof(path), "%s/x", s->sh.dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool whole = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ssize_t n = 0;
    while (whole && (n = read(fd, bytes, sizeof(bytes))) > 0)
        whole = buf_add(text, bytes, (size_t)n) == 0;
    close(fd);
    return whole && n == 0 && text->n > 0 && text->p[text->n - 1] == 0;
}

bool session_take_left(struct session *s)
{
    struct buf text = BUF_INIT(SESSION_TEXT_MAX + 4 * ENV_MAX);
    bool taken = false;
    uint64_t seq;
    read_rest(s);
    if (!read_left(s, &text)) {
        if (buf_full(&text))
            note_too_long(s);
    } else {
        struct str rest = str_n(text.p, text.n - 1), number = str_cut(&rest, 0);
        struct str cwd = str_cut(&rest, 0);
        taken = str_to_u64(number, &seq) == 0 && seq == s->run.seq && cwd.n > 0 &&
                cwd.p[0] == '/' && cwd.n < SESSION_TEXT_MAX;
        if (taken) {
            session_set_cwd(s, cwd);
            keep_env(s, rest);
        }
    }
    buf_release(&text);
    return taken;
}

static void on_env_timer(struct timer *t)
{
    struct session *s = container_of(t, struct session, env.timer);
    if (s->state != SESSION_IDLE || session_switching(s))
        return; /* the mark that ends that sets the timer again */
    if (!list_empty(&s->tty.viewers) || !s->sh.pty) {
        session_save(s);
        return;
    }
    if (session_env_listen(s) == 0)
        session_say_quietly(s, session_edits(s) ? LINE_ENV_KEY : LINE_ENV);
}

void session_env_known(struct session *s) { s->env.asked = false; }

void session_env_resume(struct session *s, struct str vars)
{
    buf_adds(&s->env.vars, vars);
    s->env.asked = true;
    if (s->sh.pty && session_env_listen(s) < 0)
        log_debug("session %s: cannot read its environment", s->name);
}

void session_env_later(struct session *s)
{
    timer_begin(s->en->loop, &s->env.timer, ENV_AFTER_MS, on_env_timer);
}
