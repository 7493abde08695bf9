/* SPDX-License-Identifier: MIT */
/*
 * Raw mode around a call. The session's own tty echoes and translates, so only
 * the detach key is interpreted here.
 */
#include "ipc/attach.h"

#include "base/called.h"
#include "base/list.h"
#include "ipc/call.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/*
 * Turns off modes that a full-screen program may have left on at the time of the detach:
 * mouse reports, bracketed paste, a hidden cursor, colours.
 */
#define TIDY "\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[?2004l\033[?25h\033[0m"
#define ALT_OFF "\033[?1049l"

struct attach {
    struct call call;
    struct termios before;
    int key;
    bool detached;
    bool alternate;   /* the alternate screen is on */
    unsigned matched; /* bytes of its sequence seen at the end of the output */
    int signo;
};

static struct attach *attach_of(struct call *c)
{
    return container_of(c, struct attach, call);
}

/* Follows ESC [ ? 1 0 4 9 h and l; wherever the output is cut. */
static void watch_screen(struct attach *a, struct str bytes)
{
    static const char on[] = "\033[?1049";
    for (size_t i = 0; i < bytes.n; i++) {
        char ch = bytes.p[i];
        if (a->matched == sizeof(on) - 1) {
            if (ch == 'h' || ch == 'l')
                a->alternate = ch == 'h';
            a->matched = 0;
        }
        if (ch == on[a->matched])
            a->matched++;
        else
            a->matched = ch == on[0];
    }
}

/* The session's terminal does not translate output of an agent's command: done here. */
static int write_lines(struct call *c, struct str bytes)
{
    struct buf lines = BUF_INIT(2 * FRAME_MAX);
    int r = 0;
    for (long nl; r == 0 && (nl = str_chr(bytes, '\n')) >= 0;) {
        r = buf_add(&lines, bytes.p, (size_t)nl) < 0 || buf_addz(&lines, "\r\n") < 0;
        bytes = str_sub(bytes, (size_t)nl + 1, bytes.n);
    }
    r = r == 0 && buf_adds(&lines, bytes) == 0
            ? call_write(c, STDOUT_FILENO, buf_str(&lines))
            : -1;
    buf_release(&lines);
    return r;
}

static int on_output(struct call *c, bool error, struct str bytes)
{
    watch_screen(attach_of(c), bytes);
    return error ? write_lines(c, bytes) : call_write(c, STDOUT_FILENO, bytes);
}

static void put_line(struct str text)
{
    struct buf line = BUF_INIT(1024);
    if (buf_addf(&line, "\r\n%s: %.*s\r\n", called_name(), STR_ARG(text)) == 0) {
        ssize_t ignored = write(STDERR_FILENO, line.p, line.n);
        (void)ignored;
    }
    buf_release(&line);
}

/* Shows only notes about what the screen does not show. */
static void on_note(struct call *c, const struct json *note)
{
    (void)c;
    struct str kind = json_str(note, "note", "");
    if (str_eq(kind, STR("shell")) || str_eq(kind, STR("fresh_shell")))
        put_line(json_str(note, "text", "a new shell was started"));
}

static void put_size(struct json *j)
{
    struct winsize w;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_row == 0 || w.ws_col == 0)
        return;
    json_put_int(j, "rows", w.ws_row);
    json_put_int(j, "cols", w.ws_col);
}

static void on_signal(struct call *c, int signo)
{
    if (signo == SIGWINCH) {
        struct json *size = json_object();
        put_size(size);
        if (json_count(size) > 0)
            call_send(c, 'Z', size);
        json_free(size);
        return;
    }
    attach_of(c)->signo = signo;
    call_leave(c, 0);
}

static size_t on_input(struct call *c, const char *p, size_t n)
{
    struct attach *a = attach_of(c);
    const char *at = a->key >= 0 && n > 0 ? memchr(p, a->key, n) : NULL;
    if (n == 0) /* the terminal is gone: not an end of input */
        at = p;
    if (!at)
        return n;
    a->detached = true;
    call_leave(c, 0);
    return (size_t)(at - p);
}

static const struct call_events events = {
    .on_output = on_output,
    .on_note = on_note,
    .on_signal = on_signal,
    .on_input = on_input,
};

static int go_raw(struct termios *before, struct err *e)
{
    if (tcgetattr(STDIN_FILENO, before) < 0)
        return err_sys(e, errno, "cannot attach: standard input is no terminal");
    struct termios raw = *before;
    cfmakeraw(&raw);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
        return err_sys(e, errno, "cannot make the terminal raw");
    return 0;
}

static void restore(struct attach *a)
{
    struct buf tidy = BUF_INIT(256);
    buf_addz(&tidy, a->alternate ? ALT_OFF TIDY "\r\n" : TIDY "\r\n");
    ssize_t ignored = write(STDOUT_FILENO, tidy.p, tidy.n);
    (void)ignored;
    buf_release(&tidy);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &a->before);
}

enum attach_end attach_run(struct client *client, struct json *request,
                           int signals, int key, int *exit_code, struct err *e)
{
    struct attach a = {.key = key};
    if (go_raw(&a.before, e) < 0)
        return ATTACH_FAILED;
    put_size(request);
    call_init(&a.call, client, request, &events);
    a.call.input = STDIN_FILENO;
    a.call.signals = signals;
    struct json *r = call_run(&a.call, e);
    call_release(&a.call);
    restore(&a);

    enum attach_end end = ATTACH_FAILED;
    *exit_code = 0;
    if (r && json_bool(r, "ok", false)) {
        *exit_code = (int)json_int(r, "exit", 0);
        end = json_has(r, "exit") ? ATTACH_ENDED : ATTACH_DETACHED;
    } else if (r) {
        const struct json *error = json_get(r, "error");
        struct str text = json_str(error, "text", "the server refused");
        err_set(e, ERR_IO, "%.*s", STR_ARG(text));
    } else if (a.detached) {
        end = ATTACH_DETACHED;
    } else if (a.signo) {
        end = ATTACH_SIGNAL;
        *exit_code = 128 + a.signo;
    }
    json_free(r);
    return end;
}
