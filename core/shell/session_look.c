/* SPDX-License-Identifier: MIT */
/*
 * Does the running command wait for input? Has the shell come back to its prompt without
 * a mark? The reaper is asked while a caller waits and the output is quiet.
 */
#include "shell/session_own.h"

#include "base/clock.h"
#include "base/log.h"
#include "shell/spool.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <termios.h>

static void on_look_timer(struct timer *t);

void session_look_later(struct session *s, int64_t ms)
{
    if (session_busy(s))
        timer_begin(s->en->loop, &s->look.timer, ms, on_look_timer);
}

void session_look_soon(struct session *s)
{
    int64_t rest = s->look.asked_ms + LOOK_BUSY_MS - clock_ms();
    session_look_later(s, rest > LOOK_FIRST_MS ? LOOK_FIRST_MS : rest > 1 ? rest : 1);
}

bool session_looked(const struct session *s, struct look *out)
{
    *out = s->look.last;
    return s->look.known && session_busy(s);
}

int64_t session_quiet_ms(const struct session *s)
{
    return session_busy(s) ? clock_ms() - s->look.quiet_since_ms : 0;
}

static bool shows_screen(const struct session *s)
{
    enum { LOOK_BACK = 1 << 20 };
    struct session_view v;
    uint64_t where;
    session_view(s, &v);
    uint64_t oldest = v.command > LOOK_BACK ? v.command - LOOK_BACK : 0;
    return v.stream && spool_screen(v.fd, v.stream, oldest, v.command, &where) == 'h';
}

static void tell_waiting(struct session *s)
{
    const char *option = shows_screen(s) ? "--key KEYS" : "--input TEXT";
    session_notify(&s->tty.watchers, NOTE_STATE, NULL);
    const struct look *l = &s->look.last;
    bool sure = l->state == LOOK_YES;
    struct list *it, *tmp;
    list_each (it, tmp, &s->run.waiters) {
        struct op *op = list_entry(it, struct op, node);
        if (op->settled || op->told_input)
            continue;
        op->told_input = true;
        char text[512];
        snprintf(text, sizeof(text),
                 "%s (pid %d) %s for input: %s; answer with %s -s %s %s",
                 l->comm[0] ? l->comm : "the command", (int)l->pid,
                 sure ? "waits" : "probably waits", l->how, op_command(op), s->name,
                 option);
        op_note(op, sure ? NOTE_WAITING : NOTE_PROBABLY_WAITING, text, 0, 0);
        if (op->return_on_input)
            session_stop_waiting(s, op, OP_INPUT);
    }
    list_each (it, tmp, &s->run.queue) {
        struct op *op = list_entry(it, struct op, node);
        if (op->fail_on_input)
            session_stop_waiting(s, op, OP_INPUT);
    }
}

/* Its caller holds a pipe open as the command's standard input, and gives nothing. */
static void tell_feed(struct session *s)
{
    const struct look *l = &s->look.last;
    char text[320];
    snprintf(text, sizeof(text),
             "%s (pid %d) waits for standard input, which is the open pipe of this call, "
             "and nothing comes from there: end it, or call with -n (--no-stdin)",
             l->comm[0] ? l->comm : "the command", (int)l->pid);
    session_notify(&s->run.waiters, NOTE_STDIN, text);
}

/*
 * Does the output end within a line, as a prompt does? Sequences for colours and the
 * cursor's visibility do not count; those that move the cursor do.
 */
static bool within_line(const char *p, size_t n)
{
    while (n >= 3 && strchr("mhl", p[n - 1])) {
        size_t i = n - 1;
        while (i > 0 && strchr("0123456789;?", p[i - 1]))
            i--;
        if (i < 2 || p[i - 1] != '[' || p[i - 2] != '\033')
            break;
        n = i - 2;
    }
    return n > 0 && p[n - 1] != '\n';
}

/* Was the cursor hidden, as by a menu that draws a cursor of its own? */
static bool hides_cursor(const char *p, size_t n)
{
    enum { LENGTH = 6 };
    for (size_t i = n; i-- > 0;)
        if (n - i >= LENGTH && memcmp(p + i, "\033[?25", LENGTH - 1) == 0)
            return p[i + LENGTH - 1] == 'l';
    return false;
}

/* Was something drawn over, by a carriage return or by moving the cursor? */
static bool redraws(const char *p, size_t n)
{
    for (size_t i = 0; i + 2 < n; i++) {
        if (p[i] == '\b' || (p[i] == '\r' && p[i + 1] != '\n' && p[i + 1] != '\r'))
            return true;
        if (p[i] != '\033' || p[i + 1] != '[')
            continue;
        for (i += 2; i < n && strchr("0123456789;?", p[i]) && p[i]; i++)
            ;
        if (i < n && p[i] && strchr("ABCDEFGHJKdf", p[i]))
            return true;
    }
    return false;
}

/*
 * Does the end of the output look like a question of a program that listens? One that
 * takes keys may ask by whole lines; a server that takes keys ends its lines, too.
 * drawn_over: it must have been drawn in the place of something else.
 */
static bool asks(struct session *s, enum look_hint hint, bool drawn_over)
{
    char bytes[4096];
    struct termios t;
    uint64_t from = s->cmd.from;
    if (s->scan.at > from + sizeof(bytes))
        from = s->scan.at - sizeof(bytes);
    uint64_t at = from;
    if (from >= s->scan.at)
        return false;
    size_t n = spool_read(s->proc.spool[0], session_out(s), &at, bytes,
                          (size_t)(s->scan.at - from));
    bool keys = tcgetattr(s->proc.in, &t) == 0 && !(t.c_lflag & ICANON);
    return at == from && (!drawn_over || redraws(bytes, n)) &&
           ((within_line(bytes, n) && (keys || hint != LOOK_HINT_KEYS)) ||
            (keys && hint == LOOK_HINT_PERHAPS && hides_cursor(bytes, n)));
}

/*
 * Decides about a program that redraws, as top does or a prompt with a clock: it is not
 * quiet for long. Looks must have seen it listen for PROBABLY_MS. One look may see it
 * draw; two in a row mean that it works. Returns whether it probably waits.
 */
static bool judge_redraw(struct session *s, const struct look *l)
{
    struct look_redraw *r = &s->look.redraw;
    int64_t now = clock_ms();
    bool listens = l->hint == LOOK_HINT_PERHAPS && s->cmd.started &&
                   now - s->look.quiet_since_ms < PROBABLY_MS && asks(s, l->hint, true);
    if (!listens && (l->state == LOOK_YES || ++r->missed >= 2)) {
        *r = (struct look_redraw){0};
    } else if (listens && l->pid != r->pid) {
        *r = (struct look_redraw){.pid = l->pid, .since_ms = now};
    } else if (listens) {
        r->missed = 0;
        r->told = ++r->seen >= REDRAWS_SEEN && now - r->since_ms >= PROBABLY_MS;
    }
    if (r->told && listens) {
        s->look.last = *l;
        s->look.last.state = LOOK_PROBABLY;
        size_t n = strlen(l->how);
        snprintf(s->look.last.how + n, sizeof(l->how) - n, ", and redraws");
        s->look.known = true;
        tell_waiting(s);
    }
    return r->told;
}

/* Decides what one look cannot, by the quiet time before it and by the output. */
static void judge_quiet(struct session *s)
{
    struct look *l = &s->look.last;
    if (!s->cmd.started || clock_ms() - s->look.quiet_since_ms < PROBABLY_MS)
        return;
    if (l->hint != LOOK_HINT_NONE && l->hint != LOOK_HINT_FEED &&
        asks(s, l->hint, false)) {
        l->state = LOOK_PROBABLY;
        tell_waiting(s);
    } else if (l->hint == LOOK_HINT_FEED && s->input.feeding && !s->look.told_feed) {
        s->look.told_feed = true;
        tell_feed(s);
    }
}

/* Is the process that was seen the shell, and not a program that replaced it by exec? */
static bool is_shell(const struct session *s, const struct look *l)
{
    const char *slash = strrchr(s->sh.path, '/');
    const char *name = slash ? slash + 1 : s->sh.path;
    /* The kernel cuts it. */
    return !l->comm[0] || strncmp(l->comm, name, sizeof(l->comm) - 1) == 0 ||
           shell_usable(l->comm);
}

/*
 * Is the shell at its prompt while a command should be running, because the command
 * removed our marks? The builtin `read` looks similar. It is canonical, and a readline
 * prompt is not; without readline only the text of the command decides.
 */
static bool at_lost_prompt(struct session *s, const struct look *l)
{
    struct termios t;
    if (!is_shell(s, l) || tcgetattr(s->proc.in, &t) < 0)
        return false;
    if (s->sh.kind != SHELL_POSIX)
        return !(t.c_lflag & ICANON) && !s->cmd.reads;
    return !s->cmd.reads;
}

static void on_looked(void *arg, const struct reaper_answer *a, int errnum);

/* Uses the answer of root's reaper, or of the user's if root's does not see more. */
static void on_looked_again(void *arg, const struct reaper_answer *a, int errnum)
{
    struct session *s = arg;
    struct reaper_answer first = {.verb = REAPER_LOOK, .look = s->look.denied};
    bool more = !errnum && a->look.state != LOOK_UNKNOWN;
    on_looked(s, more ? a : &first, 0);
}

/* A program under sudo runs as root, and only root's reaper may look at it. */
static bool look_as_root(struct session *s, const struct look *l)
{
    struct engine *en = s->en;
    if (!l->denied || l->state != LOOK_UNKNOWN || l->shell_reads || en->uid != 0 ||
        s->uid == 0)
        return false;
    struct reaper_request q = {.verb = REAPER_LOOK, .pid = s->proc.r.pid};
    s->look.denied = *l;
    s->look.denied.denied = false; /* nobody else is asked */
    keeper_client_ask(en->keeper, en->uid, en->gid, &q, on_looked_again, s);
    return true;
}

static void on_looked(void *arg, const struct reaper_answer *a, int errnum)
{
    struct session *s = arg;
    if (!errnum && session_busy(s) && !s->cmd.ended && look_as_root(s, &a->look))
        return;
    s->look.asking = false;
    if (!session_busy(s) || s->cmd.ended)
        return;
    if (s->end.proof && !errnum && a->look.shell_reads && a->look.shell_foreground) {
        session_believe(s);
        return;
    }
    if (errnum ||
        !a->look.shell_foreground) /* the shell did not write it, or it goes on */
        session_show_unproved(s);
    if (session_out(s)->offset != s->look.quiet_at || s->scan.at < s->look.quiet_at) {
        if (!errnum)
            judge_redraw(s, &a->look);
        /* What the timer was for meanwhile, perhaps the next command, is looked at. */
        if (s->end.proof || !timer_active(&s->look.timer))
            session_look_later(s, LOOK_NEXT_MS);
        return;
    }
    if (errnum) {
        session_look_later(s, LOOK_AGAIN_MS);
        return;
    }
    if (a->look.shell_reads && a->look.shell_foreground && session_end_by_record(s))
        return;
    if (a->look.shell_reads && session_end_is_recorded(s)) {
        /* It waits for us, not for a person: its mark is still on the way. */
        session_look_later(s, LOOK_NEXT_MS);
        return;
    }
    if (judge_redraw(s, &a->look)) {
        session_look_later(s, LOOK_NEXT_MS);
        return;
    }
    s->look.last = a->look;
    s->look.known = true;
    s->look.strange = s->look.strange && a->look.state != LOOK_NO;
    TRACE(TRACE_SESSION, "session %s: look %d (%s, pid %d %s) shell_reads %d fg %d",
          s->name, (int)a->look.state, a->look.how, (int)a->look.pid, a->look.comm,
          a->look.shell_reads, a->look.shell_foreground);
    bool lost = a->look.shell_reads && a->look.shell_foreground &&
                s->state != SESSION_HUMAN && at_lost_prompt(s, &a->look);
    /* What was typed may be on its way through the kernel, which takes long at load. */
    if (lost && ++s->look.probes >= (s->cmd.started ? LOST_LOOKS : LOST_LOOKS_TYPED)) {
        s->look.probes = 0;
        s->look.known = false;
        session_install(s);
        session_look_later(s, LOOK_AGAIN_MS);
        return;
    }
    if (!lost)
        s->look.probes = 0;
    if (!lost && s->cmd.started && a->look.state == LOOK_YES)
        tell_waiting(s);
    else if (!lost && a->look.state != LOOK_YES)
        judge_quiet(s);
    session_look_later(s, s->look.last.state == LOOK_YES && !lost ? LOOK_AGAIN_MS
                                                                  : LOOK_NEXT_MS);
}

/* The inode of the FIFO that the command reads; 0: it has none. */
static uint64_t feed_of(const struct session *s)
{
    char path[300];
    struct stat st;
    snprintf(path, sizeof(path), "%s/i", s->sh.dir);
    return s->input.feeding && stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/*
 * Wide looks cost more: one when the command was quiet for PROBABLY_MS, then whenever
 * that time has doubled; and all that follow one that found who waits.
 */
static bool looks_wide(struct session *s)
{
    int64_t quiet = session_quiet_ms(s);
    bool due = s->cmd.started && quiet >= s->look.wide_after_ms;
    if (due)
        s->look.wide_after_ms = 2 * quiet;
    s->look.strange = due || s->look.strange;
    return s->look.strange;
}

static void on_look_timer(struct timer *t)
{
    struct session *s = container_of(t, struct session, look.timer);
    bool wanted = !list_empty(&s->run.queue) || s->end.proof ||
                  !list_empty(&s->tty.watchers);
    struct list *it, *tmp;
    list_each (it, tmp, &s->run.waiters)
        wanted = wanted || !list_entry(it, struct op, node)->settled;
    if (!wanted || s->look.asking || !s->sh.pty || !(s->proc.r.flags & KEEP_P_STARTED))
        return;
    struct reaper_request q = {.verb = REAPER_LOOK,
                               .pid = s->proc.r.pid,
                               .from = feed_of(s),
                               .root = looks_wide(s)};
    s->look.asking = true;
    s->look.asked_ms = clock_ms();
    s->look.quiet_at = session_out(s)->offset;
    keeper_client_ask(s->en->keeper, s->uid, s->gid, &q, on_looked, s);
}

void session_look_begins(struct session *s)
{
    s->look.known = false;
    s->look.probes = 0;
}

void session_look_fed(struct session *s)
{
    s->look.redraw = (struct look_redraw){0};
    session_quiet_again(s);
}

void session_look_runs(struct session *s)
{
    s->look.redraw = (struct look_redraw){0};
    s->look.asked_ms = clock_ms();
    session_look_quiet(s);
}

void session_look_quiet(struct session *s)
{
    bool redraws = s->look.redraw.told;
    if (s->look.known && !redraws)
        session_notify(&s->tty.watchers, NOTE_STATE, NULL);
    s->look.known = s->look.known && redraws;
    s->look.told_feed = s->look.strange = false;
    s->look.quiet_since_ms = clock_ms();
    s->look.wide_after_ms = PROBABLY_MS;
}
