/* SPDX-License-Identifier: MIT */
/*
 * The host of a kernel: its life, and the lines of the engine.
 *
 *   STARTING --answered--> READY --exit--> DRAIN --its output was read--> DEAD
 *   STARTING --exit, or nothing for KERNEL_START_MS--> DEAD (failed)
 *   READY --restart or end of input--> ENDING --exit--> DRAIN
 *   DEAD --restart--> STARTING
 */
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "kernel/host/own.h"
#include "os/null.h"
#include "os/sig.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LINE_MAX_IN = LIMIT_ZMTP_OUT,
    PENDING_MAX = 2 * LIMIT_KERNEL_MESSAGE,
    PENDING_FULL = 1 << 20, /* bytes of it before the sources are paused */
    OUT_MAX = 256 << 10,
    WINDOW = 1 << 20, /* if the engine sets none */
    TAIL_MAX = 4096,
    DRAIN_MS = 200,
    TRY_MS = 20000,   /* for sockets in a folder, before TCP is tried */
    POLITE_MS = 2000, /* between shutdown_request, TERM and KILL */
    LEAVE_MS = 10000, /* for a kernel that ends by itself */
    PRESS_MS = 2000,  /* between two interrupts, and before "stuck" */
    WAKE_MS = 100     /* after an interrupt: an await notices it with the next message */
};

extern char **environ;

static void spawn_kernel(struct kernel_host *h);
static void close_outlets(struct kernel_host *h);
static void read_outlets(struct kernel_host *h);
static void end_kernel(struct kernel_host *h, bool restart);
static void host_message(struct kernel_host *h, const char *channel, const char *type,
                         struct json *take);

/* ---- to the engine ---- */

static void pause_all(struct kernel_host *h, bool pause)
{
    h->full = pause;
    host_zmtp_pause(h, pause);
    host_embedded_pause(h, pause);
}

/* Returns false if there is nothing to send. */
static bool anything(struct kernel_host *h)
{
    if (h->going.n == 0 && !host_pass_more(h)) {
        struct buf empty = h->going;
        h->going = h->pending;
        h->pending = empty;
    }
    return h->going.n > 0;
}

/*
 * Returns the bytes of waiting lines, without those of a long message that are not made
 * yet.
 */
static size_t waiting(const struct kernel_host *h) { return h->going.n + h->pending.n; }

static void trim(struct buf *b)
{
    if (b->n == 0 && b->cap > PENDING_FULL)
        buf_release(b);
}

void host_flush(struct kernel_host *h)
{
    while (h->sent < h->seen + h->window && anything(h)) {
        size_t n = h->going.n, room = stream_room(&h->out);
        uint64_t allowed = h->seen + h->window - h->sent;
        n = n < room ? n : room;
        n = n < allowed ? n : (size_t)allowed;
        if (n == 0) {
            stream_want_room(&h->out);
            break;
        }
        stream_write(&h->out, str_n(h->going.p, n));
        buf_consume(&h->going, n);
        h->sent += n;
    }
    trim(&h->going);
    trim(&h->pending);
    if (h->full && h->passing.rest.n == 0 && waiting(h) < PENDING_FULL)
        pause_all(h, false);
}

static void on_flush(struct task *t)
{
    host_flush(container_of(t, struct kernel_host, flush));
}

void host_whole(struct buf *lines, size_t at)
{
    if (!buf_full(lines))
        return;
    buf_truncate(lines, at);
    buf_resume(lines);
    buf_addz(lines, "{\"host\":\"note\",\"text\":"
                    "\"a message of the kernel is too long, and was left out\"}\n");
    buf_resume(lines);
}

void host_line(struct kernel_host *h, struct json *take)
{
    size_t at = h->pending.n;
    ASSERT(json_is_object(take));
    json_print(&h->pending, take);
    buf_addc(&h->pending, '\n');
    json_free(take);
    host_whole(&h->pending, at);
    host_flush(h);
}

static struct json *event(const char *what)
{
    struct json *j = json_object();
    json_put_z(j, "host", what);
    return j;
}

void host_say(struct kernel_host *h, const char *what, const char *text)
{
    struct json *j = event(what);
    if (text)
        json_put_z(j, "text", text);
    host_line(h, j);
}

void host_sent(struct kernel_host *h, const struct stream *out, bool is_sent)
{
    if (!is_sent)
        host_say(h, "note", "a request was lost: the kernel does not take it");
    else if (out->out.n > ZMTP_FULL)
        host_say(h, "full", NULL);
}

bool host_room(struct kernel_host *h)
{
    h->full = h->full || h->passing.rest.n > 0 || waiting(h) >= PENDING_FULL;
    return !h->full;
}

static void on_out_room(struct stream *s)
{
    host_flush(container_of(s, struct kernel_host, out));
}

static void on_out_data(struct stream *s) { buf_reset(&s->in); }

static void shut_down(struct kernel_host *h);

/* The output is closed: nobody reads the kernel's messages. */
static void on_out_end(struct stream *s, int errnum)
{
    (void)errnum;
    shut_down(container_of(s, struct kernel_host, out));
}

void host_ready(struct kernel_host *h)
{
    timer_stop(&h->limit);
    h->state = HOST_READY;
    h->busy = h->begun = h->wanted_stop = false;
    struct json *j = event("ready");
    json_put_int(j, "pid", h->pid);
    json_put_int(j, "start_ms", clock_ms() - h->started_ms);
    if (h->info)
        json_put(j, "info", h->info);
    h->info = NULL;
    host_line(h, j);
    stream_resume(&h->in);
    h->in.ev->on_data(&h->in);
}

static void kill_kernel(struct kernel_host *h, int sig)
{
    /* It leads a group of its own and is not reaped yet, so pid is still its number. */
    if (h->pid > 0)
        kill(-h->pid, sig);
}

static void put_tail(struct kernel_host *h, struct json *j)
{
    struct str t = str_trim(buf_str(&h->tail));
    json_put_str(j, "stderr", t);
}

void host_failed(struct kernel_host *h, const struct err *e)
{
    kill_kernel(h, SIGKILL);
    h->state = HOST_DEAD;
    timer_stop(&h->limit);
    host_zmtp_stop(h);
    host_embedded_stop(h);
    close_outlets(h);
    struct json *j = event("failed");
    json_put_z(j, "error", e->text);
    json_put_int(j, "code", e->code);
    put_tail(h, j);
    host_line(h, j);
    if (h->quit)
        loop_stop(h->loop);
    else
        stream_resume(&h->in); /* a restart may be asked for */
}

/* ---- interrupts ---- */

static void press(struct kernel_host *h)
{
    if (h->spec->by_message)
        host_zmtp_ask(h, CH_CONTROL, "interrupt_request", "{}");
    else
        kill_kernel(h, SIGINT);
    h->presses++;
}

/* Ends the cell of an embedded kernel that does not start: nothing of it is lost. */
static void give_up_start(struct kernel_host *h)
{
    struct json *error = json_object(), *idle = json_object();
    json_put_z(error, "status", "error");
    json_put_z(error, "ename", "KeyboardInterrupt");
    json_put_z(error, "evalue", "");
    struct json *lines = json_array();
    json_push_str(lines, STR("KeyboardInterrupt: the kernel had not started, and the "
                             "cell has not run"));
    json_put(error, "traceback", lines);
    struct json *reply = json_copy(error);
    json_put_z(idle, "execution_state", "idle");
    host_iopub(h, "error", error);
    host_message(h, "shell", "execute_reply", reply);
    host_idle(h);
    host_iopub(h, "status", idle);
    end_kernel(h, true);
}

static void on_press(struct timer *t)
{
    struct kernel_host *h = container_of(t, struct kernel_host, press);
    if (!h->busy || h->state != HOST_READY)
        return;
    if (h->spec->embedded && !h->alive) {
        give_up_start(h);
        return;
    }
    if (h->presses == 1 && h->begun && !h->spec->by_message && !h->spec->embedded) {
        host_zmtp_ask(h, CH_SHELL, "kernel_info_request", "{}");
        h->presses++;
        timer_begin(h->loop, t, PRESS_MS, on_press);
    } else if (h->presses <= 2) {
        press(h);
        h->presses = 3;
        timer_begin(h->loop, t, 2 * PRESS_MS, on_press);
    } else
        host_say(h, "stuck", "the kernel does not respond to interrupts");
}

static void press_first(struct kernel_host *h)
{
    bool by_signal = !h->spec->by_message && !h->spec->embedded;
    h->wanted_stop = false;
    h->presses = 0;
    press(h);
    timer_begin(h->loop, &h->press, by_signal ? WAKE_MS : PRESS_MS, on_press);
}

/*
 * A kernel that has not begun the cell would miss the interrupt, so the interrupt waits
 * for that, within a limit.
 */
static void interrupt(struct kernel_host *h)
{
    if (h->state != HOST_READY || !h->busy) {
        host_say(h, "idle", NULL);
    } else if (h->begun) {
        press_first(h);
    } else {
        h->wanted_stop = true;
        h->presses = 0;
        timer_begin(h->loop, &h->press, PRESS_MS, on_press);
    }
}

void host_begun(struct kernel_host *h)
{
    h->begun = true;
    if (h->busy)
        host_heart_begin(h);
    if (h->wanted_stop && h->busy)
        press_first(h);
}

void host_idle(struct kernel_host *h)
{
    read_outlets(h);
    h->busy = h->begun = h->wanted_stop = false;
    timer_stop(&h->press);
    host_heart_rest(h);
}

/* ---- the kernel's output, next to its messages ---- */

static void host_message(struct kernel_host *h, const char *channel, const char *type,
                         struct json *take)
{
    struct json *j = json_object(), *header = json_object();
    struct err e = ERR_INIT;
    char id[32];
    snprintf(id, sizeof(id), "fd-%u", h->asked++);
    json_put_z(j, "channel", channel);
    json_put_z(header, "msg_id", id);
    json_put_z(header, "msg_type", type);
    json_put_z(header, "version", "5.3");
    json_put(j, "header", header);
    struct json *parent = h->parent[0] ? json_parse(str_of(h->parent), &e) : NULL;
    json_put(j, "parent_header", parent ? parent : json_object());
    json_put(j, "metadata", json_object());
    json_put(j, "content", take);
    host_line(h, j);
}

void host_iopub(struct kernel_host *h, const char *type, struct json *take)
{
    host_message(h, "iopub", type, take);
}

static void keep_tail(struct kernel_host *h, struct str bytes)
{
    if (bytes.n > TAIL_MAX / 2)
        bytes = str_sub(bytes, bytes.n - TAIL_MAX / 2, bytes.n);
    if (h->tail.n + bytes.n > TAIL_MAX)
        buf_consume(&h->tail, h->tail.n / 2);
    buf_adds(&h->tail, bytes);
}

/* ipykernel itself passes on the output of a cell's programs. */
static void on_outlet(struct stream *s)
{
    struct outlet *o = container_of(s, struct outlet, s);
    struct kernel_host *h = o->h;
    bool python = h->spec->interpreter[0] && !h->spec->embedded;
    if (h->spec->embedded || (h->busy && !python)) {
        struct json *content = json_object();
        json_put_z(content, "name", o->name);
        json_put_str(content, "text", buf_str(&s->in));
        host_iopub(h, "stream", content);
    }
    if (strcmp(o->name, "stderr") == 0)
        keep_tail(h, buf_str(&s->in));
    buf_reset(&s->in);
}

/* Passes on what the programs of a cell have written to the pipes, before its end. */
static void read_outlets(struct kernel_host *h)
{
    char bytes[TAIL_MAX];
    for (int i = 0; i < 2; i++) {
        struct outlet *o = &h->outlets[i];
        ssize_t n;
        for (int k = 0;
             k < 32 && o->open && (n = read(o->s.io.fd, bytes, sizeof(bytes))) > 0; k++) {
            buf_add(&o->s.in, bytes, (size_t)n);
            on_outlet(&o->s);
        }
    }
}

static void on_outlet_end(struct stream *s, int errnum)
{
    struct outlet *o = container_of(s, struct outlet, s);
    (void)errnum;
    o->open = false;
    stream_close(s);
}

static const struct stream_events outlet_events = {on_outlet, NULL, on_outlet_end, NULL};

/* Reads what is left in the pipes: it may come after the kernel's exit was seen. */
static void close_outlets(struct kernel_host *h)
{
    char bytes[TAIL_MAX];
    for (int i = 0; i < 2; i++) {
        struct outlet *o = &h->outlets[i];
        ssize_t n;
        for (int k = 0; o->open && i == 1 && k < 32 &&
                        (n = read(o->s.io.fd, bytes, sizeof(bytes))) > 0;
             k++)
            keep_tail(h, str_n(bytes, (size_t)n));
        if (o->open)
            stream_close(&o->s);
        o->open = false;
    }
}

/* ---- the kernel's end ---- */

static void finish(struct kernel_host *h)
{
    timer_stop(&h->limit);
    host_zmtp_stop(h);
    host_embedded_stop(h);
    close_outlets(h);
    h->state = HOST_DEAD;
    h->busy = false;
    h->pid = 0;
    if (h->quit) {
        loop_stop(h->loop);
        return;
    }
    if (h->restart) {
        h->restart = false;
        spawn_kernel(h);
        return;
    }
    struct json *j = event("dead");
    if (WIFSIGNALED(h->status))
        json_put_int(j, "signal", WTERMSIG(h->status));
    else
        json_put_int(j, "exit", WEXITSTATUS(h->status));
    put_tail(h, j);
    host_line(h, j);
    stream_resume(&h->in); /* a restart may be asked for */
}

static bool is_python(const struct kernel_host *h)
{
    return strcmp(h->spec->language, "python") == 0;
}

/*
 * Starts the kernel once more, with TCP, if it had sockets in a folder. Python's know
 * these.
 */
static bool try_tcp(struct kernel_host *h)
{
    if (is_python(h) || !host_zmtp_may_need_tcp(h))
        return false;
    h->list.v[h->spec - h->list.v].tcp = true;
    log_info("the kernel %s is started with TCP", h->spec->name);
    host_zmtp_stop(h);
    spawn_kernel(h);
    return true;
}

/* The kernel ended before it answered: tries another one. */
static void start_failed(struct kernel_host *h)
{
    struct err e = ERR_INIT;
    struct kernel_list *l = &h->list;
    bool python = is_python(h) && !h->spec->embedded;
    err_set(&e, ERR_GONE, "the kernel %s (%s) ended before it answered, with %s %d",
            h->spec->name, h->spec->where, WIFSIGNALED(h->status) ? "signal" : "status",
            WIFSIGNALED(h->status) ? WTERMSIG(h->status) : WEXITSTATUS(h->status));
    const struct kernel_spec *other = python && h->choice == KERNEL_ANY
                                          ? kernel_choose(l, STR(""), KERNEL_OWN_ONLY,
                                                          &(struct err){0})
                                          : NULL;
    h->pid = 0;
    close_outlets(h);
    if (try_tcp(h))
        return;
    if (!other) {
        host_failed(h, &e);
        return;
    }
    struct buf text = BUF_INIT(TAIL_MAX + 1024);
    struct str tail = str_trim(buf_str(&h->tail));
    buf_addf(&text, "%s; the embedded kernel is used instead. Its output: %.*s", e.text,
             (int)tail.n, tail.n ? tail.p : "nothing");
    host_say(h, "note", buf_z(&text));
    buf_release(&text);
    host_zmtp_stop(h);
    host_zmtp_clean(h);
    h->spec = other;
    spawn_kernel(h);
}

static void on_limit(struct timer *t)
{
    struct kernel_host *h = container_of(t, struct kernel_host, limit);
    struct err e = ERR_INIT;
    switch (h->state) {
    case HOST_STARTING:
        if (h->trying) {
            h->trying = false;
            if (host_zmtp_may_need_tcp(h))
                kill_kernel(h, SIGKILL); /* and its exit follows */
            timer_begin(h->loop, t, LIMIT_KERNEL_START_MS - TRY_MS, on_limit);
            break;
        }
        err_set(&e, ERR_TIMEOUT,
                "the kernel %s (%s) did not answer within %d s; the last of its error "
                "output follows",
                h->spec->name, h->spec->where, LIMIT_KERNEL_START_MS / 1000);
        host_failed(h, &e);
        break;
    case HOST_ENDING:
        kill_kernel(h, h->presses++ ? SIGKILL : SIGTERM);
        timer_begin(h->loop, t, POLITE_MS, on_limit);
        break;
    case HOST_DRAIN:
        finish(h);
        break;
    default:
        break;
    }
}

static void end_kernel(struct kernel_host *h, bool restart)
{
    h->restart = restart;
    if (h->state == HOST_DEAD) {
        finish(h);
        return;
    }
    if (h->state == HOST_ENDING || h->state == HOST_DRAIN)
        return;
    timer_stop(&h->press);
    bool answering = h->state == HOST_READY && !h->busy;
    h->state = HOST_ENDING;
    h->presses = 0;
    if (h->spec->embedded)
        kill_kernel(h, SIGTERM);
    else if (answering)
        host_zmtp_ask(h, CH_CONTROL, "shutdown_request",
                      restart ? "{\"restart\":true}" : "{\"restart\":false}");
    else
        kill_kernel(h, SIGTERM);
    timer_begin(h->loop, &h->limit, POLITE_MS, on_limit);
}

/*
 * A cell asked for the end (messaging document, "Payloads", ask_exit). ipykernel then
 * ends by itself, IRkernel waits for the request.
 */
static void leave(struct kernel_host *h)
{
    if (h->state != HOST_READY)
        return;
    timer_stop(&h->press);
    h->state = HOST_ENDING;
    h->restart = false;
    h->presses = 0;
    if (!h->spec->embedded)
        host_zmtp_ask(h, CH_CONTROL, "shutdown_request", "{\"restart\":false}");
    timer_begin(h->loop, &h->limit, LEAVE_MS, on_limit);
}

static void shut_down(struct kernel_host *h)
{
    h->quit = true;
    end_kernel(h, false);
}

static void on_signal(struct io *io, uint32_t events)
{
    struct kernel_host *h = container_of(io, struct kernel_host, signals);
    (void)events;
    for (int s; (s = sig_next(io->fd)) != 0;) {
        if (s != SIGCHLD)
            shut_down(h);
    }
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid != h->pid)
            continue;
        h->status = status;
        kill_kernel(h, SIGKILL); /* processes that are left in its group */
        if (h->state == HOST_DEAD) {
            h->pid = 0; /* it was abandoned before */
        } else if (h->state == HOST_STARTING) {
            start_failed(h);
        } else {
            h->state = HOST_DRAIN;
            timer_begin(h->loop, &h->limit, DRAIN_MS, on_limit);
        }
    }
}

/* ---- starting ---- */

static int open_outlets(struct kernel_host *h, int theirs[2])
{
    for (int i = 0; i < 2; i++) {
        int fds[2];
        if (pipe2(fds, O_CLOEXEC) < 0)
            return -1;
        fcntl(fds[0], F_SETFL, O_NONBLOCK);
        theirs[i] = fds[1];
        h->outlets[i] = (struct outlet){.h = h, .name = i ? "stderr" : "stdout"};
        if (stream_open(&h->outlets[i].s, h->loop, fds[0], 64 << 10, 0, &outlet_events) <
            0)
            return -1;
        h->outlets[i].open = true;
    }
    return 0;
}

static char **environment(struct kernel_host *h)
{
    int n = 0, k = 0;
    while (environ[n])
        n++;
    while (h->spec->env && h->spec->env[k])
        k++;
    char **v = xcalloc((size_t)(n + k) + 3, sizeof(*v));
    int at = 0;
    for (int i = 0; i < n; i++) {
        if (strncmp(environ[i], "PYTHONEXECUTABLE=", 17) != 0 &&
            strncmp(environ[i], "JPY_PARENT_PID=", 15) != 0)
            v[at++] = xstrdup(environ[i]);
    }
    for (int i = 0; i < k; i++)
        v[at++] = xstrdup(h->spec->env[i]);
    if (!h->spec->embedded && h->spec->interpreter[0]) {
        char parent[40];
        snprintf(parent, sizeof(parent), "JPY_PARENT_PID=%d", (int)getpid());
        v[at++] = xstrdup(parent);
        v[at++] = xstrdup("PYDEVD_DISABLE_FILE_VALIDATION=1");
    }
    return v;
}

static int start_program(struct kernel_host *h, char **argv, int in, int theirs[2],
                         struct err *e)
{
    char **envp = environment(h);
    struct spawn s = {
        .path = argv[0], .argv = argv, .envp = envp, .fds = {in, theirs[0], theirs[1]}};
    int report = -1;
    struct spawn_failure f = {0};
    int r = spawn_start(&s, &h->pid, &report);
    if (r < 0)
        err_sys(e, errno, "cannot start the kernel %s", h->spec->name);
    /* The exec follows within milliseconds, and ends the pipe. */
    else if (read(report, &f, sizeof(f)) == sizeof(f))
        r = err_sys(e, f.errnum, "cannot run %s for the kernel %s", argv[0],
                    h->spec->name);
    if (report >= 0)
        close(report);
    for (int i = 0; envp[i]; i++)
        free(envp[i]);
    free(envp);
    return r;
}

static void tell_starting(struct kernel_host *h)
{
    const struct kernel_spec *s = h->spec;
    struct json *j = event("starting");
    json_put_z(j, "kernel", s->name);
    json_put_z(j, "display", s->display);
    json_put_z(j, "language", s->language);
    json_put_z(j, "where", s->where);
    json_put_z(j, "interpreter", s->interpreter);
    json_put_bool(j, "embedded", s->embedded);
    host_line(h, j);
}

static void spawn_kernel(struct kernel_host *h)
{
    struct err e = ERR_INIT;
    int theirs[2] = {-1, -1}, in = -1, pair[2] = {-1, -1};
    char **argv = NULL;
    h->state = HOST_STARTING;
    h->started_ms = clock_ms();
    buf_reset(&h->tail);
    close_outlets(h);
    h->busy = h->begun = false;
    tell_starting(h);
    if (h->spec->embedded) {
        argv = host_embedded_argv(h);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
            fcntl(pair[0], F_SETFL, O_NONBLOCK);
            in = pair[1];
        }
    } else {
        if (host_zmtp_prepare(h, &e) < 0)
            goto failed;
        argv = kernel_argv(h->spec, h->file);
        in = null_open();
    }
    if (in < 0 || open_outlets(h, theirs) < 0) {
        err_sys(&e, errno, "cannot start the kernel %s", h->spec->name);
        goto failed;
    }
    if (start_program(h, argv, in, theirs, &e) < 0)
        goto failed;
    h->trying = !is_python(h) && host_zmtp_may_need_tcp(h);
    timer_begin(h->loop, &h->limit, h->trying ? TRY_MS : LIMIT_KERNEL_START_MS, on_limit);
    if (h->spec->embedded) {
        host_embedded_start(h, pair[0]);
        pair[0] = -1;
        host_ready(h);
    } else
        host_zmtp_start(h);
    goto out;
failed:
    host_failed(h, &e);
out:
    kernel_argv_free(argv);
    for (int i = 0; i < 2; i++) {
        if (theirs[i] >= 0)
            close(theirs[i]);
        if (pair[i] >= 0 && pair[i] != in)
            close(pair[i]);
    }
    if (in >= 0)
        close(in);
}

/* ---- from the engine ---- */

/* Remembers the cell that is sent. */
static void take_cell(struct kernel_host *h, const struct json *j)
{
    const struct json *header = json_get(j, "header");
    struct buf b = BUF_INIT(sizeof(h->parent) - 1);
    if (!str_eq(json_str(header, "msg_type", ""), STR("execute_request")))
        return;
    h->busy = true;
    h->begun = false;
    host_lost_cell(h);
    h->parent[0] = 0;
    if (json_print(&b, header) == 0)
        memcpy(h->parent, buf_z(&b), b.n + 1);
    buf_release(&b);
}

static void on_request(struct kernel_host *h, const struct json *j, struct str line)
{
    static const char *const names[] = {"shell", "iopub", "stdin", "control"};
    struct str channel = json_str(j, "channel", "");
    for (int i = 0; i < CHANNELS; i++) {
        if (i == CH_IOPUB || !str_eq(channel, str_of(names[i])))
            continue;
        if (h->state != HOST_READY) {
            host_say(h, "note", "a request came while there is no kernel");
            return;
        }
        if (i == CH_SHELL)
            take_cell(h, j);
        if (h->spec->embedded)
            host_embedded_send(h, line);
        else
            host_zmtp_send(h, (enum host_channel)i, j);
        return;
    }
    host_say(h, "note", "a line is not a request");
}

static void on_in_data(struct stream *s)
{
    struct kernel_host *h = container_of(s, struct kernel_host, in);
    while (h->state == HOST_READY || h->state == HOST_DEAD) {
        struct str have = buf_str(&s->in);
        long nl = str_chr(have, '\n');
        if (nl < 0)
            break;
        struct str line = str_sub(have, 0, (size_t)nl);
        struct err e = ERR_INIT;
        struct json *j = json_parse(line, &e);
        struct str what = json_str(j, "host", "");
        bool restart = str_eq(what, STR("restart"));
        if (!j && line.n)
            host_say(h, "note", e.text);
        else if (str_eq(what, STR("interrupt")))
            interrupt(h);
        else if (str_eq(what, STR("leave")))
            leave(h);
        else if (str_eq(what, STR("read"))) {
            h->seen = (uint64_t)json_int(j, "to", 0);
            host_flush(h);
        } else if (j && !restart)
            on_request(h, j, line);
        json_free(j);
        buf_consume(&s->in, (size_t)nl + 1);
        if (restart)
            end_kernel(h, true);
    }
    if (h->state != HOST_READY && h->state != HOST_DEAD)
        stream_pause(s);
    else
        stream_resume(s);
}

static void on_in_end(struct stream *s, int errnum)
{
    (void)errnum;
    shut_down(container_of(s, struct kernel_host, in));
}

static const struct stream_events in_events = {on_in_data, NULL, on_in_end, NULL};
static const struct stream_events out_events = {on_out_data, on_out_room, on_out_end,
                                                NULL};

static int open_all(struct kernel_host *h)
{
    static const int signals[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    int sig = sig_open(signals, 4);
    fcntl(0, F_SETFL, O_NONBLOCK);
    fcntl(1, F_SETFL, O_NONBLOCK);
    signal(SIGPIPE, SIG_IGN);
    return !h->loop || sig < 0 ||
                   io_start(h->loop, &h->signals, sig, EPOLLIN, on_signal) < 0 ||
                   stream_open(&h->out, h->loop, 1, 4096, OUT_MAX, &out_events) < 0 ||
                   stream_open(&h->in, h->loop, 0, LINE_MAX_IN, 0, &in_events) < 0
               ? -1
               : 0;
}

int kernel_host_run(const char *options)
{
    struct err e = ERR_INIT;
    struct kernel_host *h = xnew(struct kernel_host);
    struct json *o = json_parse(str_of(options), &e);
    struct str choice = json_str(o, "choice", "any");
    char cwd[PATH_MAX];
    h->file_fd = -1;
    h->loop = loop_new();
    task_init(&h->flush, on_flush);
    buf_init(&h->tail, TAIL_MAX);
    buf_init(&h->going, PENDING_MAX);
    buf_init(&h->pending, PENDING_MAX);
    if (open_all(h) < 0) {
        fprintf(stderr, "cannot be the host of a kernel: %s\n", strerror(errno));
        return 1;
    }
    h->choice = str_eq(choice, STR("own"))       ? KERNEL_OWN_ONLY
                : str_eq(choice, STR("jupyter")) ? KERNEL_JUPYTER_ONLY
                                                 : KERNEL_ANY;
    h->wanted = json_str(o, "kernel", "");
    h->keep = json_str(o, "keep", "/dev/null");
    int64_t window = json_int(o, "window", WINDOW);
    h->window = window > 4096 ? (uint64_t)window : WINDOW;
    kernel_find(&h->list, environ, getcwd(cwd, sizeof(cwd)));
    h->spec = kernel_choose(&h->list, h->wanted, h->choice, &e);
    int r = -1;
    if (h->spec) {
        spawn_kernel(h);
        r = loop_run(h->loop);
    } else
        host_failed(h, &e); /* it is shorter than a pipe's buffer */
    kill_kernel(h, SIGKILL);
    host_zmtp_clean(h);
    kernel_list_release(&h->list);
    json_free(o);
    return r < 0;
}
