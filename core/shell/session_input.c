/* SPDX-License-Identifier: MIT */
/*
 * Input for what runs in a session: text, keys, end of file, signals; and the
 * standard input of a command that was given one.
 */
#include "shell/session_own.h"

#include "base/clock.h"
#include "os/procfs.h"
#include "os/pty.h"
#include "shell/spool.h"
#include "term/termkey.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

/* Bytes handed to the keeper at once. Input with an id fits into one step. */
enum { INPUT_STEP = 64 << 10 };

static int want_running(struct session *s, struct err *e)
{
    if ((!session_busy(s) || session_sets_up(s)) && !session_comes_next(s) &&
        list_empty(&s->tty.viewers))
        return err_set(e, ERR_NOTFOUND,
                       "nothing runs in session %s, so nothing would "
                       "read the input",
                       s->name);
    if (!s->sh.pty)
        return err_set(e, ERR_UNSUPPORTED,
                       "session %s has no terminal (%s); give the "
                       "command its input through a pipe",
                       s->name, s->start.pty_error);
    return 0;
}

/* The longest line of text must fit a canonical reader's buffer. */
static int check_lines(struct session *s, struct str bytes, struct err *e)
{
    struct termios t;
    if (tcgetattr(s->proc.in, &t) < 0 || !(t.c_lflag & ICANON))
        return 0;
    size_t line = s->input.partial;
    for (size_t i = 0; i < bytes.n; i++) {
        line = bytes.p[i] == '\n' || bytes.p[i] == '\r' ? 0 : line + 1;
        if (line > CANON_MAX)
            return err_set(
                e, ERR_LIMIT,
                "a line of input is longer than %d bytes, and the "
                "program reads whole lines: the terminal would cut it silently; "
                "use a pipe or a file",
                CANON_MAX);
    }
    s->input.partial = line;
    return 0;
}

/* Stores that somebody typed to the command: at its end unread input is looked for. */
void session_feed(struct session *s, struct str bytes)
{
    bool store = s->input.named || (session_busy(s) && !s->cmd.fed);
    if (session_busy(s))
        session_command_fed(s);
    s->input.named = false;
    while (bytes.n > 0) {
        size_t n = bytes.n < INPUT_STEP ? bytes.n : INPUT_STEP;
        if (store)
            session_store(s, str_n(bytes.p, n));
        else
            keeper_client_write(&s->proc, str_n(bytes.p, n), STR(""), STR(""));
        store = false;
        bytes = str_sub(bytes, n, bytes.n);
    }
}

/*
 * Keeps input for the command `id`, which has not begun: if it were typed now, the shell
 * or its setup code would read it. The keeper has it from here on.
 */
static int keep_early(struct session *s, const char *id, struct str bytes, struct err *e)
{
    if (strcmp(s->input.early_for, id) != 0)
        buf_reset(&s->input.early);
    session_copy(s->input.early_for, sizeof(s->input.early_for), str_of(id));
    if (bytes.n > buf_room(&s->input.early) || buf_adds(&s->input.early, bytes) < 0)
        return err_set(e, ERR_LIMIT, "too much input for a command that has not begun");
    s->input.named = false;
    session_save(s);
    return 0;
}

static int send_input(struct session *s, struct str bytes, struct err *e)
{
    const struct op *next = session_comes_next(s);
    if (bytes.n > keeper_client_room(&s->proc))
        return err_set(
            e, ERR_LIMIT, "%zu bytes of input are waiting to be read already",
            (size_t)(s->proc.sent - s->proc.r.input + s->proc.r.input_pending));
    engine_touch(s->en);
    if (next || s->state == SESSION_TYPED)
        return keep_early(s, next ? next->id : s->cmd.id, bytes, e);
    session_feed(s, bytes);
    if (session_busy(s))
        session_look_fed(s);
    return 0;
}

void session_input_as(struct session *s, const char *id)
{
    session_copy(s->input.ids[s->input.ids_next++ % INPUTS_KEPT], sizeof(s->input.ids[0]),
                 str_of(id));
    s->input.named = true;
}

const char *session_input_call(const struct session *s, struct str prefix)
{
    for (unsigned i = 1; i <= INPUTS_KEPT; i++) {
        const char *id = s->input.ids[(s->input.ids_next - i) % INPUTS_KEPT];
        if (id[0] && str_starts(str_of(id), prefix))
            return id;
    }
    return NULL;
}

int session_input(struct session *s, struct str bytes, struct err *e)
{
    if (want_running(s, e) < 0 || check_lines(s, bytes, e) < 0)
        return -1;
    return send_input(s, bytes, e);
}

void session_input_begins(struct session *s)
{
    s->input.partial = 0;
    if (!session_sets_up(s) && strcmp(s->input.early_for, s->cmd.id) != 0)
        s->input.interrupt = false;
    timer_stop(&s->input.interrupts);
}

void session_input_ends(struct session *s)
{
    if (!session_sets_up(s))
        s->input.interrupt = false;
    session_forget_feed(s);
}

void session_feed_early(struct session *s)
{
    if (session_sets_up(s))
        return;
    struct buf early = s->input.early;
    buf_init(&s->input.early, EARLY_MAX); /* it is typed and forgotten in one step */
    if (early.n > 0 && strcmp(s->input.early_for, s->cmd.id) == 0) {
        session_command_fed(s);
        session_store(s, buf_str(&early));
    }
    buf_release(&early);
    if (s->input.feeding == FEED_EOF)
        keeper_client_close_input(&s->input.feed);
}

/* The signal that a key is, where the terminal itself sends none; 0: not such a key. */
static int key_signal(const struct session *s, char c)
{
    struct termios t;
    if (pty_has_groups(s->proc.in) || tcgetattr(s->proc.in, &t) < 0 ||
        !(t.c_lflag & ISIG))
        return 0;
    return c == (char)t.c_cc[VINTR]   ? SIGINT
           : c == (char)t.c_cc[VQUIT] ? SIGQUIT
           : c == (char)t.c_cc[VSUSP] ? SIGTSTP
                                      : 0;
}

/* C-d within a line passes on what there is of it; at its begin it is the end. */
static int check_end(const struct session *s, struct err *e)
{
    return s->input.partial > 0 ? 0 : pty_can_end(s->proc.in, e);
}

enum { LOOK_BACK = 4 << 20 };

/* Did the program switch the cursor keys (DECCKM)? Its last such sequence decides. */
static bool application_keys(struct session *s)
{
    char bytes[16 << 10];
    const struct keep_stream *o = session_out(s);
    uint64_t end = o->offset, oldest = end > LOOK_BACK ? end - LOOK_BACK : 0;
    if (oldest < s->cmd.from)
        oldest = s->cmd.from;
    /* Backwards, piece by piece; pieces overlap by four bytes, as sequences may span. */
    while (end > oldest + 4) {
        uint64_t from = end - oldest > sizeof(bytes) ? end - sizeof(bytes) : oldest;
        uint64_t at = from;
        size_t n = spool_read(s->proc.spool[0], o, &at, bytes, (size_t)(end - from));
        for (size_t i = n; i >= 5; i--) {
            const char *p = bytes + i - 5;
            if (memcmp(p, "\033[?1", 4) == 0 && (p[4] == 'h' || p[4] == 'l'))
                return p[4] == 'h';
        }
        end = from > oldest ? from + 4 : oldest;
    }
    return false;
}

int session_key(struct session *s, struct str key, struct err *e)
{
    char bytes[TERMKEY_MAX];
    if (want_running(s, e) < 0)
        return -1;
    size_t n = termkey(bytes, key, false);
    int sig = n == 1 && session_busy(s) ? key_signal(s, bytes[0]) : 0;
    if (sig)
        return session_signal(s, sig, 0, e);
    if (n >= 3 && bytes[1] == '[')
        n = termkey(bytes, key, application_keys(s));
    if (n == 0)
        return err_set(e, ERR_INVALID,
                       "there is no key %.*s; keys are C-x, M-x, Up, Down, Left, "
                       "Right, Home, End, PageUp, PageDown, Enter, Tab, BTab, Escape, "
                       "Space, Backspace, Insert, Delete, F1 to F12, with C-, M- and S-",
                       STR_ARG(key));
    /* A line ends, or is dropped. */
    if (n == 1 && bytes[0] == 4 && check_end(s, e) < 0)
        return -1;
    if (n == 1 && memchr("\003\004\r\n\025", bytes[0], 5))
        s->input.partial = 0;
    return send_input(s, str_n(bytes, n), e);
}

int session_press(struct session *s, struct str key, struct err *e)
{
    int r = session_key(s, key, e);
    if (r == 0 || e->code != ERR_INVALID)
        return r;
    *e = (struct err)ERR_INIT;
    return session_input(s, key, e);
}

int session_eof(struct session *s, struct err *e)
{
    struct termios t;
    if (want_running(s, e) < 0)
        return -1;
    char c = 4;
    if (check_end(s, e) < 0)
        return -1;
    s->input.partial = 0;
    if (tcgetattr(s->proc.in, &t) == 0 && t.c_cc[VEOF])
        c = (char)t.c_cc[VEOF];
    return send_input(s, str_n(&c, 1), e);
}

/* ---- standard input of a command ---- */

void session_feed_changed(struct proc *p)
{
    struct session *s = container_of(p, struct session, input.feed);
    struct list *it, *tmp;
    list_each (it, tmp, &s->run.waiters) {
        struct op *op = list_entry(it, struct op, node);
        if (op->with_stdin)
            op_note(op, NOTE_WINDOW, NULL, s->input.feed.r.input, 0);
    }
}

int session_open_feed(struct session *s, struct err *e)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/i", s->sh.dir);
    if (session_make_fifo(s, "i") < 0)
        return err_sys(e, errno, "cannot make %s for the command's input", path);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(e, errno, "cannot open %s", path);
    s->input.feed.changed = session_feed_changed;
    keeper_client_input_only(s->en->keeper, &s->input.feed, fd);
    s->input.feed.uid = s->uid;
    s->input.feeding = FEED_OPEN;
    return 0;
}

void session_resume_feed(struct session *s, uint64_t id, bool eof)
{
    if (id == 0 || keeper_client_claim(s->en->keeper, &s->input.feed, id) < 0)
        return;
    s->input.feeding = eof ? FEED_EOF : FEED_OPEN;
    s->input.feed.changed = session_feed_changed;
}

void session_forget_feed(struct session *s)
{
    if (s->input.feeding)
        keeper_client_forget(&s->input.feed);
    s->input.feeding = FEED_NONE;
}

size_t session_stdin_room(struct session *s, const char *id, uint64_t *accepted)
{
    if (!s->input.feeding || strcmp(id, s->cmd.id) != 0)
        return 0;
    *accepted = s->input.feed.sent;
    return keeper_client_room(&s->input.feed);
}

void session_stdin(struct session *s, uint64_t offset, struct str bytes, bool eof)
{
    if (!s->input.feeding)
        return;
    if (offset < s->input.feed.sent)
        bytes = str_sub(bytes, (size_t)(s->input.feed.sent - offset), bytes.n);
    while (bytes.n > 0) {
        size_t n = bytes.n < 64 << 10 ? bytes.n : 64 << 10;
        keeper_client_write(&s->input.feed, str_n(bytes.p, n), STR(""), STR(""));
        bytes = str_sub(bytes, n, bytes.n);
    }
    if (eof && s->input.feeding != FEED_EOF) {
        s->input.feeding = FEED_EOF;
        /* Only after the command has opened it, else the command would see no end. */
        if (s->cmd.started)
            keeper_client_close_input(&s->input.feed);
        session_save(s);
    }
}

/* ---- signals ---- */

/*
 * Of the jobs that the shell started since then, the group of the newest; 0: none. It is
 * the one in front, unless all of them were put into the background.
 */
static pid_t newest_job(pid_t shell, uint64_t since)
{
    enum { JOBS_MAX = 1 << 16 };
    struct procfs_list l = {0};
    pid_t group = 0;
    procfs_below(&l, shell, JOBS_MAX);
    for (size_t i = 0; i < l.n; i++) {
        const struct procfs_stat *p = &l.v[i];
        if (p->ppid == shell && p->pgrp != shell && p->start >= since &&
            p->state != 'T' && !procfs_dead(p)) {
            since = p->start;
            group = p->pgrp;
        }
    }
    procfs_release(&l);
    return group;
}

pid_t session_in_front(const struct session *s)
{
    pid_t group = 0;
    if (s->sh.pty && s->proc.in >= 0 && ioctl(s->proc.in, TIOCGPGRP, &group) == 0 &&
        group > 0)
        return group;
    group = 0;
    if (s->sh.pty && session_busy(s) && !pty_has_groups(s->proc.in))
        group = newest_job(s->proc.r.pid, procfs_ticks(clock_ms() - s->cmd.since_ms + 1));
    return group ? group : s->proc.r.pid;
}

void session_signal_group(struct session *s, pid_t group, int sig)
{
    if (kill(-group, sig) == 0 || errno != EPERM)
        return;
    struct reaper_request q = {.verb = REAPER_SIGNAL_GROUP, .pid = group, .sig = sig};
    keeper_client_ask(s->en->keeper, s->uid, s->gid, &q, NULL, NULL);
}

static void on_interrupt(struct timer *t);

static void look_later(struct session *s)
{
    timer_begin(s->en->loop, &s->input.interrupts,
                INTERRUPT_MS << s->input.sigint.looks, on_interrupt);
}

void session_interrupts(struct session *s, pid_t group)
{
    s->input.sigint.seq = s->cmd.seq;
    s->input.sigint.group = group;
    s->input.sigint.early = procfs_same_file(group, s->proc.r.pid);
    s->input.sigint.looks = 0;
    look_later(s);
}

static void interrupt(struct session *s)
{
    pid_t group = session_in_front(s);
    session_interrupts(s, group);
    session_signal_group(s, group, SIGINT);
}

/*
 * A shell ignores a SIGINT that it gets between two programs of a command, and a child
 * that it forked loses one that comes before its program starts. Then the next one is
 * sent. A program gets one, even if it takes back its handler then.
 */
static void look_after_interrupt(struct session *s)
{
    pid_t shell = s->proc.r.pid, was = s->input.sigint.group, now = session_in_front(s);
    unsigned looks = ++s->input.sigint.looks;
    if (s->input.sigint.seq != s->cmd.seq ||
        looks >= (now == shell ? INTERRUPT_LOOKS : INTERRUPT_LOOKS_CHILD))
        return;
    bool same = procfs_same_file(now, shell), next = now != shell && was == shell;
    if (now != shell && was == now && s->input.sigint.early) {
        enum procfs_fate fate = procfs_fate(now, SIGINT);
        next = fate != FATE_PENDING && (fate == FATE_LOST || !same);
        same = same || fate == FATE_PENDING;
    }
    if (next) {
        s->input.sigint.early = same;
        s->input.sigint.group = now;
        session_signal_group(s, now, SIGINT);
    }
    if (same && (next || now == was))
        look_later(s); /* it is not in its program yet */
}

static void on_interrupt(struct timer *t)
{
    struct session *s = container_of(t, struct session, input.interrupts);
    bool runs = s->state == SESSION_RUNNING && !s->cmd.ended;
    if (runs && s->input.interrupt)
        interrupt(s);
    else if (runs)
        look_after_interrupt(s);
    s->input.interrupt = false;
}

/* Right after its start mark a shell starts a program: see above. */
void session_interrupt_early(struct session *s)
{
    bool there = (s->proc.r.flags & KEEP_P_STARTED) != 0; /* else its pid is not known */
    if (s->input.interrupt && there && s->state == SESSION_RUNNING &&
        !session_sets_up(s) && !timer_active(&s->input.interrupts))
        timer_begin(s->en->loop, &s->input.interrupts, INTERRUPT_MS, on_interrupt);
}

int session_signal_waits(struct session *s, int sig, struct err *e)
{
    const struct op *next = session_comes_next(s);
    bool early = next || s->gone.rerun || s->state == SESSION_TYPED;
    if (!session_busy(s) && !early)
        return err_set(e, ERR_NOTFOUND, "nothing runs in session %s", s->name);
    engine_touch(s->en);
    if (!early && s->proc.r.flags & KEEP_P_STARTED)
        return 0;
    if (sig != SIGINT)
        return err_set(e, ERR_BUSY,
                       "signal %d (%s): the command has not begun, as the shell of session "
                       "%s is starting or has other work; try again, or send INT, which "
                       "waits for the command",
                       sig, strsignal(sig), s->name);
    s->input.interrupt = true;
    return keep_early(s, next ? next->id : s->cmd.id, STR(""), e) < 0 ? -1 : 1;
}

int session_signal(struct session *s, int sig, uint64_t seq, struct err *e)
{
    if (seq && (seq != s->cmd.seq || s->cmd.ended))
        return err_set(e, ERR_NOTFOUND, "command %llu of session %s has ended",
                       (unsigned long long)seq, s->name);
    int waits = session_signal_waits(s, sig, e);
    if (waits)
        return waits < 0 ? -1 : 0;
    pid_t group = session_in_front(s);
    if (group == s->proc.r.pid && procfs_ignores(group, sig) > 0)
        return err_set(e, ERR_BUSY,
                       "signal %d (%s): the shell of session %s is in the foreground "
                       "itself and ignores it; INT interrupts what it does, or end the "
                       "command",
                       sig, strsignal(sig), s->name);
    if (sig != SIGINT || s->state != SESSION_RUNNING) {
        session_signal_group(s, group, sig);
        return 0;
    }
    interrupt(s);
    return 0;
}
