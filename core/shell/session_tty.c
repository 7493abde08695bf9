/* SPDX-License-Identifier: MIT */
/*
 * A session's terminal: what it is set to, and people who are attached to it.
 *
 * While commands run for callers it echoes nothing and translates nothing, so the
 * spool holds what was written. While a person is attached it behaves as people
 * expect. At a prompt the terminal is never changed from outside, as readline would
 * restore it: the shell gets a line, and asks for the change by mark A.
 */
#include "shell/session_own.h"

#include "base/log.h"
#include "os/pty.h"
#include "shell/spool.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

struct termios session_termios(bool attached)
{
    struct termios t = {
        .c_iflag = ICRNL | IXON | IUTF8 | BRKINT,
        .c_oflag = attached ? OPOST | ONLCR : ONLCR,
        .c_cflag = CS8 | CREAD | B38400,
        .c_lflag = ISIG | ICANON | IEXTEN | ECHOE | ECHOK | ECHOCTL | ECHOKE,
    };
    if (attached)
        t.c_lflag |= ECHO;
    static const cc_t cc[][2] = {{VINTR, 3},     {VQUIT, 28},   {VERASE, 127},
                                 {VKILL, 21},    {VEOF, 4},     {VSTART, 17},
                                 {VSTOP, 19},    {VSUSP, 26},   {VREPRINT, 18},
                                 {VDISCARD, 15}, {VWERASE, 23}, {VLNEXT, 22},
                                 {VMIN, 1}};
    for (size_t i = 0; i < sizeof(cc) / sizeof(cc[0]); i++)
        t.c_cc[cc[i][0]] = cc[i][1];
    cfsetispeed(&t, B38400);
    cfsetospeed(&t, B38400);
    return t;
}

/*
 * Echo for people, while a command runs. Output of an agent's command is never
 * translated: the agent gets the bytes as they were written.
 */
void session_set_echo(struct session *s)
{
    struct termios t;
    /* Only when it runs: before, the echo would show the line that we typed. */
    if (s->state != SESSION_RUNNING && s->state != SESSION_HUMAN)
        return;
    if (s->proc.in < 0 || tcgetattr(s->proc.in, &t) < 0)
        return;
    bool on = s->tty.attached;
    if (s->state == SESSION_HUMAN)
        t.c_oflag = on ? t.c_oflag | OPOST | ONLCR : t.c_oflag & ~(tcflag_t)OPOST;
    if ((t.c_lflag & ICANON) || !on)
        t.c_lflag = on ? t.c_lflag | ECHO : t.c_lflag & ~(tcflag_t)ECHO;
    tcsetattr(s->proc.in, TCSANOW, &t);
}

/* Sets the termios for the next command: a killed editor leaves it changed. */
void session_restore_tty(struct session *s)
{
    struct termios t;
    if (!s->sh.pty || s->proc.in < 0 || tcgetattr(s->proc.in, &t) < 0)
        return;
    bool on = s->tty.attached && session_prompts(s);
    if (!(t.c_lflag & ICANON) || !(t.c_lflag & ISIG) || !(t.c_lflag & ECHO) == on ||
        !(t.c_oflag & OPOST) == on) {
        t = session_termios(on);
        tcsetattr(s->proc.in, TCSANOW, &t);
    }
}

int session_resize(struct session *s, int rows, int cols, struct err *e)
{
    if (rows < 1 || cols < 1 || rows > PTY_SIDE_MAX || cols > PTY_SIDE_MAX)
        return err_set(e, ERR_INVALID, "a terminal has 1 to %d rows and columns",
                       PTY_SIDE_MAX);
    s->tty.rows = rows;
    s->tty.cols = cols;
    if (s->proc.in >= 0)
        pty_resize(s->proc.in, rows, cols);
    times_size(&s->times, rows, cols);
    session_notify(&s->tty.watchers, NOTE_STATE, NULL);
    return 0;
}

bool session_echoes(const struct session *s)
{
    struct termios t;
    return s->sh.pty && s->proc.in >= 0 && tcgetattr(s->proc.in, &t) == 0 &&
           (t.c_lflag & ECHO);
}

/* Does the last line of output, which has no end, ask for a password? */
static bool asks_password(const struct session *s)
{
    static const char *const words[] = {"asswor", "assphrase", "ASSWOR", "PIN:"};
    char bytes[400];
    uint64_t end = s->scan.at, at = end > sizeof(bytes) ? end - sizeof(bytes) : 0;
    if (s->state != SESSION_RUNNING && s->state != SESSION_HUMAN)
        return false;
    at = at > s->cmd.from ? at : s->cmd.from;
    size_t n = at < end ? spool_read(s->proc.spool[0], session_out(s), &at, bytes,
                                     (size_t)(end - at))
                        : 0;
    const char *nl = memrchr(bytes, '\n', n);
    struct str line = str_n(bytes, n);
    line = nl ? str_sub(line, (size_t)(nl - bytes) + 1, n) : line;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (str_find(line, str_of(words[i])) >= 0)
            return true;
    }
    return false;
}

bool session_hides(const struct session *s)
{
    struct termios t;
    const tcflag_t ours = ECHOK | ISIG;
    return s->sh.pty && s->proc.in >= 0 && tcgetattr(s->proc.in, &t) == 0 &&
           (t.c_lflag & ICANON) && !(t.c_lflag & ECHO) &&
           ((t.c_lflag & ours) != ours || asks_password(s));
}

/* Types LINE_ATTACH or LINE_DETACH; the answer is mark A. */
static void say_switch(struct session *s)
{
    struct buf line = BUF_INIT(1024);
    if (!session_prompts(s))
        shell_line(&line, &s->sh, LINE_CLEAR, 0);
    session_add_line(s, &line, session_prompts(s) ? LINE_ATTACH : LINE_DETACH);
    session_store(s, buf_str(&line));
    buf_release(&line);
}

/*
 * The shell did not run the line: it became a part of an open quote or here-document.
 * Abandons that text; a running program is not disturbed.
 */
static void on_switch_timer(struct timer *t)
{
    struct session *s = container_of(t, struct session, tty.timer);
    if (s->state != SESSION_IDLE || !session_switching(s))
        return;
    if (s->tty.overtaken)
        session_read_records(s);
    bool last = ++s->tty.switches > SWITCHES_MAX;
    if (s->tty.dropped || (last && s->tty.overtaken)) {
        session_answer_switch(s, s->tty.overtaken);
        return;
    }
    if (last) {
        session_switched(s);
        session_tell_keys(s);
        session_next(s);
        return;
    }
    s->tty.overtaken = 0;
    keeper_client_write(&s->proc, STR("\003"), STR(""), STR(""));
    say_switch(s);
    session_switch_again(s);
}

/* Each wait is twice as long as the one before, so that a slow shell can finish. */
void session_switch_again(struct session *s)
{
    timer_begin(s->en->loop, &s->tty.timer, SWITCH_MS << s->tty.switches,
                on_switch_timer);
}

bool session_prompts(const struct session *s)
{
    return s->tty.prompt == PROMPT_COMING || s->tty.prompt == PROMPT_ON;
}

bool session_switching(const struct session *s)
{
    return s->tty.prompt == PROMPT_COMING || s->tty.prompt == PROMPT_GOING;
}

void session_switched(struct session *s)
{
    timer_stop(&s->tty.timer);
    s->tty.prompt = session_prompts(s) ? PROMPT_ON : PROMPT_OFF;
    s->tty.switches = 0;
    s->tty.overtaken = 0;
    s->tty.dropped = false;
}

bool session_switch_overtaken(struct session *s, unsigned asked, uint64_t at)
{
    if (asked >= s->tty.switches)
        return false;
    s->tty.overtaken = at;
    if (s->state == SESSION_HUMAN) /* it was our own line that was read */
        session_to(s, SESSION_IDLE);
    session_switch_again(s);
    return true;
}

void session_switch_dropped(struct session *s) { s->tty.dropped = s->tty.overtaken; }

void session_tell_keys(struct session *s)
{
    session_notify(&s->tty.viewers, NOTE_KEYS, NULL);
}

void session_no_prompt(struct session *s)
{
    s->tty.prompt = PROMPT_OFF;
    session_switched(s);
    session_tell_keys(s);
}

void session_tty_gone(struct session *s)
{
    s->tty.attached = false;
    s->tty.echo_at = 0;
    session_no_prompt(s);
}

/*
 * Switches the prompt, when the shell is idle: on while a person is attached and no
 * agent's command waits.
 */
void session_sync_prompt(struct session *s)
{
    bool want = s->tty.attached && list_empty(&s->run.queue);
    if (s->state != SESSION_IDLE || session_switching(s) || session_prompts(s) == want)
        return;
    s->tty.prompt = want ? PROMPT_COMING : PROMPT_GOING;
    s->tty.switch_at = s->scan.at;
    say_switch(s);
    session_switch_again(s);
}

void session_hold(struct session *s)
{
    if (s->sh.kind == SHELL_POSIX && session_held(s))
        session_say(s, LINE_HOLD);
}

/* ---- attach ---- */

void session_echo_from(struct session *s, uint64_t at)
{
    s->tty.echo_at = session_prompts(s) ? at : 0;
}

void session_look_for_echo(struct session *s)
{
    char bytes[4096];
    uint64_t at = s->tty.echo_at;
    if (at == 0)
        return;
    size_t n = spool_read(s->proc.spool[0], session_out(s), &at, bytes, sizeof(bytes));
    size_t where, len = 0;
    if (s->scan.at - s->tty.echo_at < n)
        n = (size_t)(s->scan.at - s->tty.echo_at);
    if (at != s->tty.echo_at || n == sizeof(bytes) ||
        (shell_echo(&s->sh, str_n(bytes, n), &where, &len) && len > 0))
        s->tty.echo_at = 0;
}

void session_add_bare(struct session *s, uint64_t from, uint64_t to)
{
    if (!list_empty(&s->tty.viewers) && to > from)
        s->tty.bare[s->tty.bares_next++ % BARES] = (struct skip){from, to};
}

void session_attach_mode(struct session *s, bool on)
{
    s->tty.attached = on && s->sh.pty;
    session_set_echo(s);
    session_sync_prompt(s);
}

void session_attach(struct session *s, struct op *viewer)
{
    ASSERT(viewer->kind == OP_VIEW && !viewer->session && !viewer->process);
    viewer->session = s;
    viewer->stream = viewer->filter = viewer->skip_noise = true;
    list_add_tail(&s->tty.viewers, &viewer->node);
    engine_touch(s->en);
    timer_stop(&s->env.timer);
    if (s->state == SESSION_NONE) {
        session_start(s);
        if (viewer->done || viewer->settled)
            return;
    }
    viewer->cursor = s->scan.at;
    if (s->state != SESSION_STARTING)
        session_attach_mode(s, true);
}

void session_observe(struct session *s, struct op *watcher)
{
    ASSERT(watcher->kind == OP_VIEW && !watcher->session && !watcher->process);
    watcher->session = s;
    watcher->stream = watcher->filter = watcher->skip_noise = true;
    list_add_tail(&s->tty.watchers, &watcher->node);
    task_defer(s->en->loop, &watcher->pump);
}

void session_size(const struct session *s, int *rows, int *cols)
{
    *rows = s->tty.rows;
    *cols = s->tty.cols;
}

void session_detach(struct session *s, struct op *viewer)
{
    op_drop(viewer);
    if (list_empty(&s->tty.viewers)) {
        session_attach_mode(s, false);
        session_env_later(s);
    }
}

bool session_type(struct session *s, struct str bytes)
{
    /* The shell would lose them, or take them for a part of our line. */
    if (session_switching(s))
        return false;
    if (bytes.n > keeper_client_room(&s->proc) || !s->proc.keeper)
        return false;
    session_feed(s, bytes);
    engine_touch(s->en);
    return true;
}
