/* SPDX-License-Identifier: MIT */
#include "front/tmux/pane.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "front/tmux/lang/parse.h"
#include "front/tmux/model.h"
#include "front/tmux/request.h"
#include "front/tmux/state.h"
#include "os/pty.h"
#include "shell/process.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

enum {
    KEEP_EVERY = 1 << 20,
    PIPE_PIECE = 32 << 10,
    FEED_PIECE = 32 << 10, /* bytes of output that a pane reads in one turn of the loop */
    FEED_ALL = 128 << 10   /* bytes that all read: 10 to 20 ms */
};

static void name_of(const struct tm_pane *p, char out[40])
{
    snprintf(out, 40, "%%%u", p->id);
}

static void pipe_name(const struct tm_pane *p, char out[40])
{
    snprintf(out, 40, "%%%u.pipe%u", p->id, p->pipes);
}

struct process *pane_process(const struct tm_pane *p)
{
    char name[40];
    name_of(p, name);
    return process_find(p->t->en, str_of(name));
}

/* ---- the screen ---- */

/* A program's terminal is not larger than its screen may be; the pane may. */
static int side(int n) { return n < PICTURE_SIDE_MAX ? n : PICTURE_SIDE_MAX; }

/* An answer is typed once: the number of the question is stored with it. */
static void on_asked(void *arg, uint64_t n, struct str answer)
{
    struct tm_pane *p = arg;
    struct process *proc = pane_process(p);
    char key[48], value[24];
    if (n <= p->answered || !proc || process_ended(proc))
        return;
    if (n - p->answered < answer.n)
        answer = str_sub(answer, answer.n - (size_t)(n - p->answered), answer.n);
    p->answered = n;
    snprintf(key, sizeof(key), "tmux/answered/%u", p->id);
    snprintf(value, sizeof(value), "%llu", (unsigned long long)n);
    process_ask(proc, answer, str_of(key), str_of(value));
}

/* A bell rings once: how many have rung is stored with what they changed. */
static void on_rung(void *arg)
{
    struct tm_pane *p = arg;
    if (p->screen.bells <= p->rung)
        return;
    p->rung = p->screen.bells;
    state_changed(p->t);
    model_rung(p);
}

static const struct pane_screen_calls screen_events = {on_asked, on_rung};

static void open_screen(struct tm_pane *p, bool again)
{
    char name[40];
    name_of(p, name);
    screen_open(&p->screen, p->t->dir[0] ? p->t->dir : NULL, name, p->rows, p->cols,
                p->limit, again, &screen_events, p);
}

/* ---- output ---- */

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct tm_pane *p = op->owner;
    struct tmux *t = p->t;
    size_t room = t->fed < FEED_ALL && p->fed < FEED_PIECE ? FEED_PIECE - p->fed : 0;
    (void)stream;
    task_defer(t->en->loop, &t->feed);
    p->hungry = !t->resuming && bytes.n > room;
    if (p->hungry)
        bytes.n = room;
    if (bytes.n == 0)
        return 0;
    t->fed += bytes.n;
    p->fed += bytes.n;
    screen_feed(&p->screen, offset, bytes);
    /* What was read since the last checkpoint is read again by the next worker, from a
     * spool that keeps half of its bytes for that. */
    int fd;
    uint64_t cap = process_stream(op->process, 0, &fd)->cap;
    screen_keep(&p->screen, cap / 4 < KEEP_EVERY ? cap / 4 : KEEP_EVERY);
    if (!t->resuming)
        model_output(p, offset, bytes);
    return bytes.n;
}

void pane_feed_all(struct task *task)
{
    struct tmux *t = container_of(task, struct tmux, feed);
    struct list *it, *tmp;
    unsigned last = t->fed_last;
    t->fed = 0;
    list_each (it, tmp, &t->panes)
        list_entry(it, struct tm_pane, node)->fed = 0;
    for (int after = 1; after >= 0; after--) { /* those after the last one come first */
        list_each (it, tmp, &t->panes) {
            struct tm_pane *p = list_entry(it, struct tm_pane, node);
            if (!p->hungry || (p->id > last) != after || t->fed >= FEED_ALL)
                continue;
            p->hungry = false;
            t->fed_last = p->id;
            if (p->feed)
                op_pump(p->feed);
        }
    }
    list_each (it, tmp, &t->panes) {
        if (list_entry(it, struct tm_pane, node)->hungry)
            task_defer(t->en->loop, &t->feed);
    }
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct tm_pane *p = op->owner;
    (void)text;
    (void)from;
    if (kind == NOTE_WINDOW)
        request_pane_room(p);
    else if (kind == NOTE_GAP && to > p->screen.at)
        p->screen.at = to;
}

static void on_done(struct op *op)
{
    struct tm_pane *p = op->owner;
    p->feed = NULL;
    if (op->r.err.code == ERR_CANCELLED || p->t->ending)
        return;
    bool failed = op->r.state == OP_FAILED;
    p->signo = failed ? 0 : op->r.signo;
    p->status = failed ? 1 : op->r.exit;
    model_pane_dead(p);
}

static void follow(struct tm_pane *p, struct process *proc, uint64_t from)
{
    static const struct op_sink sink = {
        .output = on_output, .note = on_note, .done = on_done};
    struct op *op = op_new(OP_WAIT, &sink, p);
    op->stream = op->caller = op->with_stdin = true;
    op->limit = UINT64_MAX;
    op->cursor = from;
    op->cursor_err = UINT64_MAX;
    p->feed = op;
    process_wait(proc, op);
}

/* ---- the program ---- */

static void put(struct buf *out, const char *name, const char *value)
{
    buf_addf(out, "%s=%s", name, value);
    buf_addc(out, '\0');
}

/* The variables of a program of this session, as env_list of engine.h wants them. */
void pane_variables(const struct tm_pane *p, const struct tm_session *s,
                    const struct env *extra, struct buf *out)
{
    struct tmux *t = p->t;
    struct env all = {0};
    char value[400];
    env_copy(&all, &t->env);
    if (s)
        env_copy(&all, &s->env);
    env_set(&all, STR("TERM"), str_of(opts_text(&t->server, "default-terminal")), false);
    env_set(&all, STR("TERM_PROGRAM"), STR("tmux"), false);
    env_set(&all, STR("TERM_PROGRAM_VERSION"), STR(TMUX_VERSION), false);
    snprintf(value, sizeof(value), "%s,%ld,%ld", t->socket, (long)getppid(),
             s ? (long)s->id : -1L);
    env_set(&all, STR("TMUX"), str_of(value), false);
    if (extra)
        env_copy(&all, extra);
    snprintf(value, sizeof(value), "%%%u", p->id);
    env_set(&all, STR("TMUX_PANE"), str_of(value), false);
    env_set(&all, STR("SHELL"), str_of(p->shell), false);
    env_put(&all, out);
    env_release(&all);
}

/* The directory, else the home of the user, else /. */
static const char *usable_cwd(const char *wanted)
{
    struct stat st;
    const char *home = getenv("HOME");
    if (wanted && stat(wanted, &st) == 0 && S_ISDIR(st.st_mode) &&
        access(wanted, X_OK) == 0)
        return wanted;
    return home && access(home, X_OK) == 0 ? home : "/";
}

int pane_spawn(struct tm_pane *p, const struct tm_session *s, const struct env *extra,
               const char *call, struct err *e)
{
    struct buf env = BUF_INIT(LIMIT_SPAWN_MAX), words = BUF_INIT(LIMIT_SPAWN_MAX);
    char name[40], login[256];
    const char *shell = p->shell, *base = strrchr(shell, '/');
    const char *cwd = usable_cwd(p->cwd);
    int count = json_count(p->argv), n = 0;
    char **argv = xcalloc((size_t)count + 5, sizeof(*argv));
    const char *program = NULL;
    name_of(p, name);
    base = base ? base + 1 : shell;
    snprintf(login, sizeof(login), "-%s", base);
    if (count <= 1)
        program = shell;
    if (count == 0)
        argv[n++] = login;
    if (count == 1) {
        argv[n++] = (char *)(uintptr_t)base;
        argv[n++] = (char *)(uintptr_t) "-c";
    }
    for (const struct json *v = json_first(p->argv); v; v = json_next(v))
        argv[n++] = (char *)(uintptr_t)json_str_value(v, "").p;
    pane_variables(p, s, extra, &env);
    put(&env, "PWD", cwd);
    struct process_opts o = {.name = str_of(name),
                             .cwd = str_of(cwd),
                             .env = buf_str(&env),
                             .env_only = true,
                             .argv = argv,
                             .program = program,
                             .call = call,
                             .rows = side(p->rows),
                             .cols = side(p->cols),
                             .whole = true};
    struct process *proc = call && call[0] ? process_by_call(p->t->en, call) : NULL;
    if (!proc)
        proc = process_start(p->t->en, &o, e);
    free(argv);
    buf_release(&env);
    buf_release(&words);
    if (!proc)
        return -1;
    p->runs++;
    p->dead = false;
    p->status = p->signo = 0;
    p->dead_at = 0;
    p->answered = p->rung = 0;
    if (p->screen.pic)
        screen_restart(&p->screen);
    else
        open_screen(p, false);
    follow(p, proc, 0);
    return 0;
}

void pane_resume(struct tm_pane *p)
{
    struct process *proc = pane_process(p);
    open_screen(p, true);
    int rows, cols;
    picture_size(p->screen.pic, &rows, &cols);
    if (proc && !p->dead)
        follow(p, proc, p->screen.at);
    else if (!p->dead)
        model_pane_dead(p);
    if (p->feed && (rows != side(p->rows) || cols != side(p->cols)))
        screen_size(&p->screen, p->rows, p->cols);
    if (p->piped)
        pane_pipe_resume(p);
}

void pane_stop(struct tm_pane *p)
{
    struct process *proc = pane_process(p);
    if (p->feed)
        op_drop(p->feed);
    p->feed = NULL;
    pane_pipe_end(p);
    if (proc)
        process_free(proc);
}

void pane_resize(struct tm_pane *p, int cols, int rows)
{
    struct process *proc = pane_process(p);
    struct err e = ERR_INIT;
    if (cols == p->cols && rows == p->rows)
        return;
    p->cols = cols;
    p->rows = rows;
    if (p->screen.pic)
        screen_size(&p->screen, rows, cols);
    if (proc && !process_ended(proc) && process_terminal(proc) >= 0 &&
        process_resize(proc, side(rows), side(cols), &e) < 0)
        log_debug("tmux: %s", e.text);
}

/* ---- input ---- */

bool pane_type(struct tm_pane *p, struct str bytes, struct str key, struct str value)
{
    struct process *proc = pane_process(p);
    uint64_t accepted;
    if (!proc || process_ended(proc) || p->dead) {
        keeper_client_put(p->t->en->keeper, key, value);
        return true;
    }
    if (process_stdin_room(proc, &accepted) < bytes.n)
        return false;
    process_ask(proc, bytes, key, value);
    return true;
}

/* ---- pipes ---- */

static struct process *pipe_process(const struct tm_pane *p)
{
    char name[40];
    pipe_name(p, name);
    return process_find(p->t->en, str_of(name));
}

/* Bytes of the pane go to the pipe: byte N of its input is byte pipe_from + N of the
 * spool, so none is written twice. */
static size_t on_pipe_out(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct tm_pane *p = op->owner;
    struct process *to = pipe_process(p);
    uint64_t accepted;
    (void)stream;
    size_t room = to ? process_stdin_room(to, &accepted) : 0;
    if (!to || process_ended(to))
        return bytes.n;
    if (offset < p->pipe_from)
        return bytes.n;
    bytes.n = bytes.n < room ? bytes.n : room;
    if (bytes.n > 0)
        process_stdin(to, offset - p->pipe_from, bytes, false);
    return bytes.n;
}

static void on_pipe_out_done(struct op *op)
{
    struct tm_pane *p = op->owner;
    struct process *to = pipe_process(p);
    p->pipe_out = NULL;
    if (to && op->r.err.code != ERR_CANCELLED)
        process_stdin(to, UINT64_MAX, STR(""), true);
}

static size_t on_pipe_in(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct tm_pane *p = op->owner;
    char key[48], value[24];
    if (stream != 0 || !(p->pipe_flags & PIPE_IN))
        return bytes.n;
    if (offset < p->pipe_taken)
        return bytes.n < p->pipe_taken - offset ? bytes.n
                                                : (size_t)(p->pipe_taken - offset);
    snprintf(key, sizeof(key), "tmux/piped/%u", p->id);
    snprintf(value, sizeof(value), "%llu", (unsigned long long)(offset + bytes.n));
    bytes.n = bytes.n < PIPE_PIECE ? bytes.n : PIPE_PIECE;
    snprintf(value, sizeof(value), "%llu", (unsigned long long)(offset + bytes.n));
    if (!pane_type(p, bytes, str_of(key), str_of(value)))
        return 0;
    p->pipe_taken = offset + bytes.n;
    return bytes.n;
}

static void on_pipe_note(struct op *op, enum note_kind kind, const char *text,
                         uint64_t from, uint64_t to)
{
    struct tm_pane *p = op->owner;
    (void)text;
    (void)from;
    (void)to;
    if (kind == NOTE_WINDOW && p->pipe_out)
        op_pump(p->pipe_out);
}

static void on_pipe_in_done(struct op *op)
{
    struct tm_pane *p = op->owner;
    p->pipe_in = NULL;
    if (op->r.err.code == ERR_CANCELLED || p->t->ending)
        return;
    pane_pipe_end(p);
    state_changed(p->t);
}

static void pipe_follow(struct tm_pane *p)
{
    static const struct op_sink out = {.output = on_pipe_out, .done = on_pipe_out_done};
    static const struct op_sink in = {
        .output = on_pipe_in, .note = on_pipe_note, .done = on_pipe_in_done};
    struct process *pipe = pipe_process(p), *proc = pane_process(p);
    uint64_t accepted = 0;
    if (!pipe)
        return;
    process_stdin_room(pipe, &accepted);
    struct op *op = op_new(OP_WAIT, &in, p);
    op->stream = op->with_stdin = true;
    op->limit = UINT64_MAX;
    op->cursor = p->pipe_taken;
    op->cursor_err = UINT64_MAX;
    p->pipe_in = op;
    process_wait(pipe, op);
    if (!(p->pipe_flags & PIPE_OUT) || !proc || !p->pipe_in)
        return;
    op = op_new(OP_WAIT, &out, p);
    op->stream = op->caller = true;
    op->limit = UINT64_MAX;
    op->cursor = p->pipe_from + accepted;
    op->cursor_err = UINT64_MAX;
    p->pipe_out = op;
    process_wait(proc, op);
}

void pane_pipe_resume(struct tm_pane *p)
{
    if (pipe_process(p))
        pipe_follow(p);
    else
        p->piped = false;
}

int pane_pipe(struct tm_pane *p, const char *command, int flags, const struct env *env,
              const char *call, struct err *e)
{
    char name[40];
    const char *argv[] = {"sh", "-c", command, NULL};
    struct buf vars = BUF_INIT(LIMIT_SPAWN_MAX);
    struct process *proc = pane_process(p);
    p->pipes++;
    pipe_name(p, name);
    pane_variables(p, NULL, env, &vars);
    struct process_opts o = {.name = str_of(name),
                             .cwd = str_of(usable_cwd(p->cwd)),
                             .env = buf_str(&vars),
                             .env_only = true,
                             .argv = (char *const *)(uintptr_t)argv,
                             .program = "/bin/sh",
                             .call = call,
                             .with_stdin = true};
    struct process *pipe = process_by_call(p->t->en, call);
    if (!pipe)
        pipe = process_start(p->t->en, &o, e);
    buf_release(&vars);
    if (!pipe)
        return -1;
    p->piped = true;
    p->pipe_flags = flags;
    p->pipe_from = proc ? process_output(proc) : 0;
    p->pipe_taken = 0;
    pipe_follow(p);
    return 0;
}

void pane_pipe_end(struct tm_pane *p)
{
    struct process *pipe = pipe_process(p);
    if (p->pipe_out)
        op_drop(p->pipe_out);
    if (p->pipe_in)
        op_drop(p->pipe_in);
    p->pipe_out = p->pipe_in = NULL;
    p->piped = false;
    /* It reads what it has got, then the end; its record is dropped when it has ended. */
    if (pipe && !process_ended(pipe))
        process_stdin(pipe, UINT64_MAX, STR(""), true);
}

/* ---- life ---- */

struct tm_pane *pane_new(struct tm_window *w, unsigned id, int cols, int rows)
{
    struct tm_pane *p = xnew(struct tm_pane);
    p->t = w->t;
    p->w = w;
    p->id = id;
    p->cols = cols;
    p->rows = rows;
    list_init(&p->sibling);
    list_init(&p->stacked);
    list_add_tail(&w->t->panes, &p->node);
    tmux_options_init(&p->opts, &w->opts);
    return p;
}

static void bury(void *arg)
{
    struct tm_pane *p = arg;
    free(p->cwd);
    free(p->shell);
    free(p->command);
    json_free(p->argv);
    free(p);
}

void pane_free(struct tm_pane *p)
{
    char key[48];
    p->freed = true;
    request_pane_gone(p);
    if (p->t->marked == p)
        p->t->marked = NULL;
    pane_stop(p);
    screen_close(&p->screen, true);
    tmux_options_release(&p->opts);
    snprintf(key, sizeof(key), "tmux/answered/%u", p->id);
    keeper_client_put(p->t->en->keeper, str_of(key), STR(""));
    snprintf(key, sizeof(key), "tmux/piped/%u", p->id);
    keeper_client_put(p->t->en->keeper, str_of(key), STR(""));
    list_del(&p->stacked);
    list_del(&p->node);
    loop_bury(p->t->en->loop, p, bury);
}

/* ---- what runs ---- */

static void read_link(pid_t pid, const char *what, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, what);
    ssize_t n = readlink(path, out, size - 1);
    out[n > 0 ? n : 0] = 0;
}

static void read_name(pid_t pid, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : 0;
    out[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
}

void pane_foreground(const struct tm_pane *p, char *name, size_t size, char *cwd,
                     size_t cwd_size)
{
    struct process *proc = pane_process(p);
    int fd = proc ? process_terminal(proc) : -1;
    pid_t group = -1;
    name[0] = cwd[0] = 0;
    if (fd < 0 || p->dead || ioctl(fd, TIOCGPGRP, &group) < 0 || group <= 0)
        return;
    read_name(group, name, size);
    read_link(group, "cwd", cwd, cwd_size);
    if (!cwd[0]) {
        pid_t sid = -1;
        if (ioctl(fd, TIOCGSID, &sid) == 0)
            read_link(sid, "cwd", cwd, cwd_size);
    }
}

void pane_tty(const struct tm_pane *p, char *out, size_t size)
{
    struct process *proc = pane_process(p);
    int fd = proc ? process_terminal(proc) : -1, n;
    out[0] = 0;
    if (fd >= 0 && ioctl(fd, TIOCGPTN, &n) == 0)
        snprintf(out, size, "/dev/pts/%d", n);
}

/* ---- names ---- */

bool pane_is_silent(const struct tm_pane *p) { return !p->chosen && p->screen.at == 0; }

/* The last part of a program's path, without a login shell's dash. */
void pane_short_name(const char *text, struct buf *out)
{
    struct str s = str_of(text);
    if (str_starts(s, STR("exec ")))
        s = str_sub(s, 5, s.n);
    while (s.n > 0 && (*s.p == ' ' || *s.p == '-'))
        s = str_sub(s, 1, s.n);
    long space = str_chr(s, ' ');
    if (space >= 0)
        s.n = (size_t)space;
    while (s.n > 1 && (unsigned char)s.p[s.n - 1] <= ' ')
        s.n--;
    if (s.n > 0 && *s.p == '/') {
        while (s.n > 1 && s.p[s.n - 1] == '/')
            s.n--;
        for (size_t i = s.n; i-- > 0;) {
            if (s.p[i] == '/' && i + 1 < s.n) {
                s = str_sub(s, i + 1, s.n);
                break;
            }
        }
    }
    buf_adds(out, s);
}

void pane_put_command(const struct tm_pane *p, struct buf *out)
{
    bool first = true;
    for (const struct json *v = json_first(p->argv); v; v = json_next(v)) {
        if (!first)
            buf_addc(out, ' ');
        first = false;
        tmux_quote(out, json_str_value(v, ""));
    }
}

void pane_default_name(const struct tm_pane *p, struct buf *out)
{
    const struct json *first = json_first(p->argv);
    struct buf all = BUF_INIT(TM_NAME_MAX);
    if (!first)
        buf_addz(&all, p->shell ? p->shell : "sh");
    for (const struct json *v = first; v; v = json_next(v)) {
        if (v != first)
            buf_addc(&all, ' ');
        buf_adds(&all, json_str_value(v, ""));
    }
    pane_short_name(buf_z(&all), out);
    buf_release(&all);
}

const char *pane_title(const struct tm_pane *p)
{
    static char host[256];
    struct picture_state s;
    if (p->screen.pic) {
        picture_report(p->screen.pic, &s);
        if (s.title[0])
            return s.title;
    }
    if (gethostname(host, sizeof(host) - 1) < 0)
        host[0] = 0;
    return host;
}

void pane_set_title(struct tm_pane *p, const char *title)
{
    for (const char *c = title; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return;
    }
    if (!utf8_valid(str_of(title)))
        return;
    /* The program's own title replaces it later. */
    if (p->screen.pic) {
        struct buf seq = BUF_INIT(TM_NAME_MAX);
        buf_addf(&seq, "\033]2;%s\a", title);
        screen_draw(&p->screen, buf_str(&seq));
        buf_release(&seq);
    }
    state_changed(p->t);
}

bool pane_started_by(const struct tm_pane *p, const char *call)
{
    const struct process *proc = process_by_call(p->t->en, call);
    return proc && proc == pane_process(p);
}

bool pane_hides_input(const struct tm_pane *p)
{
    const struct process *proc = pane_process(p);
    return proc && pty_hides(process_terminal(proc));
}
