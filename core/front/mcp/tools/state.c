/* SPDX-License-Identifier: MIT */
#include "front/mcp/tools/state.h"

#include "base/utf8.h"
#include "kernel/kernel.h"

#include <stdlib.h>

enum {
    PROGRAM_MAX = 80,
    QUIET_TOLD_MS = 5000,
    QUOTED_MAX = 80,
    ERROR_SHOWN = 120,
    WHY_MAX = 200,
    URL_SHOWN = 300,
    PATH_SHOWN = 1000
};

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

void put_plain(struct buf *out, struct str s, size_t max)
{
    size_t n = s.n > max ? utf8_cut(s, max) : s.n;
    for (size_t i = 0; i < n; i++)
        buf_addc(out, (unsigned char)s.p[i] < ' ' ? ' ' : s.p[i]);
    if (n < s.n)
        buf_addz(out, "…");
}

static void put_quoted(struct buf *out, struct str s)
{
    buf_addc(out, '"');
    put_plain(out, s, QUOTED_MAX);
    buf_addc(out, '"');
}

void put_error(struct buf *out, struct str s)
{
    size_t n = s.n > ERROR_SHOWN ? utf8_cut(s, ERROR_SHOWN) : s.n;
    for (size_t i = 0; i < n; i++)
        buf_addc(out, strchr("[]", s.p[i]) || (unsigned char)s.p[i] < ' ' ? '?' : s.p[i]);
}

static void put_s(struct buf *out, uint64_t n)
{
    if (n != 1)
        buf_addc(out, 's');
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

/* ---- what ran in a shell ---- */

static void put_command(struct buf *out, const char *before, uint64_t command)
{
    if (command)
        buf_addf(out, "%scommand %llu", before, (unsigned long long)command);
}

/* Appends how to get the rest, and what is missing or changed in the shown text. */
static void put_rest(struct buf *out, const struct run_line *r)
{
    unsigned long long n = r->command;
    if (r->bent)
        buf_addz(out, "; it has bytes that are not UTF-8");
    if (r->gone)
        buf_addf(out, "; %llu bytes of it are no longer kept",
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

/* waited_ms: the time of this call, if it began later than what runs; else 0. */
static void put_still(struct buf *out, int64_t ms, int64_t waited_ms)
{
    buf_addz(out, "still running after ");
    put_seconds(out, ms);
    if (waited_ms) {
        buf_addz(out, ", this call waited ");
        put_seconds(out, waited_ms);
    }
    buf_addz(out, ": ");
}

static void put_running(struct buf *out, const struct run_line *r)
{
    put_still(out, r->ms, r->waited_ms);
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

/* ---- a cell ---- */

static void put_cell_call(struct buf *out, const struct cell_line *l, const char *more)
{
    buf_addz(out, "shell_input");
    put_session(out, l->session);
    buf_addz(out, more);
}

static void put_cell_ended(struct buf *out, const struct cell_line *l)
{
    if (l->state == CODE_DIED) {
        buf_addz(out, "the kernel died");
        if (l->why.n > 0) {
            buf_addz(out, " (");
            put_plain(out, l->why, WHY_MAX);
            buf_addc(out, ')');
        }
        buf_addz(out, "; a new one runs, its variables are gone");
        return;
    }
    buf_addz(out, l->state == CODE_OK ? "ok in " : "raised ");
    if (l->state == CODE_RAISED) {
        put_error(out, l->error);
        buf_addz(out, " after ");
    }
    put_seconds(out, l->ms);
    if (l->empty)
        buf_addz(out, "; no output");
    if (l->renewed)
        buf_addz(out, "; " KERNEL_NEW);
    if (l->leaves)
        buf_addz(out, "; the kernel ended: " KERNEL_LEFT);
}

void cell_line(struct buf *out, const struct cell_line *l)
{
    if (l->state == CODE_WAITING) {
        buf_addf(out, "waiting for input%s: cell %llu",
                 l->hidden ? " without echo, perhaps a password" : "",
                 (unsigned long long)l->cell);
    } else if (l->state == CODE_RUNNING) {
        put_still(out, l->ms, l->waited_ms);
        buf_addf(out, "cell %llu, %llu line", (unsigned long long)l->cell,
                 (unsigned long long)l->lines);
        put_s(out, l->lines);
        buf_addz(out, " so far");
    } else {
        put_cell_ended(out, l);
    }
    if (l->cut_from)
        buf_addf(out, "; rest: read path=\"@%llu\" offset=%llu",
                 (unsigned long long)l->cell, (unsigned long long)l->cut_from);
    buf_adds(out, l->pictures);
    if (l->state == CODE_WAITING) {
        buf_addz(out, ". ");
        put_cell_call(out, l, " text=\"…\"");
    } else if (l->state == CODE_RUNNING) {
        buf_addz(out, ". Wait: ");
        put_cell_call(out, l, "; stop: ");
        put_cell_call(out, l, " key=\"C-c\"");
    }
}

void state_picture(struct buf *out, unsigned width, unsigned height, bool shown,
                   const char *path)
{
    buf_addz(out, "; picture");
    if (width)
        buf_addf(out, " %ux%u", width, height);
    if (!shown)
        buf_addz(out, " is too large to be shown");
    if (path[0]) {
        buf_addz(out, shown ? ", also " : ", it is ");
        put_plain(out, str_of(path), PATH_SHOWN);
    }
}

/* ---- a page ---- */

static void put_status(struct buf *out, const struct page_line *p)
{
    if (p->status == 200)
        buf_addz(out, "200");
    else
        buf_addf(out, "%d %s", p->status, p->reason);
}

static void put_refs(struct buf *out, int64_t n)
{
    buf_addf(out, "%lld element", (long long)n);
    put_s(out, (uint64_t)n);
    buf_addz(out, " with refs");
}

static void put_console(struct buf *out, const struct page_line *p)
{
    if (!p->console_errors)
        return;
    buf_addf(out, "; console: %lld error", (long long)p->console_errors);
    put_s(out, (uint64_t)p->console_errors);
    buf_addc(out, ' ');
    put_quoted(out, p->console);
}

static void put_dialog(struct buf *out, const struct page_line *p)
{
    buf_addz(out, "dialog ");
    put_quoted(out, p->dialog_text);
    buf_addf(out, " is open: %spress text=\"Enter\" or \"Esc\"",
             p->prompt ? "fill text=\"…\" without ref, then " : "");
}

/* Appends which tab is shown, if there are several. */
static void put_tab(struct buf *out, const struct page_line *p)
{
    if (p->tabs > 1)
        buf_addf(out, "tab %lld of %lld; ", (long long)p->tab, (long long)p->tabs);
}

/* Appends which part of the page is shown. */
static void put_part(struct buf *out, const struct page_line *p)
{
    long long part = p->part, parts = p->parts;
    if (part > parts) {
        buf_addf(out, "there is no part %lld, the last one is part=%lld; ", part, parts);
    } else if (parts > 1) {
        buf_addf(out, "part %lld of %lld; ", part, parts);
        if (part < parts)
            buf_addf(out, "more: part=%lld; ", part + 1);
    }
}

/* Appends where in the page the searched text is. */
static void put_found(struct buf *out, const struct page_line *p)
{
    if (p->places && p->parts > 1)
        buf_addf(out, "part %lld of %lld around ", (long long)p->part,
                 (long long)p->parts);
    else
        buf_addz(out, p->places ? "around " : "nothing here says ");
    put_quoted(out, p->find);
    if (p->places > p->shown) {
        buf_addf(out, ", %lld more place", (long long)(p->places - p->shown));
        put_s(out, (uint64_t)(p->places - p->shown));
    }
    if (!p->places && p->near.n) {
        buf_addz(out, ", nearest: ");
        put_plain(out, p->near, QUOTED_MAX);
    }
    buf_addz(out, "; ");
}

static void put_shot(struct buf *out, const struct page_line *p)
{
    buf_addf(out, "picture %lldx%lld with refs marked", (long long)p->width,
             (long long)p->height);
    if (p->picture.n) {
        buf_addz(out, ", also ");
        put_plain(out, p->picture, PATH_SHOWN);
    }
    buf_addz(out, "; ");
}

void page_line(struct buf *out, const struct page_line *p)
{
    if (p->dialog) {
        put_dialog(out, p);
        return;
    }
    put_tab(out, p);
    if (p->shot)
        put_shot(out, p);
    else if (p->downloaded)
        buf_addz(out, "downloaded, and the page is the one before; ");
    else if (p->find.n)
        put_found(out, p);
    else
        put_part(out, p);
    if (p->status) {
        put_status(out, p);
        buf_addz(out, ", ");
    }
    put_refs(out, p->refs);
    put_console(out, p);
    if (p->text_browser)
        buf_addz(out, "; text browser, no scripts");
    buf_addz(out, "; ");
    put_plain(out, p->url, URL_SHOWN);
}

/* ---- an act on a page ---- */

static void put_moved(struct buf *out, const struct page_line *p)
{
    buf_addz(out, "page changed: ");
    put_plain(out, p->url, URL_SHOWN);
    if (p->status) {
        buf_addz(out, ", ");
        put_status(out, p);
    }
    buf_addz(out, "; ");
    put_refs(out, p->refs);
    if (p->shown < p->refs)
        buf_addf(out, ", %lld shown; all: browse", (long long)p->shown);
}

/* "2 changed, 1 new, 1 gone". */
static void put_counts(struct buf *out, const struct page_line *p)
{
    const struct {
        int64_t n;
        const char *word;
    } counts[] = {{p->changed, "changed"}, {p->added, "new"}, {p->removed, "gone"}};
    const char *comma = "";
    int64_t all = 0;
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        if (!counts[i].n)
            continue;
        buf_addf(out, "%s%lld %s", comma, (long long)counts[i].n, counts[i].word);
        comma = ", ";
        all += counts[i].n;
    }
    if (p->shown < all)
        buf_addf(out, ", %lld shown; all: browse", (long long)p->shown);
}

static void put_changes(struct buf *out, const struct page_line *p)
{
    if (p->waited.n) {
        put_quoted(out, p->waited);
        buf_addz(out, " is there; ");
    }
    if (p->scrolled.n)
        buf_addf(out, "scrolled to %.*s px; ", STR_ARG(p->scrolled));
    if (p->added + p->removed + p->changed)
        put_counts(out, p);
    else
        buf_addf(out, "nothing changed%s", !p->disabled.n && p->watched ? " in 2 s" : "");
    if (p->disabled.n)
        buf_addf(out, "; %.*s is disabled", STR_ARG(p->disabled));
    if (p->went) {
        buf_addz(out, "; now at ");
        put_plain(out, p->url, URL_SHOWN);
    }
}

/* Appends which tab is shown, if there are several or the act closed one. */
static void put_tab_after(struct buf *out, const struct page_line *p)
{
    if (p->tabs < 2 && !p->tab_closed)
        return;
    buf_addf(out, "; %stab %lld of %lld",
             p->opened_from  ? "in the new "
             : p->tab_closed ? "the tab was closed, this is "
                             : "",
             (long long)p->tab, (long long)p->tabs);
    if (p->opened_from)
        buf_addf(out, ". Back: browser_act action=\"switch_tab\" text=\"%lld\"",
                 (long long)p->opened_from);
}

void act_line(struct buf *out, const struct page_line *p)
{
    if (p->dialog) {
        put_dialog(out, p);
        return;
    }
    if (p->moved)
        put_moved(out, p);
    else
        put_changes(out, p);
    put_console(out, p);
    put_tab_after(out, p);
}

/* ---- others ---- */

void sessions_line(struct buf *out, unsigned n)
{
    if (n == 0) {
        buf_addz(out, "no session yet; shell makes \"main\"");
        return;
    }
    buf_addf(out, "%u session", n);
    put_s(out, n);
}

void parts_line(struct buf *out, uint64_t shown, uint64_t lines, struct str path)
{
    buf_addf(out, "the first %llu of %llu lines; ", (unsigned long long)shown,
             (unsigned long long)lines);
    if (path.n > 0) {
        buf_addz(out, "in parts: read path=\"");
        put_plain(out, path, PATH_SHOWN);
        buf_addc(out, '"');
    } else {
        buf_addz(out, "to see all of it ask for less");
    }
}

void events_line(struct buf *out, const struct events_line *l)
{
    if (l->last == 0) {
        buf_addf(out, "no event after %llu", (unsigned long long)l->since);
        if (l->waited_ms) {
            buf_addz(out, " in ");
            put_seconds(out, l->waited_ms);
        }
        buf_addf(out, ". To wait for one: events since=%llu wait_s=30",
                 (unsigned long long)l->since);
        return;
    }
    buf_addf(out, "events %llu to %llu", (unsigned long long)l->first,
             (unsigned long long)l->last);
    if (l->last < l->newest)
        buf_addf(out, " of %llu; more: since=%llu", (unsigned long long)l->newest,
                 (unsigned long long)l->last);
}

void files_line(struct buf *out, const struct files_line *l)
{
    if (l->there) {
        put_plain(out, l->path, PATH_SHOWN);
        buf_addz(out, " was there");
        return;
    }
    buf_addf(out, "%s ", l->done);
    put_plain(out, l->path, PATH_SHOWN);
    if (l->to.n > 0) {
        buf_addz(out, " to ");
        put_plain(out, l->to, PATH_SHOWN);
    }
    if (l->n >= 0)
        buf_addf(out, "; %lld entr%s", (long long)l->n, l->n == 1 ? "y" : "ies");
    if (l->bytes >= 0)
        buf_addf(out, "; %lld bytes", (long long)l->bytes);
}

void watch_line(struct buf *out, uint64_t changes, int64_t ms, bool ended)
{
    if (changes) {
        buf_addf(out, "%llu change", (unsigned long long)changes);
        put_s(out, changes);
    } else {
        buf_addz(out, "nothing changed");
    }
    buf_addz(out, " in ");
    put_seconds(out, ms);
    if (ended)
        buf_addz(out, "; what was watched is gone");
}

static void put_outputs(struct buf *out, const struct process_line *l)
{
    const struct {
        const char *name;
        uint64_t n;
    } both[] = {{"; stdout", l->out}, {", stderr", l->err}};
    for (size_t i = 0; i < 2; i++) {
        buf_addf(out, "%s %llu line", both[i].name, (unsigned long long)both[i].n);
        put_s(out, both[i].n);
    }
}

static void put_process_call(struct buf *out, const struct process_line *l,
                             const char *more)
{
    buf_addz(out, "process name=\"");
    put_program(out, l->name);
    buf_addf(out, "\"%s", more);
}

void process_line(struct buf *out, const struct process_line *l)
{
    if (!l->ended) {
        put_still(out, l->ms, l->waited_ms);
        put_program(out, l->name);
    } else if (l->signo) {
        buf_addz(out, "killed by ");
        put_signal(out, l->signo);
        buf_addz(out, " after ");
        put_seconds(out, l->ms);
    } else {
        buf_addf(out, "exit %d in ", l->exit);
        put_seconds(out, l->ms);
    }
    put_outputs(out, l);
    if (l->ended && l->cut && l->action)
        buf_addf(out, "; kept of stdout: read path=\"@%llu\"",
                 (unsigned long long)l->action);
    if (l->ended)
        return;
    buf_addz(out, ". Wait: ");
    put_process_call(out, l, "; stop: ");
    put_process_call(out, l, " signal=\"TERM\"");
}

void patch_line(struct buf *out, const struct patch_line *l)
{
    buf_addf(out, "applied: %u change", l->changes);
    put_s(out, l->changes);
    buf_addf(out, " in %u file", l->files);
    put_s(out, l->files);
    buf_addz(out, "; edit undo=true takes back one change of a file");
}
