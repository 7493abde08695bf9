/* SPDX-License-Identifier: MIT */
/* Runs a cell for od jupyter-bridge: its output, its questions, its interrupt. */
#include "applet.h"
#include "bridge.h"
#include "where.h"

#include "base/called.h"
#include "base/enc.h"
#include "base/jsontext.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "ipc/answer.h"
#include "ipc/frame.h"
#include "os/sig.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { SMALL_MS = 30000 };

static int signals_fd = -1;

int bridge_open_signals(struct err *e)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    signals_fd = sig_pipe(signals, 3);
    return signals_fd < 0 ? err_sys(e, errno, "cannot make a pipe") : 0;
}

static void say(const char *text) { called_say("%s\n", text); }

int bridge_fail(const struct err *e)
{
    say(e->text);
    return ANSWER_OURS;
}

/* ---- the output of a cell ---- */

static int put(struct bridge_cell *r, int fd, struct str bytes)
{
    if (fd == STDOUT_FILENO && bytes.n)
        r->last = bytes.p[bytes.n - 1];
    return call_write(&r->call, fd, bytes);
}

/* Decodes base64 with blanks and line ends, as notebooks may have it. */
static void add_base64(struct buf *bytes, struct str text)
{
    struct buf without = BUF_INIT(256 << 20);
    if (dec_base64(bytes, text) == 0)
        return;
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] > ' ')
            buf_addc(&without, text.p[i]);
    }
    dec_base64(bytes, buf_str(&without));
    buf_release(&without);
}

/* Writes a file of a new name to --images. Returns false after saying that it failed. */
static bool save(struct bridge_cell *r, const char *stem, const char *ending,
                 struct str bytes, char path[PATH_MAX])
{
    int fd = -1;
    /* Made with the first file, from where the caller is. */
    bool is_there = r->pictures > 0 || applet_make_folder(r->o->images, 0777, path) == 0;
    if (!is_there)
        snprintf(path, PATH_MAX, "%s", r->o->images);
    while (is_there && fd < 0 && r->pictures < 100000) {
        snprintf(path, PATH_MAX, "%s/%s_%d.%s", r->o->images, stem, ++r->pictures,
                 ending);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    bool done = fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n;
    if (!done)
        called_say("cannot write %s: %s\n", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return done;
}

static void save_picture(struct bridge_cell *r, const struct json *content)
{
    static const struct {
        const char *mime, *ending;
    } kinds[] = {{"image/png", "png"},
                 {"image/jpeg", "jpg"},
                 {"image/gif", "gif"},
                 {"image/svg+xml", "svg"}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        struct str v = json_str(json_get(content, "data"), kinds[i].mime, "");
        char path[PATH_MAX];
        struct buf bytes = BUF_INIT(192 << 20);
        if (v.n == 0)
            continue;
        if (i == 3)
            buf_adds(&bytes, v);
        else
            add_base64(&bytes, v);
        if (save(r, "image", kinds[i].ending, buf_str(&bytes), path)) {
            struct buf line = BUF_INIT(PATH_MAX + 16);
            buf_addf(&line, "[image: %s]\n", path);
            put(r, STDOUT_FILENO, buf_str(&line));
            buf_release(&line);
        }
        buf_release(&bytes);
        return;
    }
}

/*
 * Names data that is shown neither as text nor, with --images, as a picture, and writes
 * it to a file there.
 */
static void name_other(struct bridge_cell *r, struct str type, const struct json *content)
{
    struct cell_other o;
    struct buf line = BUF_INIT(PATH_MAX + 256);
    char path[PATH_MAX] = "--images DIR keeps it";
    if (!cell_other_of(&o, type, content, !r->o->images && !r->o->json))
        return;
    bool is_saved = r->o->images && strcmp(o.mime, "image/svg+xml") == 0;
    if (r->o->images && !is_saved &&
        !save(r, "output", o.ending, buf_str(&o.bytes), path))
        path[0] = 0;
    cell_other_put(&line, &o, path);
    if (r->o->json) {
        cell_text_say(&r->text, buf_str(&line));
    } else if (!is_saved) {
        buf_addc(&line, '\n');
        put(r, STDOUT_FILENO, buf_str(&line));
    }
    buf_release(&line);
    cell_other_release(&o);
}

/* Prints a text; with_newline: adds a newline if there is none at its end. */
static int show_text(struct bridge_cell *r, bool error, struct str text,
                     bool with_newline)
{
    int fd = error ? STDERR_FILENO : STDOUT_FILENO;
    struct buf plain = BUF_INIT(192 << 20);
    if (isatty(fd))
        buf_adds(&plain, text);
    else
        cell_text_plain(&plain, text);
    if (with_newline && plain.n && plain.p[plain.n - 1] != '\n')
        buf_addc(&plain, '\n');
    int status = put(r, fd, buf_str(&plain));
    buf_release(&plain);
    return status;
}

static int show(struct bridge_cell *r, struct str type, const struct json *content)
{
    struct buf text = BUF_INIT(192 << 20);
    int status = 0;
    bool stream = str_eq(type, STR("stream"));
    bool raised = str_eq(type, STR("error"));
    bool error = raised ||
                 (stream && str_eq(json_str(content, "name", ""), STR("stderr")));
    /* The traceback of our own interrupt is about the kernel's insides. */
    if (raised && r->unanswered &&
        str_eq(json_str(content, "ename", ""), STR("KeyboardInterrupt")))
        return 0;
    if (cell_text_of(&text, type, content))
        status = show_text(r, error, buf_str(&text), !stream);
    buf_release(&text);
    if (r->o->images)
        save_picture(r, content);
    name_other(r, type, content);
    return status;
}

/* Adds a picture to the text in OpenDevin's form. */
static void add_inline(struct bridge_cell *r, const struct json *content)
{
    struct str v = json_str(json_get(content, "data"), "image/png", "");
    if (v.n)
        buf_addf(&r->text.text, "\n![image](data:image/png;base64,%.*s)\n",
                 STR_ARG(str_trim(v)));
}

/*
 * Prints stream output without parsing the whole line. Returns false for anything else.
 */
static bool show_stream(struct bridge_cell *r, struct str line, int *status)
{
    struct buf text = BUF_INIT(LIMIT_KERNEL_MESSAGE);
    if (r->o->json || r->o->all_text || r->book ||
        !str_starts(line, STR("{\"type\":\"stream\",")))
        return false;
    struct str content = jsontext_get(line, STR("content"));
    bool is = jsontext_string(&text, jsontext_get(content, STR("text"))) == 0;
    if (is)
        *status = show_text(r,
                            str_eq(jsontext_get(content, STR("name")), STR("\"stderr\"")),
                            buf_str(&text), false);
    buf_release(&text);
    return is;
}

static int on_line(struct bridge_cell *r, struct str line)
{
    struct err e = ERR_INIT;
    int status = 0;
    if (show_stream(r, line, &status))
        return status;
    struct json *j = json_parse(line, &e);
    if (!j)
        say("a message of the kernel cannot be read, and was left out");
    struct str type = json_str(j, "type", "");
    const struct json *content = json_get(j, "content");
    if (str_eq(type, STR("note")))
        called_say("%.*s\n", STR_ARG(json_str(content, "text", "")));
    if (r->o->question && str_ends(type, STR("_reply"))) {
        json_free(r->reply);
        r->reply = j;
        return 0;
    }
    if (r->book)
        notebook_output(r->book, type, content);
    if (r->o->json || r->o->all_text) {
        cell_text_add(&r->text, type, content);
        if (r->o->all_text)
            add_inline(r, content);
        if (r->o->images)
            save_picture(r, content);
        if (r->o->json)
            name_other(r, type, content);
    } else if (!r->book)
        status = show(r, type, content);
    json_free(j);
    return status;
}

static int on_output(struct call *c, bool error, struct str bytes)
{
    struct bridge_cell *r = container_of(c, struct bridge_cell, call);
    (void)error;
    while (bytes.n) {
        long nl = str_chr(bytes, '\n');
        size_t n = nl < 0 ? bytes.n : (size_t)nl;
        if (buf_add(&r->line, bytes.p, n) < 0) {
            called_say("a message is longer than %zu MiB\n", r->line.max >> 20);
            return -1;
        }
        bytes = str_sub(bytes, n + (nl >= 0), bytes.n);
        if (nl < 0)
            break;
        if (on_line(r, buf_str(&r->line)) < 0)
            return -1;
        buf_reset(&r->line);
    }
    return 0;
}

static void interrupt(const struct bridge *o);

/*
 * Reads a line, without its end. Returns false if there is none, it is too long, or a
 * signal came.
 */
static bool read_answer(int fd, struct buf *line)
{
    for (char c;;) {
        ssize_t n = read(fd, &c, 1);
        if (n <= 0)
            return n == 0 && line->n > 0;
        if (c == '\n')
            return true;
        if (buf_addc(line, c) < 0) {
            called_say("the input is longer than %zu MiB\n", line->max >> 20);
            return false;
        }
    }
}

/*
 * The cell asks a question. Standard input answers, unless the cell itself came from
 * there: then the terminal does. Without an answer the cell is interrupted, as it would
 * wait forever.
 */
static void on_note(struct call *c, const struct json *note)
{
    struct bridge_cell *r = container_of(c, struct bridge_cell, call);
    struct buf line = BUF_INIT(LIMIT_COMMAND_MAX);
    struct termios t, quiet;
    struct str prompt = json_str(note, "prompt", "");
    if (!str_eq(json_str(note, "note", ""), STR("input")))
        return;
    int tty = r->o->from_stdin ? open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) : -1;
    int fd = tty >= 0 ? tty : STDIN_FILENO;
    bool hide = json_bool(note, "password", false) && tcgetattr(fd, &t) == 0;
    if (hide) {
        quiet = t;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(fd, TCSAFLUSH, &quiet);
    }
    ssize_t ignored = write(tty >= 0 ? tty : STDERR_FILENO, prompt.p, prompt.n);
    (void)ignored;
    bool answered = read_answer(fd, &line);
    if (answered || (!r->interrupted && r->unanswered)) {
        /*
         * A cell that asks again after the interrupt, such as a debugger, gets the end of
         * input.
         */
        struct json *j = json_object();
        json_put_str(j, "answer", answered ? buf_str(&line) : STR("\x04"));
        call_send(c, 'Z', j);
        json_free(j);
    } else if (!r->interrupted) {
        if (prompt.n > 0)
            fputc('\n', stderr);
        say("the cell asks a question and there is no answer: it is interrupted. "
            "Answers come from the terminal, or from standard input if the cell comes "
            "from -c CODE or FILE");
        r->unanswered = true;
        interrupt(r->o);
    }
    if (hide)
        tcsetattr(fd, TCSAFLUSH, &t);
    if (tty >= 0)
        close(tty);
    buf_release(&line);
}

static void on_signal(struct call *c, int signo)
{
    struct bridge_cell *r = container_of(c, struct bridge_cell, call);
    if (!r->interrupted)
        interrupt(r->o);
    if (r->interrupted || signo != SIGINT)
        call_leave(c, 0);
    else
        say("the cell is interrupted; once more leaves it alone");
    r->interrupted = true;
}

static const struct call_events call_events = {
    .on_output = on_output, .on_note = on_note, .on_signal = on_signal};

/* ---- requests ---- */

static const char *name_of(const struct bridge *o)
{
    /* The language's own kernel is the same one with and without -k. */
    return o->name                                         ? o->name
           : o->kernel && strcmp(o->kernel, "python3") != 0 ? o->kernel
                                                            : "python";
}

struct json *bridge_request(const struct bridge *o, const char *verb)
{
    char cwd[PATH_MAX];
    bool remote = where_is_remote(o->server);
    const char *parent = remote ? NULL : getenv("OD_OP");
    struct json *q = json_object();
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", verb);
    if (parent && utf8_valid(str_of(parent)))
        json_put_z(q, "parent", parent);
    json_put_z(q, "kernel", name_of(o));
    json_put_z(q, "spec", o->kernel ? o->kernel : "");
    json_put_z(q, "choice", o->choice ? o->choice : "any");
    if (o->cwd || (!remote && getcwd(cwd, sizeof(cwd))))
        json_put_z(q, "cwd", o->cwd ? o->cwd : cwd);
    if (o->user)
        json_put_z(q, "user", o->user);
    return q;
}

static void interrupt(const struct bridge *o)
{
    struct err e = ERR_INIT;
    struct json *q = bridge_request(o, "kernel");
    json_put_z(q, "verb", "interrupt");
    json_free(call_simple(o->server, q, SMALL_MS, &e));
    json_free(q);
}

int bridge_send_verb(const struct bridge *o, struct err *e)
{
    struct json *q = bridge_request(o, "kernel");
    json_put_z(q, "verb", o->verb);
    struct json *r = call_simple(o->server, q, SMALL_MS, e);
    bool ok = json_bool(r, "ok", false);
    if (r && !ok)
        err_set(e, ERR_NOTFOUND, "%.*s",
                STR_ARG(json_str(json_get(r, "error"), "text", "it was refused")));
    json_free(q);
    json_free(r);
    return ok ? 0 : -1;
}

int bridge_status(const struct json *result, const struct bridge_cell *r)
{
    struct str end = json_str(result, "end", "");
    if (str_eq(end, STR("ok")))
        return 0;
    if (r->interrupted)
        return 130;
    if (str_eq(end, STR("timeout")))
        return ANSWER_EARLY;
    return str_eq(end, STR("failed")) ? ANSWER_OURS : 1;
}

void bridge_tell_end(const struct bridge *o, const struct json *result)
{
    struct str end = json_str(result, "end", "");
    struct str why = json_str(result, "why", "");
    bool late = str_eq(end, STR("timeout"));
    if (late && why.n)
        called_say("its %g seconds were over: %.*s\n", (double)o->timeout_ms / 1000,
                   STR_ARG(why));
    else if (late)
        called_say(o->question
                       ? "the kernel has not answered the question within %g seconds%s\n"
                       : "the cell was interrupted: its %g seconds were over%s\n",
                   (double)o->timeout_ms / 1000,
                   json_bool(result, "stuck", false)
                       ? "; it still did not end, so the kernel was restarted"
                       : "");
    if (why.n && !late)
        called_say("%.*s\n", STR_ARG(why));
    if (json_bool(result, "renewed", false))
        called_say("this was " KERNEL_NEW "\n");
    const struct json *k = json_get(result, "kernel");
    if (k)
        called_say("kernel %.*s: %.*s (%.*s), pid %lld, which started in "
                   "%lld ms; the cell took %lld ms\n",
                   STR_ARG(json_str(k, "name", "")), STR_ARG(json_str(k, "display", "")),
                   STR_ARG(json_str(k, "where", "")), (long long)json_int(k, "pid", 0),
                   (long long)json_int(k, "start_ms", 0),
                   (long long)json_int(result, "duration_ms", 0));
}

/* Returns the result, which the caller frees; NULL and sets *e on failure. */
struct json *bridge_run(struct bridge_cell *r, const struct bridge *o,
                        struct client *client, struct str code, struct err *e)
{
    struct json *q = bridge_request(o, "cell");
    json_put_str(q, "code", code);
    json_put_bool(q, "ask", !o->all_text && !r->book);
    json_put_int(q, "timeout_ms", o->timeout_ms);
    json_put_bool(q, "verbose", o->verbose);
    if (o->question) {
        json_put_z(q, "question", o->question);
        json_put_int(q, "at", o->at);
    }
    if (o->env) {
        struct buf b = BUF_INIT(LIMIT_SPAWN_MAX);
        if (json_print(&b, o->env) == 0)
            json_put(q, "env", json_parse(buf_str(&b), e));
        buf_release(&b);
    }
    call_init(&r->call, client, q, &call_events);
    r->o = o;
    r->call.input = -1;
    r->call.signals = signals_fd;
    r->call.limit_ms = 0;
    r->last = '\n';
    buf_init(&r->line, LIMIT_KERNEL_MESSAGE + (1 << 20));
    cell_text_init(&r->text, LIMIT_KERNEL_MESSAGE);
    r->text.apart = o->json;
    struct json *result = call_run(&r->call, e);
    if (result && !json_bool(result, "ok", false)) {
        const struct json *er = json_get(result, "error");
        err_set(e, ERR_INVALID, "%.*s", STR_ARG(json_str(er, "text", "it was refused")));
        json_free(result);
        result = NULL;
    }
    if (r->text.lost)
        called_say("%zu bytes of its output did not fit\n", r->text.lost);
    call_release(&r->call);
    buf_release(&r->line);
    json_free(q);
    return result;
}

void bridge_cell_release(struct bridge_cell *r)
{
    cell_text_release(&r->text);
    json_free(r->reply);
}

int bridge_print_json(const struct json *j)
{
    struct buf b = BUF_INIT(256 << 20);
    json_print(&b, j);
    buf_addc(&b, '\n');
    bool whole = !buf_full(&b) && fwrite(b.p, 1, b.n, stdout) == b.n;
    int r = whole && fflush(stdout) == 0 ? 0 : -1;
    buf_release(&b);
    return r;
}

int bridge_one_cell(const struct bridge *o, struct client *client, struct str code)
{
    struct err e = ERR_INIT;
    struct bridge_cell *r = xnew(struct bridge_cell);
    struct json *result = bridge_run(r, o, client, code, &e);
    if (!result) {
        int failed = r->interrupted ? 130 : bridge_fail(&e);
        bridge_cell_release(r);
        free(r);
        return failed;
    }
    int status = bridge_status(result, r);
    if (o->json) {
        json_put_str(result, "text", buf_str(&r->text.text));
        json_put(result, "images", r->text.images ? r->text.images : json_array());
        r->text.images = NULL;
        json_put_bool(result, "ok", status == 0);
        bridge_print_json(result);
    } else if (o->all_text) {
        struct str end = json_str(result, "end", ""), text = buf_str(&r->text.text);
        bool late = str_eq(end, STR("timeout"));
        if (late)
            printf("[Execution timed out (%g seconds).]", (double)o->timeout_ms / 1000);
        else if (text.n)
            fwrite(text.p, 1, text.n, stdout);
        else if (r->text.other.n)
            printf("%s", buf_z(&r->text.other));
        else
            printf("[Code executed successfully with no output]");
        struct str why = json_str(result, "why", "");
        printf("%s%.*s\n", why.n ? "\n" : "", STR_ARG(why));
    } else {
        if (r->last != '\n' && isatty(STDOUT_FILENO))
            printf("\n");
        bridge_tell_end(o, result);
    }
    bridge_cell_release(r);
    json_free(result);
    free(r);
    return fflush(stdout) == 0 ? status : ANSWER_OURS;
}
