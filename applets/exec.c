/* SPDX-License-Identifier: MIT */
/*
 * `od exec`: the shells of the server, from a command line.
 *
 * Options become one request (frame.h), a call (call.h) carries it to its result, and the
 * result becomes output, one line of text and an exit status. Input and output pass
 * through a fixed buffer, so memory is the same for a line and for a gigabyte. The
 * options are in exec_options.c, the requests in exec_request.c, --stop in exec_stop.c.
 */
#include "applet.h"
#include "base/called.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/list.h"
#include "base/xalloc.h"
#include "exec.h"
#include "exec.txt.gz.h"
#include "ipc/answer.h"
#include "ipc/attach.h"
#include "ipc/call.h"
#include "os/null.h"
#include "os/sig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define INTERRUPT_MS 1000 /* for passing C-c on, and between two of them */

#define TERM_MS 2000      /* time for a command to end after our SIGTERM */

/* A call, with what its callbacks need. */
struct exec {
    struct call call;
    const struct exec_options *o;
    bool queued;          /* it waits for another's command, which C-c must not reach */
    bool forward;         /* C-c goes to the command */
    bool nobody_reads;
    bool early;           /* C-c came before the command had begun */
    int64_t interrupted;  /* time of the last one; 0: none */
    int signo;            /* the signal that ended the wait; 0: none */
    char *process;        /* from the note "started"; owned */
    int64_t op;           /* the same; -1: not known */
};

/* The last byte written to standard output and to standard error. */
static char last_byte[2] = {'\n', '\n'};

/* Whether both are the same terminal, file or pipe, and are read as one text. */
static bool one_place(void)
{
    static enum { UNKNOWN, ONE, TWO } place;
    struct stat out, err;
    if (place == UNKNOWN) {
        bool both = fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0;
        bool same = both && out.st_dev == err.st_dev && out.st_ino == err.st_ino;
        place = same || (isatty(STDOUT_FILENO) && isatty(STDERR_FILENO)) ? ONE : TWO;
    }
    return place == ONE;
}

static void wrote(int fd, struct str bytes)
{
    if (bytes.n > 0)
        last_byte[fd == STDERR_FILENO] = bytes.p[bytes.n - 1];
    if (bytes.n > 0 && one_place())
        last_byte[0] = last_byte[1] = bytes.p[bytes.n - 1];
}

/*
 * Prints one line on standard error, for any bytes in the text; it begins at the margin.
 */
void exec_say(struct str text)
{
    struct buf line = BUF_INIT(8192);
    buf_adds(&line, str_sub(text, 0, 8000));
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '\n' || line.p[i] == '\t' || line.p[i] == 0)
            line.p[i] = ' ';
    }
    if (last_byte[1] == '\n')
        called_say("%s\n", buf_z(&line));
    else
        called_add("\n%s: %s\n", called_name(), buf_z(&line));
    wrote(STDERR_FILENO, STR("\n"));
    buf_release(&line);
}

/* Writes text to fd. Returns -1 after an error message if it cannot be written. */
static int print_to(int fd, struct str text)
{
    wrote(fd, text);
    while (text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);
        if (n > 0) {
            text = str_sub(text, (size_t)n, text.n);
        } else if (errno == EAGAIN) {
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            poll(&p, 1, -1);
        } else if (errno != EINTR) {
            struct err e;
            err_sys(&e, errno, "cannot write the output");
            if (errno != EPIPE)
                exec_say(str_of(e.text));
            return -1;
        }
    }
    return 0;
}

static int print(struct str text) { return print_to(STDOUT_FILENO, text); }

static int print_json(const struct json *j)
{
    struct buf out = BUF_INIT(2 * FRAME_MAX);
    json_print(&out, j);
    buf_addc(&out, '\n');
    if (buf_full(&out))
        exec_say(STR("the answer is too long to be printed"));
    int ok = buf_full(&out) ? -1 : print(buf_str(&out));
    buf_release(&out);
    return ok;
}

/* Reports an error of od exec itself. */
int exec_fail(const struct exec_options *o, const struct err *e)
{
    exec_say(str_of(e->text));
    if (o->json) {
        struct json *r = json_object(), *error = json_object();
        json_put_bool(r, "ok", false);
        json_put_z(error, "code", err_name(e->code));
        json_put_z(error, "text", e->text);
        json_put(r, "error", error);
        print_json(r);
        json_free(r);
    }
    return ANSWER_OURS;
}

static int signals_fd = -1;

static int open_signals(bool attach, struct err *e)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
    signals_fd = sig_pipe(signals, attach ? 5 : 3);
    return signals_fd < 0 ? err_sys(e, errno, "cannot make a pipe") : 0;
}

static struct exec *exec_of(struct call *c)
{
    return container_of(c, struct exec, call);
}

/* Sends C-c to the command, on another connection, once it has begun. */
static void interrupt(struct exec *x)
{
    const struct exec_options *o = x->o;
    x->early = x->op < 0 && !x->process;
    if (x->early)
        return;
    struct json *q = exec_request("signal");
    if (x->process)
        json_put_z(q, "process", x->process);
    else
        json_put_z(q, "session", o->session ? o->session : "main");
    /* The id keeps it from reaching a command after ours. */
    if (x->op >= 0)
        json_put_int(q, "op", x->op);
    json_put_z(q, "signal", "INT");
    json_free(call_simple(x->call.client->server.path, q, INTERRUPT_MS, NULL));
    json_free(q);
}

static void leave(struct exec *x, int signo, int64_t ms)
{
    x->signo = signo;
    call_leave(&x->call, ms);
}

static void on_signal(struct call *c, int signo)
{
    struct exec *x = exec_of(c);
    int64_t now = clock_ms();
    bool again = x->interrupted && now - x->interrupted < INTERRUPT_MS;
    if (signo == SIGHUP || !x->forward || x->queued || (signo == SIGINT && again)) {
        leave(x, signo, 0);
        return;
    }
    x->interrupted = now;
    if (signo == SIGTERM)
        leave(x, signo, TERM_MS);
    interrupt(x);
}

static int on_output(struct call *c, bool error, struct str bytes)
{
    struct exec *x = exec_of(c);
    int fd = error ? STDERR_FILENO : STDOUT_FILENO;
    x->queued = false;
    if (call_write(c, fd, bytes) == 0) {
        wrote(fd, bytes);
        return 0;
    }
    int saved = errno;
    if (saved == EPIPE) {
        x->nobody_reads = true;
        if (x->forward)
            interrupt(x);
    }
    errno = saved;
    return -1;
}

static void on_started(struct exec *x, const struct json *note)
{
    struct str process = json_str(note, "process", "");
    x->queued = false;
    x->op = json_int(note, "op", -1);
    free(x->process);
    x->process = process.n ? xstrndup(process.p, process.n) : NULL;
    if (x->early)
        interrupt(x);
}

static void on_note(struct call *c, const struct json *note)
{
    struct exec *x = exec_of(c);
    struct str kind = json_str(note, "note", "");
    if (str_eq(kind, STR("started")))
        on_started(x, note);
    bool queued = str_eq(kind, STR("queued")), stuck = str_eq(kind, STR("stdin"));
    bool waiting = str_eq(kind, STR("waiting")) || str_eq(kind, STR("probably_waiting"));
    x->queued = x->queued || queued;
    if (x->o->quiet || (waiting && x->o->return_on_input))
        return; /* the result will report it */
    /* With --json, the result also reports what can wait until then. */
    if (x->o->json && !queued && !waiting && !stuck)
        return;
    struct buf text = BUF_INIT(8192);
    answer_note(&text, note);
    if (text.n)
        exec_say(buf_str(&text));
    buf_release(&text);
}

static const struct call_events events = {
    .on_output = on_output,
    .on_note = on_note,
    .on_signal = on_signal,
};

/* Prints a result: output, text, status. */
int exec_report(const struct exec_options *o, const struct json *r)
{
    int status = answer_exit(r);
    bool ok = json_bool(r, "ok", false);
    if (o->json) {
        if (print_json(r) < 0)
            return ANSWER_OURS;
    } else if (json_has(r, "output")) {
        if (print(json_str(r, "output", "")) < 0 ||
            print_to(STDERR_FILENO, json_str(r, "stderr", "")) < 0)
            return ANSWER_OURS;
    }
    struct buf text = BUF_INIT(8192);
    if (o->detach && ok && !o->json) {
        answer_option(&text, r);
        buf_addc(&text, '\n');
        print(buf_str(&text));
        buf_reset(&text);
    }
    struct buf command = BUF_INIT(8192);
    exec_command(&command, o);
    answer_words(&text, r, buf_z(&command));
    buf_release(&command);
    if (text.n && (!ok || (!o->quiet && !o->json)))
        exec_say(buf_str(&text));
    buf_release(&text);
    return status;
}

/* Ends a call without a result. */
static int no_result(struct exec *x, const struct err *e)
{
    if (x->nobody_reads)
        return 128 + SIGPIPE;
    if (x->signo) {
        if (!x->o->quiet && !x->queued && x->forward)
            exec_say(STR("no longer waited for; the command goes on"));
        return 128 + x->signo;
    }
    if (e->code == ERR_CANCELLED)
        return ANSWER_EARLY;
    return exec_fail(x->o, e);
}

/* Carries out q on an open client. forward: it is our own command. */
static int perform(struct client *client, const struct exec_options *o,
                   const struct json *q, bool input, bool forward)
{
    struct err e = ERR_INIT;
    struct exec x = {.o = o, .forward = forward, .op = -1};
    call_init(&x.call, client, q, &events);
    x.call.signals = signals_fd;
    x.call.input = input ? STDIN_FILENO : -1;
    if (forward) {
        x.call.limit_ms = o->limit_ms;
        x.call.idle_ms = o->text || o->json ? 0 : o->idle_ms;
    } else if (o->limit_ms && o->follow) {
        call_leave(&x.call, o->limit_ms);
    } else if (!o->follow) {
        x.call.idle_ms = SMALL_MS;
        x.call.started = true;
    }
    struct json *r = call_run(&x.call, &e);
    int status = r ? exec_report(o, r) : no_result(&x, &e);
    json_free(r);
    free(x.process);
    call_release(&x.call);
    return status;
}

/*
 * Connects, carries out one request, and returns the exit status. Takes q; NULL: reports
 * e.
 */
static int perform_alone(const struct exec_options *o, struct json *q, bool start,
                         bool input, bool forward, struct err *e)
{
    struct client client = {.fd = -1};
    int status = ANSWER_OURS;
    if (q)
        exec_put_command(q, o);
    if (!q || client_open(&client, o->server, start, e) < 0)
        exec_fail(o, e);
    else
        status = perform(&client, o, q, input, forward);
    client_close(&client);
    json_free(q);
    return status;
}

static int do_run(const struct exec_options *o, struct err *e)
{
    bool input = exec_stdin_is_input(o);
    return perform_alone(o, exec_run_request(o, input, e), true, input, true, e);
}

static int do_wait(const struct exec_options *o, struct err *e)
{
    struct json *q = exec_request("wait");
    if (exec_put_target(q, o, e) < 0) {
        json_free(q);
        q = NULL;
    } else {
        exec_put_waiting(q, o);
    }
    return perform_alone(o, q, false, false, true, e);
}

/* Sends input or a signal, and then waits for --wait if that worked. */
static int do_send(const struct exec_options *o, struct err *e)
{
    int status = 0;
    /* Only the last of several results is printed. */
    struct exec_options first = *o;
    first.json = o->json && !(o->verbs & V_WAIT);
    if (o->verbs & V_SEND)
        status = perform_alone(&first, exec_input_request(o, e), false, false, false, e);
    if (status == 0 && (o->verbs & V_SIGNAL))
        status = perform_alone(&first, exec_target_request("signal", o, e), false, false,
                               false, e);
    if (status == 0 && (o->verbs & V_WAIT))
        status = do_wait(o, e);
    return status;
}

static int do_kill(const struct exec_options *o, struct err *e)
{
    struct json *q = exec_target_request("kill", o, e);
    if (q && o->end)
        json_put_bool(q, "end", true);
    return perform_alone(o, q, false, false, false, e);
}

static int do_attach(const struct exec_options *o, struct err *e)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        err_set(e, ERR_INVALID, "-i needs a terminal as standard input and output");
        return exec_fail(o, e);
    }
    struct client client = {.fd = -1};
    struct json *q = exec_request("attach");
    exec_put_command(q, o);
    const char *term = getenv("TERM"), *name = o->session ? o->session : "main";
    int status = ANSWER_OURS, code = 0;
    enum attach_end end = ATTACH_FAILED;
    if (exec_put_target(q, o, e) == 0 && exec_put_making(q, o, e) == 0 &&
        exec_put_text(q, "term", term, e) == 0 &&
        client_open(&client, o->server, true, e) == 0)
        end = attach_run(&client, q, signals_fd, o->detach_key, &code, e);
    client_close(&client);
    json_free(q);
    struct buf text = BUF_INIT(1024);
    switch (end) {
    case ATTACH_FAILED:
        exec_fail(o, e);
        break;
    case ATTACH_DETACHED:
        buf_addf(&text, "detached from session %s, which goes on", name);
        status = 0;
        break;
    case ATTACH_ENDED:
        buf_addf(&text, "session %s has ended", name);
        status = code;
        break;
    case ATTACH_SIGNAL:
        status = code;
        break;
    }
    if (text.n && !o->quiet)
        exec_say(buf_str(&text));
    buf_release(&text);
    return status;
}

/* Without a server the list is empty. */
static int do_list(const struct exec_options *o, struct err *e)
{
    struct json *q = exec_request("list");
    struct json *r = call_simple(o->server, q, SMALL_MS, e);
    json_free(q);
    if (!r && e->code == ERR_NOTFOUND) {
        r = json_object();
        json_put_bool(r, "ok", true);
        json_put(r, "sessions", json_array());
        json_put(r, "processes", json_array());
    }
    if (!r)
        return exec_fail(o, e);
    int status = 0;
    if (o->json || !json_bool(r, "ok", false)) {
        status = exec_report(o, r);
    } else {
        struct buf table = BUF_INIT(FRAME_MAX);
        answer_table(&table, r);
        status = print(buf_str(&table)) < 0 ? ANSWER_OURS : 0;
        buf_release(&table);
    }
    json_free(r);
    return status;
}

static int dispatch(const struct exec_options *o, struct err *e)
{
    switch (o->verbs) {
    case V_RUN:
        return do_run(o, e);
    case V_WAIT:
        return do_wait(o, e);
    case V_KILL:
        return do_kill(o, e);
    case V_LOGS:
        return perform_alone(o, exec_logs_request(o, e), false, false, false, e);
    case V_ATTACH:
        return do_attach(o, e);
    case V_LIST:
        return do_list(o, e);
    case V_STOP:
        return exec_stop(o, e);
    case V_PUT:
    case V_GET:
        return exec_copy(o, signals_fd, e);
    default:
        return do_send(o, e);
    }
}

static int exec_main(int argc, char **argv)
{
    struct exec_options o;
    struct err e = ERR_INIT;
    int status;
    null_fill(); /* none of our descriptors may become standard output */
    if (exec_parse(&o, argc, argv, &e) < 0) {
        status = exec_fail(&o, &e);
    } else if (o.verbs & V_HELP) {
        status = applet_help(&applet_exec) ? ANSWER_OURS : 0;
    } else if (open_signals(o.verbs & V_ATTACH, &e) < 0) {
        status = exec_fail(&o, &e);
    } else {
        signal(SIGPIPE, SIG_IGN);
        status = dispatch(&o, &e);
    }
    exec_options_free(&o);
    return status;
}

const struct applet applet_exec = {
    .name = "exec",
    .brief = "run a command in a shell that stays",
    .packed = PACKED(exec_txt_gz),
    .main = exec_main,
};
