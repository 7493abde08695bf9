/* SPDX-License-Identifier: MIT */
#include "front/mcp/tools/state.h"

#include <stdlib.h>

enum { PROGRAM_MAX = 80, QUIET_TOLD_MS = 5000 };

/* ---- words ---- */

void put_seconds(struct buf *out, int64_t ms)
{
    if (ms < 100)
        buf_addf(out, "0.%02d s", (int)(ms < 10 ? 1 : ms / 10));
    else if (ms < 10000)
        buf_addf(out, "%d.%d s", (int)(ms / 1000), (int)(ms % 1000 / 100));
    else if (ms < 120000)
        buf_addf(out, "%d s", (int)(ms / 1000));
    else
        buf_addf(out, "%lld min", (long long)(ms / 60000));
}

void put_program(struct buf *out, const char *name)
{
    static const char others[] = "_.+@:/-";
    if (!name[0])
        buf_addz(out, "the command");
    for (int i = 0; name[i] && i < PROGRAM_MAX; i++) {
        char c = name[i];
        bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                      (c >= 'A' && c <= 'Z') || strchr(others, c);
        buf_addc(out, letter ? c : '?');
    }
}

void put_signal(struct buf *out, int signo)
{
    static const char *const names[] = {
        "",       "HUP",  "INT",    "QUIT", "ILL",   "TRAP", "ABRT", "BUS",
        "FPE",    "KILL", "USR1",   "SEGV", "USR2",  "PIPE", "ALRM", "TERM",
        "STKFLT", "CHLD", "CONT",   "STOP", "TSTP",  "TTIN", "TTOU", "URG",
        "XCPU",   "XFSZ", "VTALRM", "PROF", "WINCH", "IO",   "PWR",  "SYS"};
    if (signo > 0 && (size_t)signo < sizeof(names) / sizeof(names[0]))
        buf_addf(out, "SIG%s", names[signo]);
    else
        buf_addf(out, "signal %d", signo);
}

void put_session(struct buf *out, const char *session)
{
    if (strcmp(session, "main") != 0)
        buf_addf(out, " session=\"%s\"", session);
}

void put_leave(struct buf *out, const char *session, const char *program)
{
    static const struct {
        const char *programs, *call;
    } ways[] = {
        {" less more man most git top htop watch bat ", "key=\"q\""},
        {" vim vi nvim view ", "key=\"Escape : q ! Enter\""},
        {" nano pico emacs ", "key=\"C-x\""},
        {" python python3 ipython node bash sh dash ash zsh cat psql sqlite3 mysql irb "
         "ghci gdb bc ",
         "key=\"C-d\""},
    };
    char name[PROGRAM_MAX + 3];
    const char *call = "key=\"C-c\"";
    size_t n = strlen(program);
    if (n > 0 && n <= PROGRAM_MAX) {
        name[0] = ' ';
        memcpy(name + 1, program, n);
        memcpy(name + 1 + n, " ", 2);
        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
            call = strstr(ways[i].programs, name) ? ways[i].call : call;
    }
    buf_addz(out, "shell_input");
    put_session(out, session);
    buf_addf(out, " %s", call);
}

/* ---- the line ---- */

static void put_command(struct buf *out, const char *before, uint64_t command)
{
    if (command)
        buf_addf(out, "%scommand %llu", before, (unsigned long long)command);
}

/* Where the rest is, and what is wrong with what was shown. */
static void put_rest(struct buf *out, const struct run_line *r)
{
    unsigned long long n = r->command;
    if (r->bent)
        buf_addz(out, "; it has bytes that are not UTF-8");
    if (r->gone)
        buf_addf(out, "; %llu bytes of it are not kept any more",
                 (unsigned long long)r->gone);
    if (r->cut_from && n)
        buf_addf(out, "; rest: read path=\"@%llu\" offset=%llu, or search path=\"@%llu\"",
                 n, (unsigned long long)r->cut_from, n);
}

static void put_ended(struct buf *out, const struct run_line *r)
{
    enum { QUICK_MS = 1000 };
    if (r->shell_ended) {
        buf_addf(out,
                 "the shell ended (exit %d); a new one is in the same directory with the "
                 "same environment",
                 r->exit);
    } else if (r->signo) {
        buf_addz(out, "killed by ");
        put_signal(out, r->signo);
        buf_addz(out, " after ");
        put_seconds(out, r->ms);
    } else {
        buf_addf(out, "exit %d", r->exit);
        if (!r->empty || r->ms >= QUICK_MS) {
            buf_addz(out, " in ");
            put_seconds(out, r->ms);
        }
    }
    if (r->input)
        put_command(out, ": ", r->command);
    if (r->empty && !r->shell_ended)
        buf_addz(out, "; no output");
    if (r->cwd) {
        buf_addz(out, "; now in ");
        for (const char *p = r->cwd; *p; p++)
            buf_addc(out, (unsigned char)*p < ' ' ? '?' : *p);
    }
    put_rest(out, r);
}

static void put_who(struct buf *out, const struct run_line *r)
{
    put_program(out, r->program);
    if (r->pid)
        buf_addf(out, " (pid %d)", r->pid);
}

static void put_type(struct buf *out, const struct run_line *r, const char *call)
{
    buf_addz(out, "shell_input");
    put_session(out, r->session);
    buf_addz(out, call);
}

static void put_waiting(struct buf *out, const struct run_line *r)
{
    if (r->screen) {
        buf_addz(out, "full screen program: ");
        put_program(out, r->program);
        put_command(out, ", ", r->command);
        buf_addz(out, "; shown as it looks. ");
        put_type(out, r, " key=…");
        return;
    }
    buf_addf(out, "waiting for input%s: ",
             r->hidden ? " without echo, perhaps a password" : "");
    put_who(out, r);
    put_command(out, ", ", r->command);
    put_rest(out, r);
    buf_addz(out, ". ");
    put_type(out, r, " text=\"…\"");
}

static void put_maybe(struct buf *out, const struct run_line *r)
{
    buf_addz(out, "perhaps waiting for input: ");
    put_who(out, r);
    put_command(out, ", ", r->command);
    buf_addz(out, ", ");
    for (const char *p = r->how; *p; p++)
        buf_addc(out, strchr("[]\"", *p) || (unsigned char)*p < ' ' ? '?' : *p);
    buf_addf(out, "%sthe line is unfinished, quiet for ", r->how[0] ? ", " : "");
    put_seconds(out, r->quiet_ms);
    put_rest(out, r);
    buf_addz(out, ". ");
    put_type(out, r, " text=\"…\", or ");
    put_type(out, r, " to wait");
}

static void put_running(struct buf *out, const struct run_line *r)
{
    buf_addz(out, "still running after ");
    put_seconds(out, r->ms);
    buf_addz(out, ": ");
    put_program(out, r->program);
    put_command(out, ", ", r->command);
    buf_addf(out, ", %llu line%s so far", (unsigned long long)r->lines,
             r->lines == 1 ? "" : "s");
    if (r->quiet_ms >= QUIET_TOLD_MS) {
        buf_addz(out, ", quiet for ");
        put_seconds(out, r->quiet_ms);
    }
    put_rest(out, r);
    buf_addz(out, ". Wait: ");
    put_type(out, r, "; stop: ");
    put_type(out, r, " key=\"C-c\"");
    if (!r->input)
        buf_addf(out, "; meanwhile: shell session=\"%s\"", r->other);
}

void run_line(struct buf *out, const struct run_line *r)
{
    if (r->state == RUN_ENDED)
        put_ended(out, r);
    else if (r->screen || r->state == RUN_WAITING)
        put_waiting(out, r);
    else if (r->state == RUN_MAYBE)
        put_maybe(out, r);
    else
        put_running(out, r);
}
