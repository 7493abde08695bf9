/* SPDX-License-Identifier: MIT */
/*
 * A session's terminal: what it is set to, and people who are attached to it.
 *
 * While commands run for programs it echoes nothing and translates nothing, so
 * the spool holds what was written. While somebody is attached it behaves as
 * people expect. A shell at its prompt is never set from outside: readline would
 * put back what it found; it is told to, and asks (mark A).
 */
#include "shell/session_own.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
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
 * Echo for people, while something runs. What an agent runs is never translated:
 * its bytes are what it gets.
 */
void session_set_echo(struct session *s)
{
    struct termios t;
    /* Not before it runs: what we typed is on its way, and is not to be seen. */
    if (s->state != SESSION_RUNNING && s->state != SESSION_HUMAN)
        return;
    if (s->proc.in < 0 || tcgetattr(s->proc.in, &t) < 0)
        return;
    bool on = s->attached_mode;
    if (s->state == SESSION_HUMAN)
        t.c_oflag = on ? t.c_oflag | OPOST | ONLCR : t.c_oflag & ~(tcflag_t)OPOST;
    if ((t.c_lflag & ICANON) || !on)
        t.c_lflag = on ? t.c_lflag | ECHO : t.c_lflag & ~(tcflag_t)ECHO;
    tcsetattr(s->proc.in, TCSANOW, &t);
}

/* The termios that the next command finds: a killed editor leaves chaos. */
void session_restore_tty(struct session *s)
{
    struct termios t;
    if (!s->sh.pty || s->proc.in < 0 || tcgetattr(s->proc.in, &t) < 0)
        return;
    bool on = s->attached_mode && s->prompt_on;
    if (!(t.c_lflag & ICANON) || !(t.c_lflag & ISIG) || !(t.c_lflag & ECHO) == on ||
        !(t.c_oflag & OPOST) == on) {
        t = session_termios(on);
        tcsetattr(s->proc.in, TCSANOW, &t);
    }
}

bool session_echoes(const struct session *s)
{
    struct termios t;
    return s->sh.pty && s->proc.in >= 0 && tcgetattr(s->proc.in, &t) == 0 &&
           (t.c_lflag & ECHO);
}

bool session_hides(const struct session *s)
{
    struct termios t;
    const tcflag_t ours = ECHOK | ISIG;
    return s->sh.pty && s->proc.in >= 0 && tcgetattr(s->proc.in, &t) == 0 &&
           (t.c_lflag & ICANON) && !(t.c_lflag & ECHO) && (t.c_lflag & ours) != ours;
}

void session_name_tty(struct session *s, int master)
{
    struct stat st;
    int n;
    s->sh.tty[0] = 0;
    if ((stat("/dev/tty", &st) < 0 || !S_ISCHR(st.st_mode)) &&
        ioctl(master, TIOCGPTN, &n) == 0)
        snprintf(s->sh.tty, sizeof(s->sh.tty), "/dev/pts/%d", n);
}

/* Types the line that makes the prompt come or go; mark A is the answer. */
static void say_switch(struct session *s)
{
    struct buf line = BUF_INIT(1024);
    if (!s->prompt_on)
        shell_line(&line, &s->sh, LINE_CLEAR, 0);
    session_add_line(s, &line, s->prompt_on ? LINE_ATTACH : LINE_DETACH);
    session_store(s, buf_str(&line));
    buf_release(&line);
}

/*
 * Nobody read the line: it is a part of something that was begun and not ended,
 * a quote or a here-document. That is abandoned; what runs is not disturbed.
 */
static void on_switch_timer(struct timer *t)
{
    struct session *s = container_of(t, struct session, switch_timer);
    if (s->state != SESSION_IDLE || !s->switching)
        return;
    if (++s->switches > SWITCHES_MAX) {
        session_switched(s);
        session_next(s);
        return;
    }
    hold_write(&s->proc, STR("\003"), STR(""), STR(""));
    say_switch(s);
    timer_begin(s->en->loop, t, SWITCH_MS, on_switch_timer);
}

void session_switch_again(struct session *s)
{
    timer_begin(s->en->loop, &s->switch_timer, SWITCH_MS, on_switch_timer);
}

void session_switched(struct session *s)
{
    timer_stop(&s->switch_timer);
    s->switching = false;
    s->switches = 0;
}

/*
 * A prompt for people while somebody is attached and no agent's command waits;
 * changed when the shell is idle.
 */
void session_sync_prompt(struct session *s)
{
    bool want = s->attached_mode && list_empty(&s->queue);
    if (s->state != SESSION_IDLE || s->switching || s->prompt_on == want)
        return;
    s->prompt_on = want;
    s->switching = true;
    s->switch_at = s->scanned;
    say_switch(s);
    session_switch_again(s);
}

bool session_held(const struct session *s)
{
    return s->sh.kind == SHELL_POSIX && s->sh.pty && !s->prompt_on;
}

void session_hold(struct session *s)
{
    if (session_held(s))
        session_say(s, LINE_HOLD);
}

/* ---- attach ---- */

void session_attach_mode(struct session *s, bool on)
{
    s->attached_mode = on && s->sh.pty;
    session_set_echo(s);
    session_sync_prompt(s);
}

void session_attach(struct session *s, struct op *viewer)
{
    viewer->session = s;
    viewer->stream = viewer->filter = viewer->skip_noise = true;
    list_add_tail(&s->viewers, &viewer->node);
    engine_touch(s->en);
    timer_stop(&s->env_timer);
    if (s->state == SESSION_NONE) {
        session_start(s);
        if (viewer->done || viewer->settled)
            return;
    }
    viewer->cursor = s->scanned;
    if (s->state != SESSION_STARTING)
        session_attach_mode(s, true);
}

void session_detach(struct session *s, struct op *viewer)
{
    op_drop(viewer);
    if (list_empty(&s->viewers)) {
        session_attach_mode(s, false);
        session_env_later(s);
    }
}

bool session_type(struct session *s, struct str bytes)
{
    if (bytes.n > hold_room(&s->proc) || !s->proc.hold)
        return false;
    session_feed(s, bytes);
    engine_touch(s->en);
    return true;
}
